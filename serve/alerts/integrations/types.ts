import { httpIntegration } from './http.ts';
import type { IntegrationType } from './integration-type.ts';
import { oncallLink } from './oncall-link.ts';
import { pagerdutyIntegration } from './pagerduty.ts';
import { prometheusIntegration } from './prometheus.ts';
import { snsIntegration } from './sns.ts';

/** The types of inbound integrations. API and pages derive from this list. */
const INBOUND_TYPES = [httpIntegration, prometheusIntegration, pagerdutyIntegration, snsIntegration] as const;

/** The types that a member can add to a project: the inbound types, and the link to an on-call tool. */
export const OFFERED_TYPES: readonly IntegrationType[] = [...INBOUND_TYPES, oncallLink];

export const API_TYPE_NAMES = OFFERED_TYPES.map(({ apiName }) => apiName);

export function typeOf(stored: { readonly type: string }): IntegrationType {
  const type = OFFERED_TYPES.find(({ name }) => name === stored.type);
  if (type === undefined) throw new Error(`unknown integration type ${stored.type}`);
  return type;
}

/** Path of the webhook to which senders post alerts. */
export const webhookPathOf = (integration: { readonly id: string; readonly type: string }): string =>
  typeOf(integration).endpoint.path.replace(':endpoint', integration.id);
