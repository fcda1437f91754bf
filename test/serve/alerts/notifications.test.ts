import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pause, until } from '../../infra/ports/opened.ts';
import { type Person, Service, type Source } from './service.ts';

interface Received {
  readonly event: string;
  readonly delivery: string;
  readonly signature: string;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what was sent is checked field by field
  readonly body: any;
}

let service: Service;
let ann: Person;
let receiver: Server;
let received: Received[] = [];
/** Statuses of the next responses; 200 after them. */
let answers: number[] = [];
let address: string;

beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' });
  ann = await service.person('ann');
  receiver = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const status = answers.shift() ?? 200;
      const text = Buffer.concat(chunks).toString();
      const header = (name: string) => String(request.headers[`x-chain-metrics-${name}`] ?? '');
      if (status === 200) {
        received.push({
          event: header('event'),
          delivery: header('delivery'),
          signature: header('signature'),
          text,
          body: JSON.parse(text),
        });
      }
      const headers = { 302: { location: '/elsewhere' }, 429: { 'retry-after': '600' } }[status];
      reply.writeHead(status, headers ?? {}).end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  address = `http://127.0.0.1:${(receiver.address() as { port: number }).port}/told`;
});
afterAll(async () => {
  receiver?.close();
  await service?.close();
});
beforeEach(() => {
  received = [];
  answers = [];
});

async function watched(): Promise<{ source: Source; secret: string; hook: string }> {
  const project = await service.project(ann);
  const source = await service.source(ann, project);
  const { body } = await service.api(ann, 'POST', `/projects/${project}/hooks`, {
    name: 'chat',
    url: address,
  });
  return { source, secret: body.secret, hook: body.id };
}
const events = () => received.map(({ event, body }) => `${event} ${body.object_attributes.iid}`);

