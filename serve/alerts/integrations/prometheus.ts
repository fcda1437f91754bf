import { newSecret } from '../../accounts/secrets.ts';
import type { IntegrationType } from './integration-type.ts';

/** Alerts of Alertmanager and Grafana. */
export const prometheusIntegration: IntegrationType = {
  name: 'prometheus',
  apiName: 'PROMETHEUS',
  label: 'Prometheus',
  endpoint: {
    parser: 'prometheus',
    path: '/alerts/:endpoint/prometheus/alerts/notify.json',
    summary: 'Send alerts in the Prometheus format',
    description:
      'The webhook body of Alertmanager (version 4) or Grafana (version 1). Each item is an alert with its own status. An item without title or startsAt is refused; the other items are accepted.',
    example: {
      version: '4',
      groupKey: '{}:{alertname="DiskFull"}',
      status: 'firing',
      receiver: 'chain-metrics',
      groupLabels: { alertname: 'DiskFull' },
      commonLabels: { alertname: 'DiskFull', severity: 'critical' },
      commonAnnotations: {},
      externalURL: 'https://alertmanager.example.com',
      alerts: [
        {
          status: 'firing',
          labels: { alertname: 'DiskFull', severity: 'critical', instance: 'node-7' },
          annotations: { title: 'Node is out of disk space' },
          startsAt: '2025-07-14T12:00:00Z',
          endsAt: '0001-01-01T00:00:00Z',
          generatorURL: 'https://prometheus.example.com/graph',
          fingerprint: 'd1f9a3c07b5e2846',
        },
      ],
    },
  },
  settings: [
    {
      name: 'api_url',
      label: 'Prometheus API base URL',
      hint: 'Optional. URL of the Prometheus server, for reference only.',
      isRequired: false,
    },
  ],
  hasMapping: false,
  newKey: newSecret,
  isLimitedByPlan: false,
};
