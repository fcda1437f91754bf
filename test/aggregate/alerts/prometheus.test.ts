import { describe, expect, test } from 'vitest';
import { BodyError, parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import type { AlertItem } from '../../../aggregate/alerts/model/alert.ts';
import type { DeliveryHead } from '../../../aggregate/alerts/model/event.ts';
import type { EventRules } from '../../../aggregate/alerts/model/rules.ts';
import { firing, prometheusBody } from '../../serve/alerts/made.ts';

const RULES: EventRules = {
  ...{ depth: 100, titleCharacters: 200, descriptionCharacters: 1000, markdownCharacters: 20_000 },
  ...{ retryWindowMs: 0, namedWindowMs: 0 },
};
const HEAD: DeliveryHead = {
  kind: 'delivery',
  id: 'd',
  from: '',
  at: 0,
  project: 1,
  integration: 'i1',
  endpoint: 'prometheus',
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
  rules: RULES,
};
const readBody = (body: unknown, head: Partial<DeliveryHead> = {}) =>
  parseDelivery({ ...HEAD, ...head }, Buffer.from(JSON.stringify(body)), RULES);
const item = (more: object, head: Partial<DeliveryHead> = {}): AlertItem =>
  readBody(prometheusBody([firing(more)]), head).items[0] as AlertItem;
const refusal = (body: unknown, head: Partial<DeliveryHead> = {}) => {
  try {
    readBody(body, head);
  } catch (error) {
    if (error instanceof BodyError) return { status: error.status, text: error.message };
  }
  throw new Error('it was taken');
};

describe('a body of the Prometheus format', () => {
  test('has one alert for each item, in order', () => {
    const { items } = readBody(
      prometheusBody([firing({ annotations: { title: 'one' } }), firing({ annotations: { title: 'two' } })]),
    );
    expect(items.map((read) => read?.title)).toEqual(['one', 'two']);
  });

  test.each(['http', 'prometheus'] as const)('is recognised at the %s address', (endpoint) => {
    expect(readBody(prometheusBody([firing(), firing()]), { endpoint }).items).toHaveLength(2);
  });

  test.each([
    ['4', 'Prometheus'],
    ['1', 'Grafana'],
  ])('version %s is of %s', (version, tool) => {
    expect(readBody(prometheusBody([firing()], { version })).items[0]?.tool).toBe(tool);
  });

  const REQUIRED = [
    'alerts',
    'commonAnnotations',
    'commonLabels',
    'externalURL',
    'groupKey',
    'groupLabels',
    'receiver',
    'status',
    'version',
  ];
  const without = (name: string) => {
    const { [name]: _gone, ...rest } = prometheusBody([firing()]) as Record<string, unknown>;
    return rest;
  };

  test.each(REQUIRED)('without %s is refused by that name', (name) => {
    expect(refusal(without(name))).toMatchObject({ status: 422, text: expect.stringContaining(name) });
  });

  test.each(REQUIRED)('without %s is a generic alert at the HTTP address', (name) => {
    expect(readBody(without(name), { endpoint: 'http' }).items[0]).toMatchObject({ title: 'New: Alert' });
  });

  test.each(['2', '5', 4.5, null, {}])('of version %j is refused', (version) => {
    expect(refusal(prometheusBody([firing()], { version }))).toMatchObject({
      status: 422,
      text: expect.stringContaining('version'),
    });
  });

  test('a generic payload at the Prometheus address is a generic alert', () => {
    expect(readBody({ title: 'plain' }).items[0]).toMatchObject({ title: 'plain' });
  });

  test('without items has no alert', () => {
    expect(readBody(prometheusBody([])).items).toEqual([]);
  });

  test('an item that lacks what is required is refused alone', () => {
    const { items, refused } = readBody(
      prometheusBody([firing(), { startsAt: 'x' }, 'text', firing({ startsAt: undefined }), firing()]),
    );
    expect(items.map((read) => read !== null)).toEqual([true, false, false, false, true]);
    expect(refused.map(({ item }) => item)).toEqual([1, 2, 3]);
    expect(refused.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('title'),
      expect.stringContaining('object'),
      expect.stringContaining('startsAt'),
    ]);
  });

  test('is refused as a whole only when no item can be taken, with each reason', () => {
    expect(refusal(prometheusBody([firing({ startsAt: 5 }), 7]))).toEqual({
      status: 422,
      text: 'All alerts are refused. alerts[0]: startsAt: a date-time is required; alerts[1]: expected an object.',
    });
  });
});

