import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ALERTS_TOPIC, encodeEvent } from '../../../aggregate/alerts/model/event.ts';
import { eventRules } from '../../../aggregate/alerts/model/rules.ts';
import { until } from '../../infra/ports/opened.ts';
import { firing, prometheusBody } from './made.ts';
import { type Answer, Receiver } from './receiver.ts';
import { type Person, Service, type Source } from './service.ts';

const HOUR = 3_600_000;
const WAIT_MS = 40_000;

let service: Service;
let ann: Person;
/** Added to the time of the service. */
let laterMs = 0;
const receivers: Receiver[] = [];
beforeAll(async () => {
  const clock = { now: () => Date.now() + laterMs };
  service = await Service.open(
    { ALERT_PRIVATE_TARGETS: 'true', ALERT_WEBHOOK_RETRY_SECONDS_MAX: '1' },
    clock,
  );
  ann = await service.person('ann');
});
afterAll(() => service?.close());
afterEach(() => {
  for (const receiver of receivers.splice(0)) receiver.close();
});

async function receiver(answer?: Answer): Promise<Receiver> {
  const opened = await Receiver.open(answer);
  receivers.push(opened);
  return opened;
}

interface Hook {
  readonly source: Source;
  readonly path: string;
}

async function hooked(to: Receiver, project?: number): Promise<Hook> {
  const number = project ?? (await service.project(ann));
  const source = await service.source(ann, number, { name: 'source' });
  const { body } = await service.api(ann, 'POST', `/projects/${number}/hooks`, { url: to.url });
  return { source, path: `/projects/${number}/hooks/${body.id}` };
}

async function replayWithoutRetries(project: number): Promise<void> {
  const { config, runtime } = service.pipeline;
  const rules = { ...eventRules(config), retryWindowMs: 0 };
  const order = { kind: 'replay' as const, id: 'replay', from: '', at: Date.now(), project, dry_run: false };
  await runtime.log.publish(ALERTS_TOPIC, [
    { key: String(project), value: encodeEvent({ ...order, rules }, Buffer.alloc(0)) },
  ]);
  const alerts = async () => (await service.api(ann, 'GET', `/projects/${project}/alerts`)).body;
  await until('the alert of the retry is there', async () => (await alerts()).length === 3);
}

const titlesOf = (requests: Receiver['requests']) => requests.map(({ alert }) => alert.title).sort();
const deliveriesOf = async ({ path }: Hook) =>
  (await service.api(ann, 'GET', `${path}/deliveries?limit=500`)).body;

describe('a receiver', () => {
  test.each([400, 500])('that answers one event with %i gets the others', async (status) => {
    const to = await receiver(({ alert }) => (alert.title === 'b' ? status : 200));
    const hook = await hooked(to);
    for (const title of ['b', 'a', 'c']) await service.send(hook.source, { title });
    await until('the others were told', () => to.accepted.length === 2, WAIT_MS);
    expect(titlesOf(to.accepted)).toEqual(['a', 'c']);
    await service.send(hook.source, { title: 'd' });
    await until('a later one was told', () => to.accepted.length === 3, WAIT_MS);
    expect((await deliveriesOf(hook)).filter(({ fault }: { fault: string }) => fault !== null)).not.toEqual(
      [],
    );
  });

  test('that refuses an event is not asked for ever; the event is shown as given up, with the reason', async () => {
    const to = await receiver(() => 404);
    const hook = await hooked(to);
    await service.send(hook.source, { title: 'unwanted' });
    await until('it is given up', async () => (await deliveriesOf(hook))[0]?.given_up === true, WAIT_MS);
    expect((await deliveriesOf(hook))[0]).toMatchObject({
      status: 404,
      fault: 'answered with 404; given up after 3 attempts',
    });
    expect(to.requests).toHaveLength(3);
    expect(new Set(to.requests.map(({ delivery }) => delivery)).size).toBe(1);
  });

  test('that accepts nothing for a day misses the events of that time, which are shown as given up', async () => {
    const to = await receiver(() => 503);
    const hook = await hooked(to);
    await service.send(hook.source, { title: 'early' });
    await until('it was tried', () => to.requests.length > 0, WAIT_MS);
    laterMs += 25 * HOUR;
    to.answer = () => 200;
    await service.send(hook.source, { title: 'late' });
    await until('the later one was told', () => to.accepted.length > 0, WAIT_MS);
    expect(titlesOf(to.accepted)).toEqual(['late']);
    await until('it is given up', async () =>
      (await deliveriesOf(hook)).some(({ given_up }: { given_up: boolean }) => given_up),
    );
    const given = (await deliveriesOf(hook)).find(({ given_up }: { given_up: boolean }) => given_up);
    expect(given).toMatchObject({ alert_iid: 1, fault: 'given up: not accepted within 24 hours' });
  });

  test('gets the events of one alert in their order, whatever it answers', async () => {
    const counts = new Map<string, number>();
    const to = await receiver(({ delivery }) => {
      const count = (counts.get(delivery) ?? 0) + 1;
      counts.set(delivery, count);
      return count === 1 && delivery.endsWith('created') ? 500 : 200;
    });
    const { source } = await hooked(to);
    const names = ['a', 'b', 'c'];
    for (const title of names) await service.send(source, { title });
    for (const title of names) await service.send(source, { title, end_time: '2026-11-21' });
    await until('all were told', () => to.accepted.length === 6, WAIT_MS);
    for (const title of names) {
      const events = to.accepted.filter(({ alert }) => alert.title === title).map(({ event }) => event);
      expect(events).toEqual(['created', 'resolved']);
    }
  });

  test('is told of the same alert after a replay that finds another alert before it', async () => {
    const to = await receiver(({ alert }) => (alert.title === 'waits' ? 503 : 200));
    const { source } = await hooked(to);
    // The third one is a retry of the first one, and an alert of its own by other rules.
    for (const status of ['firing', 'resolved', 'firing'])
      await service.send(source, prometheusBody([firing({ status })]));
    await service.send(source, { title: 'waits' });
    await until('it was refused', () => to.requests.some(({ alert }) => alert.title === 'waits'), WAIT_MS);
    await replayWithoutRetries(source.project);
    to.answer = () => 200;
    await until('it was told', () => to.accepted.length === 3, WAIT_MS);
    expect(titlesOf(to.accepted)).toEqual(['It broke', 'It broke', 'waits']);
  });

  test('that never answers does not delay those of another project', async () => {
    const hanging = await receiver(() => null);
    const project = await service.project(ann);
    const { source } = await hooked(hanging, project);
    for (let i = 1; i < 8; i++)
      await service.api(ann, 'POST', `/projects/${project}/hooks`, { url: hanging.url });
    const quick = await receiver();
    const other = await hooked(quick);
    await service.send(source, { title: 'hangs' });
    await until('all of them hang', () => hanging.requests.length >= 8, WAIT_MS);
    await service.send(other.source, { title: 'is quick' });
    await until('the other one was told', () => quick.accepted.length === 1);
    expect(hanging.requests).toHaveLength(8);
    hanging.answer = () => 200;
    hanging.release();
  });
});
