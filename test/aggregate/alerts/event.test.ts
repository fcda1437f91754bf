import { describe, expect, test } from 'vitest';
import { type DeliveryHead, decodeEvent, encodeEvent } from '../../../aggregate/alerts/model/event.ts';
import { eventRules } from '../../../aggregate/alerts/model/rules.ts';
import { readConfig } from '../../../serve/settings/settings.ts';

const HEAD: DeliveryHead = {
  kind: 'delivery',
  id: 'e1',
  from: 'p1',
  at: 1,
  project: 2,
  integration: 'i1',
  endpoint: 'prometheus',
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
  rules: eventRules(readConfig({})),
};

describe('an encoded event', () => {
  test('is decoded to its head and body', () => {
    const body = Buffer.from('{"a":1}\n{"b":2}');
    expect(decodeEvent(encodeEvent(HEAD, body))).toEqual({ head: HEAD, body });
  });

  test('of an action has no endpoint and no body', () => {
    const head = {
      kind: 'action',
      id: 'e2',
      from: 'p1',
      at: 1,
      project: 2,
      iid: 3,
      by: '4',
      change: {},
    } as const;
    expect(decodeEvent(encodeEvent(head))).toEqual({ head, body: Buffer.alloc(0) });
  });
});
