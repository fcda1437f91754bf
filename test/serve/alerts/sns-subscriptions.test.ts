import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedQueue } from '../../../infra/embedded/queue.ts';
import { type SnsSubscription, snsSubscriptions } from '../../../serve/alerts/model/tables.ts';
import { SnsSubscriptions } from '../../../serve/alerts/sns/subscriptions.ts';
import { Records } from '../../../serve/stored-records/records.ts';
import { until } from '../../infra/ports/opened.ts';
import { AMAZON, LocalAmazon, TOPIC } from './local-amazon.ts';
import { Service } from './service.ts';

let amazon: LocalAmazon;
let service: Service;
let records: Records<SnsSubscription>;
let now = Date.UTC(2026, 10, 20);
const stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  amazon = await LocalAmazon.open();
  service = await Service.open();
  records = new Records<SnsSubscription>(service.accounts, snsSubscriptions);
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await service?.close();
  amazon?.close();
});

/** Those of a process that starts with what is stored. */
function open(): SnsSubscriptions {
  const queue = new EmbeddedQueue({ attempts: 1, backoffMs: 1 });
  const opened = new SnsSubscriptions({ records, queue, clock: { now: () => now }, agent: amazon.agent() });
  stops.push(async () => {
    await opened.stop();
    await queue.close();
  });
  return opened;
}

const integration = (id: string) => ({ id, project_id: '1' }) as Parameters<SnsSubscriptions['add']>[0];
const urlOf = (path: string) => `${AMAZON}/${path}?Action=ConfirmSubscription`;
const stateOf = async (id: string) => (await open().list({ id }))[0];

test('a confirmation that a process did not make is made by the next one', async () => {
  amazon.answer('/next', (_request, response) => response.end());
  // Nothing was started here, so nothing is requested.
  await open().add(integration('next'), TOPIC, urlOf('next'));
  expect(await stateOf('next')).toMatchObject({ state: 'pending', topic: TOPIC, attempts: 0 });
  expect(amazon.asked).toEqual([]);
  open().start(() => undefined);
  await until('it is confirmed', async () => (await stateOf('next'))?.state === 'confirmed');
  expect(amazon.asked).toHaveLength(1);
});

test('a failure is tried again after a wait, and given up when Amazon forgot the subscription', async () => {
  const subscriptions = open();
  await subscriptions.add(integration('away'), TOPIC, urlOf('away'));
  const row = await stateOf('away');
  const id = row?.id ?? '';
  const waitMs = (await subscriptions.confirm(id)) ?? 0;
  expect(waitMs).toBeGreaterThan(0);
  expect(await stateOf('away')).toMatchObject({
    state: 'pending',
    attempts: 1,
    fault: expect.stringContaining('answered 404'),
  });
  // Too early
  expect(await subscriptions.confirm(id)).toBe(waitMs);
  now += 3 * 86_400_000;
  expect(await subscriptions.confirm(id)).toBeUndefined();
  expect(await stateOf('away')).toMatchObject({ state: 'failed', attempts: 2 });
  // A new request of the same topic
  amazon.answer('/back', (_request, response) => response.end());
  await subscriptions.add(integration('away'), TOPIC, urlOf('back'));
  expect(await subscriptions.confirm(id)).toBeUndefined();
  expect(await stateOf('away')).toMatchObject({ state: 'confirmed', fault: '' });
});

test('a redirect and a large answer confirm nothing', async () => {
  amazon.answer('/moved', (_request, response) => response.writeHead(302, { location: urlOf('back') }).end());
  amazon.answer('/large', (_request, response) => response.end('x'.repeat(65_537)));
  const subscriptions = open();
  for (const path of ['moved', 'large']) {
    await subscriptions.add(integration(path), TOPIC, urlOf(path));
    const { id = '' } = (await stateOf(path)) ?? {};
    await subscriptions.confirm(id);
    expect(await stateOf(path), path).toMatchObject({ state: 'pending', attempts: 1 });
  }
});