describe('outgoing webhooks', () => {
  test('send created, acknowledged and resolved alerts in this order, signed', async () => {
    const { source, secret } = await watched();
    await service.send(source, { title: 'told' });
    await service.send(source, { title: 'told' });
    await until('the first was told', () => received.length === 1);
    for (const change of [{}, {}, { assignee_ids: [1, 1] }])
      await service.api(ann, 'PUT', `/projects/${source.project}/alerts/1`, {
        status: 'acknowledged',
        ...change,
      });
    await service.send(source, { title: 'told', end_time: '2026-11-21T04:00:00Z' });
    await until('all were told', () => received.length === 3);
    expect(events()).toEqual(['created 1', 'acknowledged 1', 'resolved 1']);
    expect(received[2]?.body).toMatchObject({
      object_kind: 'alert',
      event: 'resolved',
      object_attributes: { title: 'told', status: 'resolved', event_count: 2 },
    });
    for (const { signature, text } of received) {
      const [, seconds, hex] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
      expect(hex).toBe(createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex'));
    }
    expect(new Set(received.map(({ delivery }) => delivery)).size).toBe(3);
  });

  test('are retried until they succeed, and show the failure meanwhile', async () => {
    const { source, hook } = await watched();
    answers = [500, 302, 404];
    await service.send(source, { title: 'one' });
    await service.send(source, { title: 'two' });
    const shown = async () =>
      (await service.api(ann, 'GET', `/projects/${source.project}/hooks/${hook}`)).body;
    await until('a fault is shown', async () => (await shown()).last_fault !== null);
    expect(await shown()).toMatchObject({ next_attempt_at: expect.any(String) });
    await until('both were told', () => received.length === 2);
    expect(events().sort()).toEqual(['created 1', 'created 2']);
    await until('the fault is gone', async () => (await shown()).last_fault === null);
    expect(await shown()).toMatchObject({ last_status: 200, next_attempt_at: null });
  });

  test('that wait for their next attempt are tried at once when their owner changes them', async () => {
    const { source, hook } = await watched();
    const path = `/projects/${source.project}/hooks/${hook}`;
    answers = [429];
    await service.send(source, { title: 'waits' });
    const waitsMs = async () => {
      const { next_attempt_at } = (await service.api(ann, 'GET', path)).body;
      return Date.parse(next_attempt_at) - Date.now();
    };
    await until('it waits for ten minutes', async () => (await waitsMs()) > 500_000);
    const changed = await service.api(ann, 'PUT', path, { url: `${address}?corrected` });
    expect(changed.body.next_attempt_at).toBeNull();
    await until('it was told', () => received.length === 1);
  });

  test('send no earlier events, no other events, and none of the time in which they are inactive', async () => {
    const project = await service.project(ann);
    const source = await service.source(ann, project);
    await service.send(source, { title: 'before' });
    const made = await service.api(ann, 'POST', `/projects/${project}/hooks`, {
      url: address,
      events: ['resolved'],
    });
    await service.send(source, { title: 'not asked for' });
    const hook = `/projects/${project}/hooks/${made.body.id}`;
    await service.api(ann, 'PUT', hook, { active: false });
    await service.send(source, { title: 'before', end_time: '2026-11-21' });
    await service.api(ann, 'PUT', hook, { active: true });
    await service.send(source, { title: 'not asked for', end_time: '2026-11-21' });
    await until('one was told', () => received.length > 0);
    await pause(200);
    expect(events()).toEqual(['resolved 2']);
  });

  test('can be tested, and list every attempt', async () => {
    const { source, secret, hook } = await watched();
    const path = `/projects/${source.project}/hooks/${hook}`;
    answers = [500];
    expect((await service.api(ann, 'POST', `${path}/test`)).body).toMatchObject({
      status: 500,
      fault: 'answered with 500',
    });
    expect((await service.api(ann, 'POST', `${path}/test`)).body).toMatchObject({ status: 200, fault: null });
    expect(received[0]).toMatchObject({ event: 'test', body: { object_attributes: { iid: 0 } } });
    expect(received[0]?.signature).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    await service.send(source, { title: 'real' });
    await until('it was told', () => received.length === 2);
    await until('it can be read', async () => {
      const { body } = await service.api(ann, 'GET', `${path}/deliveries`);
      return body.length === 3;
    });
    const { body } = await service.api(ann, 'GET', `${path}/deliveries?limit=2`);
    expect(body).toMatchObject([
      { event: 'created', alert_iid: 1, status: 200, fault: null, milliseconds: expect.any(Number) },
      { event: 'test', alert_iid: null, status: 200 },
    ]);
    expect(JSON.stringify(body)).not.toContain(secret);
  });

  test.each(['', 'ftp://a.example', 'not an address', 'http://user:pass@a.example/'])(
    'the address %j is refused',
    async (url) => {
      const project = await service.project(ann);
      const reply = await service.api(ann, 'POST', `/projects/${project}/hooks`, { url });
      expect(reply).toMatchObject({ status: 400, body: { errors: { url: expect.anything() } } });
    },
  );
});

describe('the on-call link', () => {
  test('forwards alerts, and excludes other active integrations', async () => {
    const project = await service.project(ann);
    const other = await service.source(ann, project, { name: 'other' });
    const link = { type: 'ONCALL', name: 'on call', api_url: address };
    const path = `/projects/${project}/integrations`;
    expect((await service.api(ann, 'POST', path, link)).status).toBe(409);
    await service.api(ann, 'PUT', `${path}/${other.id}`, { active: false });
    const source = await service.source(ann, project, link);
    expect((await service.api(ann, 'PUT', `${path}/${other.id}`, { active: true })).status).toBe(409);
    expect((await service.api(ann, 'POST', path, { type: 'HTTP', name: 'third' })).status).toBe(409);
    answers = [429];
    await service.send(source, { title: 'on call' });
    await until('it was refused', () => answers.length === 0);
    await service.api(ann, 'PUT', `${path}/${source.id}`, { api_url: `${address}?corrected` });
    await until('it was forwarded', () => received.length === 1);
    expect(received[0]).toMatchObject({ event: 'created' });
    await service.api(ann, 'PUT', `${path}/${source.id}`, { active: false });
    expect((await service.api(ann, 'PUT', `${path}/${other.id}`, { active: true })).status).toBe(200);
  });

  test('signs its requests with its key, and with the previous one while that is valid', async () => {
    const project = await service.project(ann);
    const source = await service.source(ann, project, { type: 'ONCALL', name: 'link', api_url: address });
    const path = `/projects/${project}/integrations/${source.id}`;
    const signedBy = async (keys: readonly string[]) => {
      received = [];
      await service.send({ ...source, key: keys[0] as string }, { title: `signed by ${keys}` });
      await until('it was forwarded', () => received.length === 1);
      const [{ signature, text }] = received as [Received];
      const [time, ...signed] = signature.split(',');
      const secondsText = `${time?.slice('t='.length)}.${text}`;
      const expected = keys.map((key) => `v1=${createHmac('sha256', key).update(secondsText).digest('hex')}`);
      expect(signed).toEqual(expected);
    };
    await signedBy([source.key]);
    const rotated = (await service.api(ann, 'POST', `${path}/rotate_key`, { hours: 1 })).body;
    await signedBy([rotated.authorization_key, source.key]);
    await service.api(ann, 'DELETE', `${path}/old_key`);
    await signedBy([rotated.authorization_key]);
    const reset = (await service.api(ann, 'POST', `${path}/reset_key`)).body;
    await signedBy([reset.authorization_key]);
    const { body: shown } = await service.api(ann, 'GET', path);
    expect(JSON.stringify(shown)).not.toMatch(/sealed|authorization_key/);
  });

  test('requires a URL', async () => {
    const project = await service.project(ann);
    const reply = await service.api(ann, 'POST', `/projects/${project}/integrations`, { type: 'ONCALL' });
    expect(reply).toMatchObject({ status: 400, body: { errors: { api_url: expect.anything() } } });
  });
});