describe('an item of the Prometheus format', () => {
  test.each([
    [{ annotations: { title: 't', summary: 's' }, labels: { alertname: 'n' } }, 't'],
    [{ annotations: { summary: 's' }, labels: { alertname: 'n' } }, 's'],
    [{ annotations: { title: ' ', summary: '' }, labels: { alertname: 'n' } }, 'n'],
    [{ annotations: undefined, labels: { alertname: 'n' } }, 'n'],
    [{ annotations: { title: { nested: ['x'] } } }, '{"nested":["x"]}'],
  ])('title of %j is %j', (more, title) => {
    expect(item(more).title).toBe(title);
  });

  test.each([
    [{ annotations: { platform_y_label: 'y', title: 't' } }, 'y'],
    [{ annotations: { title: 't', summary: 's' } }, 't'],
    [{ annotations: { summary: 's' } }, 's'],
    [{ annotations: {} }, 'A'],
  ])('label of the axis of %j is %j', (more, label) => {
    expect(item(more).yLabel).toBe(label);
  });

  test('start, description, runbook, incident text, environment', () => {
    expect(
      item({
        annotations: {
          summary: 's',
          description: 'd',
          runbook: 'https://r',
          runbook_url: 'https://other',
          platform_incident_markdown: '# Extended',
        },
        labels: { platform_environment_name: 'prod' },
      }),
    ).toMatchObject({
      description: 'd',
      runbook: 'https://r',
      incidentMarkdown: '# Extended',
      environment: 'prod',
      startedMs: Date.parse('2026-11-21T03:10:27.487Z'),
    });
    expect(item({ annotations: { summary: 's', runbook_url: 'https://other' } }).runbook).toBe(
      'https://other',
    );
  });

  test.each([
    [
      { instance: 'h1', alertname: 'A', severity: 'page', platform_environment_name: 'prod' },
      ['alertname=A', 'instance=h1'],
    ],
    [{ b: ' ', c: null, d: 7, e: { f: 1 } }, ['d=7', 'e={"f":1}']],
    [{ 'a\u202e': 'x\ny\u0007' }, ['a=x y']],
    [{ long: 'v'.repeat(500) }, [`long=${'v'.repeat(192)}...`]],
    [Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`n${i + 10}`, 'v'.repeat(96)])), 20],
    [['a'], []],
    ['text', []],
    [undefined, []],
  ])('labels of %j are shown as %j', (labels, shown) => {
    const found = item({ labels, annotations: { summary: 's' } }).labels ?? [];
    expect(typeof shown === 'number' ? found.length : found).toEqual(shown);
  });

  test.each([
    [{ generatorURL: 'http://p/graph?g0.expr=up+%3D%3D+0&g0.tab=1' }, 'up == 0'],
    [{ generatorURL: undefined, generatorUrl: 'http://p/graph?g0.expr=a%2Bb' }, 'a+b'],
    [{ generatorURL: 'http://p/graph' }, ''],
    [{ generatorURL: 'not a url?g0.expr=up' }, ''],
    [{ generatorURL: 17 }, ''],
  ])('query of %j is %j', (more, query) => {
    expect(item(more).query).toBe(query);
  });

  test.each([
    ['Critical', ['critical', 's1', 'p1', 'emergency', 'fatal']],
    ['High', ['high', 's2', 'p2', 'major', 'page']],
    ['Medium', ['medium', 's3', 'p3', 'error', 'alert']],
    ['Low', ['low', 's4', 'p4', 'warn', 'warning']],
    ['Info', ['info', 's5', 'p5', 'debug', 'information', 'notice']],
    ['Critical', ['', 'minor', 'unknown', 'whatever', '__proto__', 'toString']],
  ])('%s is said by any of %j in any case', (severity, words) => {
    for (const word of words.flatMap((word) => [word, word.toUpperCase()])) {
      expect(item({ labels: { alertname: 'A', severity: word } }).severity).toBe(severity.toLowerCase());
    }
  });

  test('without a severity it is critical', () => {
    expect(item({ labels: { alertname: 'A' } }).severity).toBe('critical');
    expect(item({ labels: { alertname: 'A', severity: 3 } }).severity).toBe('critical');
  });

  test('its own status decides, not that of the group', () => {
    const body = prometheusBody([firing({ status: 'resolved', endsAt: '2026-11-21T04:00:00Z' }), firing()], {
      status: 'firing',
    });
    expect(readBody(body).items.map((read) => read?.effect)).toEqual(['resolve', 'fire']);
    expect(readBody(body).items[0]?.endedMs).toBe(Date.parse('2026-11-21T04:00:00Z'));
  });

  test('an end in year 1 is none, and the end of a firing item is ignored', () => {
    expect(item({ status: 'resolved' }).endedMs).toBe(0);
    expect(item({ endsAt: '2026-11-21T04:00:00Z' })).toMatchObject({ effect: 'fire', endedMs: 0 });
  });

  test.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])('a start of %s is taken', (startsAt) => {
    expect(item({ startsAt }).title).toBe('It broke');
  });

  test.each([undefined, null, '', 'yesterday', 5, {}])('a start of %j is refused', (startsAt) => {
    expect(refusal(prometheusBody([firing({ startsAt })]))).toMatchObject({ status: 422 });
  });
});

