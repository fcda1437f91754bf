import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { Receiver } from './receiver.ts';
import { KilledServer, type ServerFacts } from './server-to-kill.ts';

const ALERTS = 150;
const WAIT_MS = 60_000;

const directory = temporaryDirectory();
let server: KilledServer;
let facts: ServerFacts;
beforeAll(async () => {
  server = new KilledServer(directory.path, { ALERT_PRIVATE_TARGETS: 'true' });
  await server.start();
  facts = server.facts;
});
afterAll(async () => {
  await server?.end();
  directory[Symbol.dispose]();
});

const targetOf = () => facts.targets[0] as ServerFacts['targets'][number];

async function call(method: string, path: string, payload?: object) {
  const reply = await fetch(`${server.address}/api/v4/projects/${targetOf().project}${path}`, {
    method,
    headers: { authorization: `Bearer ${facts.token}`, 'content-type': 'application/json' },
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
  });
  return { reply, body: (await reply.json()) as unknown };
}

async function send(payload: object): Promise<number> {
  const { path, key } = targetOf();
  const reply = await fetch(`${server.address}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  });
  return reply.status;
}

async function countIncidents(isWanted: (incident: { state: string }) => boolean): Promise<number> {
  let count = 0;
  for (let page = 1; ; page++) {
    const { reply, body } = await call('GET', `/incidents?per_page=100&page=${page}`);
    count += (body as { state: string }[]).filter(isWanted).length;
    if (!reply.headers.get('x-next-page')) return count;
  }
}

describe('after a kill', () => {
  test(`each of ${ALERTS} accepted alerts has one incident, closed where the alert is resolved`, async () => {
    await call('PUT', '', { creates_incidents: true });
    const alerts = Array.from({ length: ALERTS }, (_, i) => ({ title: `a ${i}`, fingerprint: `f${i}` }));
    const accepted = await Promise.all(alerts.map(send));
    await server.kill();
    expect(new Set(accepted)).toEqual(new Set([200]));
    const resolved = await Promise.all(
      alerts.slice(0, 50).map((alert) => send({ ...alert, end_time: '2026-11-21' })),
    );
    await server.kill();
    expect(new Set(resolved)).toEqual(new Set([200]));
    await until('all have one', async () => (await countIncidents(() => true)) >= ALERTS, WAIT_MS);
    await until(
      'those of the resolved ones are closed',
      async () => (await countIncidents(({ state }) => state === 'closed')) >= 50,
      WAIT_MS,
    );
    expect(await countIncidents(() => true)).toBe(ALERTS);
    expect(await countIncidents(({ state }) => state === 'closed')).toBe(50);
  });

  test(`a webhook is told of each of ${ALERTS} accepted alerts, with one delivery id for each`, async () => {
    // Some answers come after the kill.
    const receiver = await Receiver.open(({ alert }) => (alert.iid % 10 === 0 && isFirst ? null : 200));
    let isFirst = true;
    const url = receiver.url;
    await call('POST', '/hooks', { url, events: ['created'] });
    const alerts = Array.from({ length: ALERTS }, (_, i) => ({ title: `b ${i}`, fingerprint: `b${i}` }));
    for (let kill = 0; kill < 3; kill++) {
      const batch = alerts.slice((kill * ALERTS) / 3, ((kill + 1) * ALERTS) / 3);
      expect(new Set(await Promise.all(batch.map(send)))).toEqual(new Set([200]));
      await server.kill();
      isFirst = false;
    }
    const told = () => new Set(receiver.accepted.map(({ alert }) => alert.title));
    await until('all were told', () => told().size === ALERTS, WAIT_MS);
    const ids = new Map(receiver.requests.map(({ delivery, alert }) => [delivery, alert.title]));
    expect(ids.size).toBe(ALERTS);
    receiver.close();
  });
});
