import { describe, expect, test } from 'vitest';
import { BodyError, parseDelivery, refusalOf } from '../../../aggregate/alerts/formats/delivery.ts';
import type { DeliveryRequest } from '../../../aggregate/alerts/model/event.ts';
import { eventRules } from '../../../aggregate/alerts/model/rules.ts';
import { alertBounds } from '../../../aggregate/alerts/model/settings.ts';

const RULES = eventRules({ ...alertBounds, ALERT_RETRY_WINDOW_SECONDS: 60 });

const HEAD: DeliveryRequest = {
  project: 1,
  integration: 'a',
  endpoint: 'cloudevents',
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
};

const event = (fields: object = {}) => ({
  specversion: '1.0',
  id: 'e1',
  source: '/nodes/7',
  type: 'com.example.disk',
  subject: 'disk',
  time: '2026-11-20T10:00:00Z',
  data: { title: 'Disk is full', severity: 'high', team: 'core' },
  ...fields,
});

const parse = (body: unknown, head: Partial<DeliveryRequest> = {}) =>
  parseDelivery({ ...HEAD, ...head }, Buffer.from(JSON.stringify(body)), RULES);
const read = (fields?: object, head?: Partial<DeliveryRequest>) => parse(event(fields), head).items[0];

test('the data is the payload, and type, source and subject are labels', () => {
  expect(read()).toMatchObject({
    effect: 'fire',
    title: 'Disk is full',
    severity: 'high',
    labels: ['source=/nodes/7', 'subject=disk', 'type=com.example.disk'],
    matchLabels: { source: '/nodes/7', subject: 'disk', type: 'com.example.disk', team: 'core' },
    startedMs: Date.UTC(2026, 10, 20, 10),
  });
});

test('rules of the integration apply to the data', () => {
  const sender_rules = {
    status: { path: ['state'], resolved: ['OK'], acknowledged: [], ignored: [] },
    fingerprint: [[['id']]],
    labels: { type: ['kind'] },
  };
  const item = read({ data: { state: 'ok', id: 7, kind: 'own' } }, { sender_rules });
  expect(item).toMatchObject({ effect: 'resolve', matchLabels: { type: 'own', id: '7' } });
  expect(item?.fingerprint).toBe(
    read({ data: { state: 'x', id: 7 }, id: 'e2' }, { sender_rules })?.fingerprint,
  );
});

test('an event without a title has its type as one, and one without data is an alert', () => {
  expect(read({ data: undefined })).toMatchObject({ title: 'com.example.disk', description: '' });
  expect(read({ data: 'Disk is full' })).toMatchObject({
    title: 'com.example.disk',
    description: 'Disk is full',
  });
});

describe('the same event again', () => {
  const keyOf = (fields?: object, head?: Partial<DeliveryRequest>) => read(fields, head)?.retryKey;

  test('is recognized by source and id, whatever else its envelope says', () => {
    expect(keyOf({ time: '2026-11-20T11:00:00Z' })).toBe(keyOf());
    expect(parse([event({ id: 'e0' }), event()]).items[1]?.retryKey).toBe(keyOf());
  });

  test.each<[string, object]>([
    ['id', { id: 'e2' }],
    ['source', { source: '/nodes/8' }],
    ['data', { data: { title: 'Other' } }],
  ])('is another one with another %s', (_what, fields) => {
    expect(keyOf(fields)).not.toBe(keyOf());
  });

  test('is another one through another integration', () => {
    expect(keyOf({}, { integration: 'b' })).not.toBe(keyOf());
  });
});

test('events are one problem if their data names it, or if only times and ids differ', () => {
  const fingerprintOf = (fields: object) => read(fields)?.fingerprint;
  expect(fingerprintOf({ id: 'e2', time: '2026-11-20T11:00:00Z' })).toBe(fingerprintOf({}));
  expect(fingerprintOf({ subject: 'memory' })).not.toBe(fingerprintOf({}));
  const data = { fingerprint: 'disk/node-7' };
  expect(fingerprintOf({ data, type: 'fired' })).toBe(fingerprintOf({ data, type: 'resolved' }));
  expect(read({}, { groups_by_payload: false })?.fingerprint).toBe('');
});

test('a head of an older version has no heartbeat matchers', () => {
  const { heartbeat_matchers: _, ...head } = HEAD;
  const { items } = parseDelivery(head as DeliveryRequest, Buffer.from(JSON.stringify(event())), RULES);
  expect(items[0]?.effect).toBe('fire');
});

describe('an event', () => {
  test.each<[string, unknown, string]>([
    ['of another version', event({ specversion: '0.3' }), 'specversion: expected 1.0'],
    ['without an id', event({ id: ' ' }), 'id: required'],
    ['whose id is a number', event({ id: 7 }), 'id: required'],
    ['without anything', { specversion: '1.0' }, 'id, source, type: required'],
    ['with binary data', event({ data: undefined, data_base64: 'AA==' }), 'data_base64: send JSON in data'],
    ['with a list as data', event({ data: [1] }), 'data: expected an object'],
    ['that is none', 7, 'expected an object'],
    ['with inherited attributes only', JSON.parse('{"__proto__":{"specversion":"1.0"}}'), 'specversion'],
  ])('%s is refused', (_what, body, reason) => {
    expect(() => parse(body)).toThrow(BodyError);
    expect(() => parse(body)).toThrow(`events[0]: ${reason}`);
    const parsed = parse([event(), body]);
    expect(parsed.items.map((item) => item !== null)).toEqual([true, false]);
    expect(parsed.refused).toEqual([{ item: 1, reason: expect.stringContaining(reason) }]);
    expect(refusalOf(parsed)).toContain(`1 of 2 events are refused: events[1]: ${reason}`);
  });

  test('is one of at most 100, and of none', () => {
    const many = Array.from({ length: 101 }, (_, i) => event({ id: `e${i}` }));
    expect(parse(many.slice(1)).items).toHaveLength(100);
    expect(() => parse(many)).toThrow('at most 100 events');
    expect(parse([]).items).toEqual([]);
  });
});
