import { httpIntegration } from './http.ts';
import type { IntegrationType } from './integration-type.ts';
import { pagerdutyIntegration } from './pagerduty.ts';
import type { IntegrationAccess, Snippet } from './presets/preset.ts';
import { presetOf } from './presets/presets.ts';
import { prometheusIntegration } from './prometheus.ts';

/** The addresses of an integration below the URL of the service. */
export function addressesOf(url: string, { id }: { readonly id: string }) {
  const at = ({ endpoint }: IntegrationType) => `${url}${endpoint.path.replace(':endpoint', id)}`;
  return {
    id,
    generic: at(httpIntegration),
    prometheus: at(prometheusIntegration),
    pagerduty: at(pagerdutyIntegration),
  };
}

/** Configurations of common senders. The snippet of the preset or the type comes first. */
export function snippetsOf(
  access: IntegrationAccess,
  { type, preset: name }: { readonly type: string; readonly preset: string },
): Snippet[] {
  const preset = presetOf({ preset: name });
  if (preset !== null) return [{ name, ...preset.setup(access) }];
  if (type === pagerdutyIntegration.name) return [pagerdutyReceiver(access), pagerdutyEvents(access)];
  const all = [alertmanager(access), grafana(access), curl(access)];
  return type === prometheusIntegration.name ? all : all.reverse();
}

/** 500 alerts of 2 KB fit into the default of ALERT_BODY_BYTES_MAX. */
const MAX_ALERTS = 500;

const alertmanager = ({ prometheus, key }: IntegrationAccess): Snippet => ({
  name: 'alertmanager',
  title: 'alertmanager.yml',
  hint: 'This is a complete configuration. To extend an existing one, add the receiver and a route to it with this group_by. Each alert is then sent alone, so none is left out. If you group alerts, a request has at most max_alerts of a group, and Alertmanager never sends the others.',
  text: `route:
  receiver: chain-metrics
  group_by: ['...']
receivers:
  - name: chain-metrics
    webhook_configs:
      - url: ${prometheus}
        send_resolved: true
        max_alerts: ${MAX_ALERTS}
        http_config:
          authorization:
            type: Bearer
            credentials: ${key}
`,
});

const grafana = ({ id, prometheus, key }: IntegrationAccess): Snippet => ({
  name: 'grafana',
  title: 'Grafana contact point',
  hint: 'Save this file in provisioning/alerting/ of Grafana. Or add a contact point of the type Webhook in the pages of Grafana, with this URL, authorization scheme and credentials.',
  text: `apiVersion: 1
contactPoints:
  - orgId: 1
    name: Chain Metrics
    receivers:
      - uid: chain-metrics-${id}
        type: webhook
        disableResolveMessage: false
        settings:
          url: ${prometheus}
          httpMethod: POST
          authorization_scheme: Bearer
          authorization_credentials: ${key}
`,
});

const curl = ({ generic, key }: IntegrationAccess): Snippet => {
  const send = (payload: string) => `curl -sS '${generic}' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '${payload}'
`;
  return {
    name: 'curl',
    title: 'curl',
    hint: 'The first request creates an alert. The second request has the same fingerprint and an end time, so it resolves the alert.',
    text: `${send('{"title":"Disk of node-7 is full","severity":"high","service":"storage","hosts":["node-7"],"fingerprint":"disk/node-7"}')}
${send(`{"fingerprint":"disk/node-7","end_time":"'$(date -u +%FT%TZ)'"}`)}`,
  };
};

const pagerdutyReceiver = ({ pagerduty, key }: IntegrationAccess): Snippet => ({
  name: 'alertmanager',
  title: 'alertmanager.yml',
  hint: 'This is a complete configuration. In a configuration that pages PagerDuty, change url and routing_key. With this group_by, each alert is sent alone.',
  text: `route:
  receiver: chain-metrics
  group_by: ['...']
receivers:
  - name: chain-metrics
    pagerduty_configs:
      - url: ${pagerduty}
        routing_key: ${key}
        severity: '{{ or .CommonLabels.severity "error" }}'
        send_resolved: true
`,
});

const pagerdutyEvents = ({ pagerduty, key }: IntegrationAccess): Snippet => {
  const send = (event: string) => `curl -sS '${pagerduty}' -d '${event}'
`;
  return {
    name: 'curl',
    title: 'curl',
    hint: 'The requests create an alert, acknowledge it and resolve it.',
    text: `${send(`{"routing_key":"${key}","event_action":"trigger","dedup_key":"disk/node-7","payload":{"summary":"Disk of node-7 is full","source":"node-7","severity":"error"}}`)}
${send(`{"routing_key":"${key}","event_action":"acknowledge","dedup_key":"disk/node-7"}`)}
${send(`{"routing_key":"${key}","event_action":"resolve","dedup_key":"disk/node-7"}`)}`,
  };
};
