import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../serve/accounts/keys.ts';
import { createUser } from '../../serve/accounts/users.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { until } from '../infra/ports/opened.ts';
import { PageReceiver } from '../serve/alerts/paging/team.ts';
import { Receiver } from '../serve/alerts/receiver.ts';
import { joinPipeline } from '../support/distributed.ts';
import { type Services, startServices } from '../support/services/index.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type RoleProcess, startRole } from './roles.ts';

const ALERTS = 40;
/** A lost job is found by the next sweep, after the lock of a killed process has ended. */
const WAIT_MS = 120_000;

const directory = temporaryDirectory();
let services: Services;
let environment: Record<string, string>;
let operator: Pipeline;
let servers: RoleProcess[];
let token: string;
beforeAll(async () => {
  services = await startServices();
  environment = services.environment({
    DATA_DIR: directory.path,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    ALERT_PRIVATE_TARGETS: 'true',
    ALERT_WEBHOOK_RETRY_SECONDS_MAX: '1',
    PAGE_BUNDLE_SECONDS: '0',
  });
  operator = await joinPipeline(environment);
  servers = await Promise.all([startRole('serve', environment), startRole('serve', environment)]);
  const accounts = operator.accounts();
  const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
  const key = await createKey(accounts, user, 'personal', { name: 'test', scopes: ['api'], expires_ms: 0 });
  token = key.text;
}, 300_000);
afterAll(async () => {
  await Promise.all((servers ?? []).map((server) => server.kill()));
  await operator?.close();
  directory[Symbol.dispose]();
});

async function call(server: number, method: string, path: string, body?: object, key = token) {
  const reply = await fetch(`${servers[server]?.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(reply.status).toBeLessThan(300);
  // biome-ignore lint/suspicious/noExplicitAny: each endpoint has its own type of response
  return (await reply.json()) as any;
}

test('what follows from alerts survives killed servers and an emptied Redis: told in order, one incident each', {
  timeout: 600_000,
}, async () => {
  // Every tenth answer is a failure, so that something always waits for its next attempt.
  let requests = 0;
  const receiver = await Receiver.open(() => (++requests % 10 === 0 ? 503 : 200));
  const api = '/api/v4/projects';
  const project = (await call(0, 'POST', api, { name: 'Watch', creates_incidents: true })).id;
  const source = await call(0, 'POST', `${api}/${project}/integrations`, { type: 'HTTP', name: 'Tool' });
  await call(0, 'POST', `${api}/${project}/hooks`, { url: receiver.url });
  const { pathname } = new URL(source.url);
  const send = (i: number, more: object = {}) =>
    call(
      i % 2,
      'POST',
      pathname,
      { title: `a${i}`, fingerprint: `f${i}`, ...more },
      source.authorization_key,
    );
  const all = Array.from({ length: ALERTS }, (_, i) => i);

  await Promise.all(all.map((i) => send(i)));
  await servers[0]?.kill();
  const redis = new Redis(environment.REDIS_URL as string);
  await redis.flushall();
  redis.disconnect();
  servers[0] = await startRole('serve', environment);
  await Promise.all(all.map((i) => send(i, { end_time: '2026-11-21' })));
  await servers[1]?.kill();
  servers[1] = await startRole('serve', environment);

  const told = () => new Set(receiver.accepted.map(({ delivery }) => delivery));
  await until('all were told', () => told().size === 2 * ALERTS, WAIT_MS);
  for (const i of all) {
    const events = receiver.accepted.filter(({ alert }) => alert.title === `a${i}`).map(({ event }) => event);
    expect(new Set(events)).toEqual(new Set(['created', 'resolved']));
    expect(events.indexOf('resolved')).toBeGreaterThan(events.indexOf('created'));
    expect(events.at(-1)).toBe('resolved');
  }
  expect(new Set(receiver.requests.map(({ delivery }) => delivery)).size).toBe(2 * ALERTS);
  const incidents = () => call(0, 'GET', `${api}/${project}/incidents?per_page=100`);
  const isClosed = ({ state }: { state: string }) => state === 'closed';
  await until('all are closed', async () => (await incidents()).filter(isClosed).length >= ALERTS, WAIT_MS);
  const found: { alert_iid: number }[] = await incidents();
  expect(found).toHaveLength(ALERTS);
  expect(new Set(found.map(({ alert_iid }) => alert_iid)).size).toBe(ALERTS);
  receiver.close();
});

test('every alert pages though servers are killed and Redis is emptied, and a duplicate is marked', {
  timeout: 600_000,
}, async () => {
  const receiver = await PageReceiver.open();
  const project = (await call(0, 'POST', '/api/v4/projects', { name: 'Pages' })).id;
  const api = `/api/v4/projects/${project}`;
  const source = await call(0, 'POST', `${api}/integrations`, { type: 'HTTP', name: 'Tool' });
  const settings = { url: receiver.url };
  const channel = await call(0, 'POST', `${api}/notification_channels`, {
    name: 'c',
    type: 'webhook',
    settings,
  });
  const steps = [{ targets: [{ type: 'channel', id: channel.id }], delay_minutes: 60, important: false }];
  const policy = await call(0, 'POST', `${api}/escalation_policies`, { name: 'Ops', steps });
  await call(0, 'PUT', `${api}/alert_routes`, [{ name: 'default', policy_id: policy.id, delay_seconds: 0 }]);
  const { pathname } = new URL(source.url);
  const send = (i: number) =>
    call(i % 2, 'POST', pathname, { title: `a${i}`, fingerprint: `f${i}` }, source.authorization_key);

  await Promise.all(Array.from({ length: ALERTS }, (_, i) => send(i)));
  await servers[0]?.kill();
  const redis = new Redis(environment.REDIS_URL as string);
  await redis.flushall();
  redis.disconnect();
  servers[0] = await startRole('serve', environment);
  // A message lists the worst 20 alerts, and says how many more there are.
  const byKey = () =>
    new Map(
      receiver.received.map(({ headers, body }) => [String(headers['x-chain-metrics-delivery']), body]),
    );
  const paged = () => [...byKey().values()].reduce((sum, { alerts, more }) => sum + alerts.length + more, 0);
  await until('every alert was paged', () => paged() >= ALERTS, WAIT_MS);
  expect(paged()).toBe(ALERTS);
  const seen = new Set<string>();
  for (const { headers, body } of receiver.received) {
    const key = String(headers['x-chain-metrics-delivery']);
    if (seen.has(key)) expect(body.duplicate_possible).toBe(true);
    seen.add(key);
  }
  const pages: { state: string }[] = await call(1, 'GET', `${api}/pages`);
  expect(pages.map(({ state }) => state)).toEqual(Array(ALERTS).fill('triggered'));
  receiver.close();
});
