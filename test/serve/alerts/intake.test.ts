import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let project: number;
let source: Source;
beforeAll(async () => {
  service = await Service.open({ ALERT_RETRY_WINDOW_SECONDS: '1' });
  ann = await service.person('ann');
  project = await service.project(ann);
  source = await service.source(ann, project);
});
afterAll(() => service?.close());

const path = (door: string) => `/alerts/${source.id}/${door}`;
const basic = (user: string, key: string) => `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`;
const alertsOf = async (search: string) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts?search=${encodeURIComponent(search)}`)).body;

describe('the response', () => {
  test('lists only the alerts that the request created', async () => {
    expect((await service.send(source, { title: 'answered' })).body).toEqual([
      { iid: expect.any(Number), title: 'answered' },
    ]);
    expect(await service.send(source, { title: 'answered' })).toMatchObject({ status: 200, body: [] });
    expect(await service.send(source, { title: 'answered', end_time: '2026-11-21' })).toMatchObject({
      status: 200,
      body: [],
    });
    const again = await service.send(source, { title: 'answered' });
    expect(again.body).toHaveLength(1);
    expect(again.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test('has one entry for each new alert of a body', async () => {
    const body = prometheusBody([
      firing({ fingerprint: 'aaaaaaaaaaaaaaaa', annotations: { title: 'one' } }),
      firing({ fingerprint: 'bbbbbbbbbbbbbbbb', annotations: { title: 'two' } }),
    ]);
    expect((await service.send(source, body)).body).toEqual([
      { iid: expect.any(Number), title: 'one' },
      { iid: expect.any(Number), title: 'two' },
    ]);
  });

  test('numbers alerts of a project from 1 without gaps', async () => {
    const own = await service.project(ann);
    const other = await service.source(ann, own);
    const sent = await Promise.all(
      Array.from({ length: 50 }, (_, i) => service.send(other, { title: `numbered ${i % 25}` })),
    );
    const iids = sent.flatMap(({ body }) => body.map(({ iid }: { iid: number }) => iid));
    expect(iids.sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
  });

  test('is visible to every request that follows', async () => {
    for (let i = 0; i < 10; i++) {
      await service.send(source, { title: `readable ${i}` });
      expect(await alertsOf(`readable ${i}`)).toHaveLength(1);
    }
  });
});

describe('an end that cannot be read', () => {
  const historyOf = async (title: string) => {
    const [{ iid }] = await alertsOf(title);
    return (await service.api(ann, 'GET', `/projects/${project}/alerts/${iid}/history`)).body;
  };
  const note = expect.stringContaining('cannot be read');

  test.each(['soon', 0, { at: 1 }])(
    'as %j resolves when it is received, and the history says so',
    async (end) => {
      const title = `unread ${JSON.stringify(end)}`;
      await service.send(source, { title });
      expect((await service.send(source, { title, end_time: end })).body).toEqual([]);
      expect(await alertsOf(title)).toMatchObject([{ status: 'resolved', event_count: 1 }]);
      expect(await historyOf(title)).toMatchObject([
        { outcome: 'resolved', note },
        { outcome: 'created', note: null },
      ]);
    },
  );

  test('is told of an item of the Prometheus format, and of no end that can be read', async () => {
    const titled = (title: string) => firing({ fingerprint: title, annotations: { title } });
    const over = (title: string, endsAt: unknown) => ({ ...titled(title), status: 'resolved', endsAt });
    await service.send(source, prometheusBody([titled('unread item'), titled('read item')]));
    const ends = [over('unread item', 'now'), over('read item', '2026-11-21T04:00:00Z')];
    await service.send(source, prometheusBody(ends));
    expect((await historyOf('unread item'))[0]).toMatchObject({ outcome: 'resolved', note });
    expect((await historyOf('read item'))[0]).toMatchObject({ outcome: 'resolved', note: null });
  });
});

describe('URLs and credentials', () => {
  test.each(['notify.json', 'notify', 'prometheus/alerts/notify.json', 'prometheus/alerts/notify'])(
    'both formats are taken at %s',
    async (door) => {
      const to = { path: path(door), key: source.key };
      expect((await service.send(to, { title: `generic at ${door}` })).body).toHaveLength(1);
      const print = { fingerprint: `${door} print`, annotations: { title: `item at ${door}` } };
      expect((await service.send(to, prometheusBody([firing(print)]))).body).toHaveLength(1);
    },
  );

  test('the URL of a Prometheus integration has the path that its senders expect', async () => {
    const prometheus = await service.source(ann, project, { type: 'PROMETHEUS', name: 'p' });
    expect(prometheus.path).toMatch(/\/prometheus\/alerts\/notify\.json$/);
  });

  test.each([
    ['bearer', () => `Bearer ${source.key}`],
    ['bearer in any case', () => `bearer   ${source.key} `],
    ['basic with a blank user name', () => basic('', source.key)],
    ['basic with a user name', () => basic('alertmanager', source.key)],
  ])('%s is accepted', async (_name, authorization) => {
    const { status } = await service.send(
      source,
      { title: 'credentials' },
      { authorization: authorization() },
    );
    expect(status).toBe(200);
  });

  const BAD: [string, () => string][] = [
    ['none', () => ''],
    ['a wrong key', () => 'Bearer wrong'],
    ['the key and more', () => `Bearer ${source.key}x`],
    ['the key as user name', () => basic(source.key, '')],
    ['basic without a colon', () => `Basic ${Buffer.from(source.key).toString('base64')}`],
    ['basic that is no base64', () => 'Basic ???'],
    ['another scheme', () => `Digest ${source.key}`],
    ['the key alone', () => source.key],
    ['a token of a user', () => `Bearer ${ann.token}`],
  ];
  test.each(BAD)('%s is 401, and the same as for an unknown integration', async (_name, authorization) => {
    const headers = { authorization: authorization() };
    const wrong = await service.send(source, { title: 'never' }, headers);
    const unknown = await service.send(
      { path: '/alerts/0123456789abcdef/notify.json', key: '' },
      {},
      headers,
    );
    expect(wrong.status).toBe(401);
    expect(wrong.body).toEqual({ error: 'unauthorized', message: expect.any(String) });
    const comparable = ({ status, body, headers: { date: _, ...rest } }: typeof wrong) => ({
      status,
      body,
      rest,
    });
    expect(comparable(unknown)).toEqual(comparable(wrong));
    expect(await alertsOf('never')).toEqual([]);
  });

  test('a key is valid for its own integration only', async () => {
    const foreign = await service.source(ann, await service.project(ann));
    const sibling = await service.source(ann, project, { name: 'sibling' });
    for (const { key } of [foreign, sibling])
      expect((await service.send({ ...source, key }, {})).status).toBe(401);
  });
});

describe('the order of checks', () => {
  test.each(['GET', 'PUT', 'PATCH', 'DELETE'] as const)(
    '%s is 405 and says what is allowed',
    async (method) => {
      const reply = await service.app.inject({ method, url: source.path });
      expect(reply.statusCode).toBe(405);
      expect(reply.headers.allow).toBe('OPTIONS, POST');
      expect(reply.json()).toEqual({ error: 'method_not_allowed', message: expect.any(String) });
    },
  );

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', ''])(
    'content type %j is 415, before the key is looked at',
    async (type) => {
      const reply = await service.send({ ...source, key: 'wrong' }, '{}', { 'content-type': type });
      expect(reply).toMatchObject({ status: 415, body: { error: 'unsupported_media_type' } });
    },
  );

  test('Amazon SNS, which sends text/plain, is asked for the key and told which integration it needs', async () => {
    const sns = { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': 'Notification' };
    const wrong = await service.send({ ...source, key: 'wrong' }, '{"Type":"Notification"}', sns);
    expect(wrong).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringMatching(/^Basic /) },
    });
    const reply = await service.send(source, '{"Type":"Notification"}', sns);
    expect(reply).toMatchObject({ status: 415, body: { error: 'unsupported_media_type' } });
    expect(reply.body.message).toContain('an integration of the type SNS');
    const typed = { ...sns, 'content-type': 'application/json' };
    const confirmation = { Type: 'SubscriptionConfirmation', SubscribeURL: 'https://sns.example/confirm' };
    const [{ iid }] = (await service.send(source, confirmation, typed)).body;
    const { body: alert } = await service.api(ann, 'GET', `/projects/${project}/alerts/${iid}`);
    expect(alert.payload).toEqual(confirmation);
  });

  const ofPrometheus = {
    labels: { alertname: 'Down', instance: 'h1', severity: 'page' },
    annotations: { summary: 'Down' },
    startsAt: '2026-11-21T03:10:27.487Z',
    generatorURL: 'http://p/graph?g0.expr=up',
  };
  test.each<[string, unknown, RegExp]>([
    ['what Prometheus sends to Alertmanager', [ofPrometheus, ofPrometheus], /alertmanagers.*webhook_configs/],
    ['what only has labels', [{ labels: {} }], /alertmanagers.*webhook_configs/],
    ['what has them in one item', [1, ofPrometheus], /alertmanagers.*webhook_configs/],
    ['a list of generic alerts', [{ title: 'a' }, { title: 'b' }], /in its own request/],
    ['a list of texts', ['labels'], /in its own request/],
    ['an empty list', [], /in its own request/],
    ['a text', 'labels', /object\.$/],
    ['null', null, /object\.$/],
  ])('%s is 422 with what to do, at both addresses', async (_what, body, told) => {
    for (const door of ['notify.json', 'prometheus/alerts/notify.json']) {
      const reply = await service.send({ path: path(door), key: source.key }, JSON.stringify(body));
      expect(reply).toMatchObject({ status: 422, body: { error: 'invalid_payload' } });
      expect(reply.body.message).toMatch(told);
    }
  });

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/vnd.example+json',
  ])('content type %j is JSON', async (type) => {
    expect((await service.send(source, { title: 'typed' }, { 'content-type': type })).status).toBe(200);
  });

  test('a wrong key is 401 before the body is checked', async () => {
    for (const body of ['{broken', 'x'.repeat(2 ** 21), '[]']) {
      expect((await service.send({ ...source, key: 'wrong' }, body)).status).toBe(401);
    }
  });

  test('an inactive integration is 403, also for a body that is broken or too large; a wrong key stays 401', async () => {
    const off = await service.source(ann, project, { name: 'off', active: false });
    for (const body of ['{"title":"off"}', '{broken', 'x'.repeat(2 ** 21)]) {
      expect(await service.send(off, body)).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    }
    expect((await service.send({ ...off, key: 'wrong' }, {})).status).toBe(401);
    await service.api(ann, 'PUT', `/projects/${project}/integrations/${off.id}`, { active: true });
    expect((await service.send(off, { title: 'on again' })).status).toBe(200);
  });

  test('a body of 1 MiB is accepted, one byte more is 413, also when the JSON is invalid', async () => {
    const most = 2 ** 20;
    const frame = JSON.stringify({ title: 'large', filler: '' }).length;
    const sized = (bytes: number) => JSON.stringify({ title: 'large', filler: 'x'.repeat(bytes - frame) });
    expect((await service.send(source, sized(most))).status).toBe(200);
    expect(await service.send(source, sized(most + 1))).toMatchObject({
      status: 413,
      body: {
        error: 'payload_too_large',
        message: expect.stringMatching(/1048576 bytes \(ALERT_BODY_BYTES_MAX\).*max_alerts.*group_by/),
      },
    });
    expect((await service.send(source, 'x'.repeat(most + 1))).status).toBe(413);
  });

  test('a deleted integration and the integrations of a deleted project are unknown', async () => {
    const gone = await service.source(ann, project, { name: 'gone' });
    await service.api(ann, 'DELETE', `/projects/${project}/integrations/${gone.id}`);
    expect((await service.send(gone, {})).status).toBe(401);
    const own = await service.project(ann);
    const left = await service.source(ann, own);
    expect((await service.send(left, {})).status).toBe(200);
    await service.api(ann, 'DELETE', `/projects/${own}`);
    expect((await service.send(left, {})).status).toBe(401);
  });
});

describe('keys', () => {
  const one = () => `/projects/${project}/integrations/${rotated.id}`;
  let rotated: Source;
  const isGood = async (key: string) =>
    (await service.send({ ...rotated, key }, { title: 'keyed' })).status === 200;

  test('are returned only once', async () => {
    rotated = await service.source(ann, project, { name: 'rotated' });
    const { body } = await service.api(ann, 'GET', one());
    expect(JSON.stringify(body)).not.toContain(rotated.key);
    expect(body).not.toHaveProperty('authorization_key');
    const stored = await service.pipeline.runtime.store.bytes(
      { text: 'SELECT * FROM chain_metrics.alert_integrations', tables: new Set() } as never,
      'NDJSON',
    );
    expect(stored.toString()).not.toContain(rotated.key);
  });

  test('two are valid during a rotation, until the old one is revoked', async () => {
    const before = rotated.key;
    const { body } = await service.api(ann, 'POST', `${one()}/rotate_key`, { hours: 1 });
    expect(await isGood(body.authorization_key)).toBe(true);
    expect(await isGood(before)).toBe(true);
    expect((await service.api(ann, 'DELETE', `${one()}/old_key`)).body.old_key_expires_at).toBeNull();
    expect(await isGood(before)).toBe(false);
    rotated = { ...rotated, key: body.authorization_key };
  });

  test('the previous one is kept for any part of an hour', async () => {
    const since = Date.now();
    const answer = await service.api(ann, 'POST', `${one()}/rotate_key`, { hours: 1.1234567 });
    expect(answer).toMatchObject({ status: 200 });
    const kept = Date.parse(answer.body.old_key_expires_at) - since;
    expect(Math.abs(kept / 3_600_000 - 1.1234567)).toBeLessThan(0.01);
    rotated = { ...rotated, key: answer.body.authorization_key };
  });

  test('are revoked at once by a reset', async () => {
    const { body } = await service.api(ann, 'POST', `${one()}/rotate_key`, {});
    const { body: reset } = await service.api(ann, 'POST', `${one()}/reset_key`);
    expect(await isGood(rotated.key)).toBe(false);
    expect(await isGood(body.authorization_key)).toBe(false);
    expect(await isGood(reset.authorization_key)).toBe(true);
  });
});
