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
      'Every field is optional: title, description, start_time, end_time (its presence resolves the alert; ISO 8601 or a number since 1970), service, monitoring_tool, hosts, severity, fingerprint, platform_environment_name. Other fields are kept in the payload. CloudEvents 1.0 are taken in structured, binary and batch mode (`application/cloudevents+json`, `ce-` headers, `application/cloudevents-batch+json` with at most 100 events): `data` is the payload, `type`, `source` and `subject` are labels, and an event whose `source` and `id` come again with the same data is not counted again. Integrations of the type SNS take signed messages of Amazon SNS here, as `text/plain` too: the message is the payload, `MessageId` the idempotency key, and a subscription is confirmed. Default limits: 1 MiB, 100 levels; a title is cut at 200 and a description at 1,000 characters.',
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
