import type { DeliveryRequest } from '../../../aggregate/alerts/model/event.ts';
import type { Integration } from '../model/tables.ts';
import type { IntakeEndpoint } from './integration-type.ts';

/** A delivery through an integration, as the alert pipeline takes it. */
export const deliveryOf = (
  { id, project_id }: Pick<Integration, 'id' | 'project_id'>,
  endpoint: Pick<IntakeEndpoint, 'parser'>,
  more: Partial<Pick<DeliveryRequest, 'mapping' | 'sender_rules' | 'groups_by_payload' | 'idempotency_key'>>,
): DeliveryRequest => ({
  project: Number(project_id),
  integration: id,
  endpoint: endpoint.parser,
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
  ...more,
});
