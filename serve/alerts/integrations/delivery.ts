import type { DeliveryRequest } from '../../../aggregate/alerts/model/event.ts';
import type { Integration } from '../model/tables.ts';
import type { IntakeEndpoint } from './integration-type.ts';

/** The alert pipeline's input for a delivery through an integration. */
export const deliveryOf = (
  integration: Pick<Integration, 'id' | 'project_id' | 'heartbeat_minutes' | 'heartbeat_matchers'>,
  endpoint: Pick<IntakeEndpoint, 'parser'>,
  more: Partial<Pick<DeliveryRequest, 'mapping' | 'sender_rules' | 'groups_by_payload' | 'idempotency_key'>>,
): DeliveryRequest => ({
  project: Number(integration.project_id),
  integration: integration.id,
  endpoint: endpoint.parser,
  mapping: null,
  sender_rules: null,
  // If no heartbeat watches it, a Watchdog is an ordinary alert.
  heartbeat_matchers: integration.heartbeat_minutes > 0 ? integration.heartbeat_matchers : '',
  groups_by_payload: true,
  idempotency_key: '',
  ...more,
});
