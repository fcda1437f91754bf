import { expect } from 'vitest';
import { parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import type { AlertItem } from '../../../aggregate/alerts/model/alert.ts';
import type { DeliveryHead } from '../../../aggregate/alerts/model/event.ts';
import type { Mapping } from '../../../aggregate/alerts/model/mapping.ts';
import type { EventRules } from '../../../aggregate/alerts/model/rules.ts';

export const RULES: EventRules = {
  ...{ depth: 100, titleCharacters: 200, descriptionCharacters: 1000, markdownCharacters: 20_000 },
  ...{ retryWindowMs: 0, namedWindowMs: 0 },
};
export const HEAD: DeliveryHead = {
  kind: 'delivery',
  id: 'd',
  from: '',
  at: 0,
  project: 1,
  integration: 'i',
  endpoint: 'http',
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
  rules: RULES,
};

export function read(payload: unknown, head: Partial<DeliveryHead> = {}): AlertItem {
  const { items } = parseDelivery({ ...HEAD, ...head }, Buffer.from(JSON.stringify(payload)), RULES);
  expect(items).toHaveLength(1);
  return items[0] as AlertItem;
}
export const mapped = (payload: unknown, mapping: Mapping) => read(payload, { mapping });
