import { newSecret } from '../../accounts/secrets.ts';
import type { IntegrationType } from './integration-type.ts';

/** Alerts of any tool that can send JSON. */
export const httpIntegration: IntegrationType = {
  name: 'http',
  apiName: 'HTTP',
  label: 'HTTP endpoint',
  endpoint: {
    parser: 'http',
    path: '/alerts/:endpoint/notify.json',
    summary: 'Send a generic alert',
    description:
      'All fields are optional: title, description, start_time, end_time, service, monitoring_tool, hosts, severity, fingerprint, platform_environment_name. An end_time resolves the alert. Times are in ISO 8601 or numbers since 1970. Other fields stay in the payload. The default limits are 1 MiB and 100 levels of nesting; titles are cut at 200 characters, descriptions at 1,000.\n\nCloudEvents 1.0 are accepted in structured mode (`application/cloudevents+json`), binary mode (`ce-` headers) and batch mode (`application/cloudevents-batch+json`, at most 100 events). `data` is the payload; `type`, `source` and `subject` become labels. An event with the same `source`, `id` and data as an earlier one is not counted again.\n\nIntegrations of the type SNS accept signed messages of Amazon SNS, also as `text/plain`. The message is the payload, and `MessageId` is the idempotency key. Subscriptions are confirmed automatically.',
    example: {
      title: 'Node is out of disk space',
      description: '98 % of /data is used',
      start_time: '2025-07-14T12:00:00Z',
      service: 'storage',
      monitoring_tool: 'Zabbix',
      hosts: ['node-7'],
      severity: 'high',
      fingerprint: 'disk/node-7',
    },
  },
  settings: [],
  hasMapping: true,
  newKey: newSecret,
  isLimitedByPlan: true,
};
