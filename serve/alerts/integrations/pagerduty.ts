import { newRoutingKey } from '../../accounts/secrets.ts';
import type { IntegrationType } from './integration-type.ts';

/** An event without a routing key. Pages and snippets add the key. */
export const EVENT_EXAMPLE = {
  event_action: 'trigger',
  dedup_key: 'disk/node-7',
  payload: {
    summary: 'Disk of node-7 is full',
    source: 'node-7',
    severity: 'error',
    component: 'storage',
    custom_details: { used: '98 %' },
  },
};

/** Alerts of tools that can page PagerDuty. Such a tool needs only another URL and another key. */
export const pagerdutyIntegration: IntegrationType = {
  name: 'pagerduty',
  apiName: 'PAGERDUTY',
  label: 'PagerDuty Events API v2',
  endpoint: {
    parser: 'pagerduty',
    path: '/v2/enqueue',
    summary: 'Send an event in the format of PagerDuty',
    description:
      'The Events API v2 of PagerDuty. The `routing_key` in the body is the key of an integration of the type PAGERDUTY. `trigger` needs `payload.summary`, `payload.source` and `payload.severity`; `acknowledge` and `resolve` need the `dedup_key` of an earlier trigger. A trigger without one gets a random one, which the response names. Severities: critical, error (high), warning (medium), info. At most 512 KiB.',
    example: { routing_key: 'R3kWq8ZsT1bYxN5cV7dM0pHjL2gFa4Ue', ...EVENT_EXAMPLE },
  },
  settings: [],
  hasMapping: false,
  newKey: newRoutingKey,
  isLimitedByPlan: false,
};