describe('the fingerprint of an item', () => {
  const fingerprintOf = (more: object, head: Partial<DeliveryHead> = {}) => item(more, head).fingerprint;

  test('is the given one', () => {
    expect(fingerprintOf({ labels: { alertname: 'A', x: '1' } })).toBe(
      fingerprintOf({ labels: { alertname: 'A', x: '2' } }),
    );
    expect(fingerprintOf({})).not.toBe(fingerprintOf({ fingerprint: '6a8eb6396d3b0d47' }));
  });

  test('or else that of its labels, in any order', () => {
    const of = (labels: object) => fingerprintOf({ fingerprint: undefined, labels });
    expect(of({ alertname: 'A', x: '1' })).toBe(of({ x: '1', alertname: 'A' }));
    expect(of({ alertname: 'A', x: '1' })).not.toBe(of({ alertname: 'A', x: '2' }));
  });

  test('does not depend on the start', () => {
    expect(fingerprintOf({ startsAt: '2026-01-01T00:00:00Z' })).toBe(fingerprintOf({}));
  });

  test('is scoped to the integration', () => {
    expect(fingerprintOf({})).not.toBe(fingerprintOf({}, { integration: 'i2' }));
    const labels = { fingerprint: undefined };
    expect(fingerprintOf(labels)).not.toBe(fingerprintOf(labels, { integration: 'i2' }));
  });

  test.each([17, ['a'], { a: 1 }, 'any text', true])('given as %j is used unchanged', (fingerprint) => {
    expect(fingerprintOf({ fingerprint })).not.toBe(fingerprintOf({ fingerprint: undefined }));
    expect(fingerprintOf({ fingerprint })).toBe(
      fingerprintOf({ fingerprint, labels: { other: 'x', alertname: 'B' } }),
    );
  });
});

describe('the retry key', () => {
  const key = (more: object, body: object = {}, head: Partial<DeliveryHead> = {}) =>
    readBody(prometheusBody([firing(more)], body), head).items[0]?.retryKey;

  test('group key, fingerprint, status and start', () => {
    expect(key({ annotations: { summary: 'other words' } })).toBe(key({}));
    expect(key({}, { groupKey: 'other' })).not.toBe(key({}));
    expect(key({ fingerprint: '6a8eb6396d3b0d47' })).not.toBe(key({}));
    expect(key({ status: 'resolved' })).not.toBe(key({}));
    expect(key({ startsAt: '2026-11-21T03:10:28Z' })).not.toBe(key({}));
    expect(key({}, {}, { integration: 'i2' })).not.toBe(key({}));
  });

  test('a generic payload has none without an idempotency key', () => {
    const generic = (payload: object, idempotency_key = '') =>
      readBody(payload, { idempotency_key }).items[0]?.retryKey;
    expect(generic({ title: 'a' })).toBe('');
    expect(generic({ title: 'a' }, 'k')).toBe(generic({ title: 'a' }, 'k'));
    expect(generic({ title: 'a' }, 'k')).not.toBe(generic({ title: 'a' }, 'l'));
    expect(generic({ title: 'a' }, 'k')).not.toBe(generic({ title: 'b' }, 'k'));
  });
});
