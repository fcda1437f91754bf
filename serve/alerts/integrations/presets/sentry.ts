import type { Preset } from './preset.ts';

/**
 * Webhooks of an internal integration: metric alerts, issues and issue alerts. An issue alert has the fingerprint
 * of its issue, so a resolved issue resolves it. The fingerprint of a metric alert includes the id of its rule, because an
 * issue may have the same id as a metric alert.
 */
export const sentry: Preset = {
  name: 'sentry',
  label: 'Sentry',
  type: 'http',
  signatureHeader: 'sentry-hook-signature',
  rules: {
    tool: 'Sentry',
    fields: {
      title: [
        ['data', 'description_title'],
        ['data', 'issue', 'title'],
        ['data', 'event', 'title'],
      ],
      description: [
        ['data', 'description_text'],
        ['data', 'issue', 'culprit'],
        ['data', 'event', 'culprit'],
      ],
      start_time: [
        ['data', 'metric_alert', 'date_started'],
        ['data', 'issue', 'lastSeen'],
        ['data', 'event', 'datetime'],
      ],
      service: [
        ['data', 'issue', 'project', 'slug'],
        ['data', 'metric_alert', 'projects', 0],
      ],
      environment: [['data', 'event', 'environment']],
    },
    status: {
      path: ['action'],
      resolved: ['resolved'],
      acknowledged: ['archived', 'ignored'],
      // Ownership rules assign issues automatically, so an assignment does not acknowledge.
      ignored: ['assigned'],
    },
    fingerprint: [
      [
        ['data', 'metric_alert', 'id'],
        ['data', 'metric_alert', 'alert_rule', 'id'],
      ],
      [['data', 'issue', 'id']],
      [['data', 'event', 'issue_id']],
    ],
    severity: { path: ['action'], words: { critical: 'critical', warning: 'low' }, otherwise: 'high' },
    labels: {
      level: ['data', 'issue', 'level'],
      alert_rule: ['data', 'metric_alert', 'alert_rule', 'name'],
      triggered_rule: ['data', 'triggered_rule'],
    },
  },
  sample: {
    action: 'critical',
    installation: { uuid: 'a8e5d37a-696c-4c54-adb5-b3f28d64c7de' },
    data: {
      metric_alert: {
        id: '30',
        identifier: '9',
        title: 'Too many errors',
        status: 20,
        projects: ['shop'],
        date_started: '2026-11-24T23:50:00Z',
        date_closed: null,
        alert_rule: { id: '7', name: 'Too many errors', aggregate: 'count()', environment: null },
      },
      description_text: '1000 events in the last 10 minutes',
      description_title: 'Critical: Too many errors',
      web_url: 'https://sentry.io/organizations/example/alerts/rules/details/9/',
    },
    actor: { type: 'application', id: 'sentry', name: 'Sentry' },
  },
  setup: ({ generic }) => ({
    title: 'Sentry internal integration',
    hint: 'Create a custom integration in Settings, Developer Settings. Save it, and enter its client secret on this page: Sentry signs with it and sends no other key. Add the integration as an action to your alert rules.',
    text: `Type:              Internal Integration
Webhook URL:       ${generic}
Alert Rule Action: on
Webhooks:          issue
`,
  }),
};
