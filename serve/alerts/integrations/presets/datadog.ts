import type { Preset } from './preset.ts';

/** Payload template for the Datadog webhook. Users paste it into Datadog, which fills in the variables. */
const PAYLOAD = `{
  "title": "$EVENT_TITLE",
  "description": "$TEXT_ONLY_MSG",
  "transition": "$ALERT_TRANSITION",
  "cycle_key": "$ALERT_CYCLE_KEY",
  "monitor_id": "$ALERT_ID",
  "scope": "$ALERT_SCOPE",
  "priority": "$ALERT_PRIORITY",
  "date": "$DATE",
  "hosts": "$HOSTNAME",
  "runbook": "$LINK",
  "tags": "$TAGS"
}`;

export const datadog: Preset = {
  name: 'datadog',
  label: 'Datadog',
  type: 'http',
  rules: {
    tool: 'Datadog',
    fields: { start_time: [['date']] },
    status: { path: ['transition'], resolved: ['Recovered'], acknowledged: [], ignored: [] },
    // Only events of monitors have a cycle key.
    fingerprint: [[['cycle_key']], [['monitor_id'], ['scope']]],
    severity: {
      path: ['priority'],
      words: { P1: 'critical', P2: 'high', P3: 'medium', P4: 'low', P5: 'info' },
      otherwise: 'critical',
    },
  },
  sample: {
    title: '[P2] [Triggered on {host:db-1}] Disk of the database is nearly full',
    description: 'Less than 5 % are free on db-1.',
    transition: 'Triggered',
    cycle_key: '4411868226953286910',
    monitor_id: '1234567',
    scope: 'host:db-1',
    priority: 'P2',
    date: '1795651200000',
    hosts: 'db-1',
    runbook: 'https://app.datadoghq.com/monitors/1234567',
    tags: 'env:prod,host:db-1,monitor,team:storage',
  },
  setup: ({ generic, key }) => ({
    title: 'Datadog webhook',
    hint: 'Add a webhook in Integrations, Webhooks. Add @webhook-NAME to the message of each monitor, outside of its conditions, so that its recovery is sent too.',
    text: `URL:            ${generic}
Custom headers: {"Authorization": "Bearer ${key}"}
Payload:
${PAYLOAD}
`,
  }),
};
