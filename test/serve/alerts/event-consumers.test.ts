import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeHead } from '../../../aggregate/alerts/model/event.ts';
import { groupingRules } from '../../../aggregate/alerts/model/rules.ts';
import { alertEvents, alerts, deletedEvents } from '../../../aggregate/alerts/model/tables.ts';
import { EventParser } from '../../../aggregate/alerts/processor/parser.ts';
import { ProjectStateCache } from '../../../aggregate/alerts/processor/project-state-cache.ts';
import { sql } from '../../../infra/sql.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { createUser } from '../../../serve/accounts/users.ts';
import { createAlertMetrics } from '../../../serve/alerts/composition/alert-metrics.ts';
import { type AlertDomain, openAlertDomain } from '../../../serve/alerts/composition/domain.ts';
import type { Progress } from '../../../serve/alerts/events/consumer-progress.ts';
import { EventRetention } from '../../../serve/alerts/events/event-retention.ts';
import type { Project } from '../../../serve/alerts/model/tables.ts';
import { consumerProgress } from '../../../serve/alerts/model/tables.ts';
import { PAGING } from '../../../serve/alerts/paging/page-steps.ts';
import { INCIDENTS } from '../../../serve/alerts/projects/incidents.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testConfig } from '../../support/test-config.ts';
import { firing, prometheusBody } from './made.ts';
import { Receiver } from './receiver.ts';

// Runs the consumers one by one: nothing runs by itself here.

const NOTIFICATIONS = 'notifications';

const directory = temporaryDirectory();
let pipeline: Pipeline;
let domain: AlertDomain;
let ann: User;
let project: Project;
beforeAll(async () => {
  const env = {
    DATA_DIR: directory.path,
    LOG_LEVEL: 'fatal',
    ALERT_PRIVATE_TARGETS: 'true',
  };
  pipeline = await openPipeline(testConfig(env));
  domain = openAlertDomain({
    runtime: pipeline.runtime,
    accounts: pipeline.accounts(),
    pipeline: await pipeline.alerts(),
    settings: pipeline.config,
    publicUrl: () => '',
    metrics: createAlertMetrics(),
  });
  const account = { username: 'ann', email: 'ann@example.org', password: null };
  ann = await createUser(pipeline.accounts(), account);
  project = await domain.projects.create(ann, { name: 'Watch', makes_incidents: true });
});
afterAll(async () => {
  await pipeline?.close();
  directory[Symbol.dispose]();
});

async function deliver(items: readonly object[], { id } = project): Promise<void> {
  const alerts = await pipeline.alerts();
  const body = Buffer.from(JSON.stringify(prometheusBody(items)));
  const head = {
    project: Number(id),
    integration: 'tool',
    endpoint: 'prometheus' as const,
    mapping: null,
    sender_rules: null,
    heartbeat_matchers: '',
    groups_by_payload: true,
    idempotency_key: '',
  };
  await alerts.deliver(head, body, alerts.parse(head, body));
  await alerts.waitUntilWritten();
}

const followEvents = async (number: number, name: string) => {
  while ((await domain.eventConsumers.run(number, name)) !== undefined);
};
describe('rounds', () => {
  test('of a webhook continue past events that it is not told of', async () => {
    const to = await Receiver.open();
    const { webhook } = await domain.webhooks.create(project, { url: to.url, events: ['resolved'] });
    const items = Array.from({ length: 1000 }, (_, i) => firing({ fingerprint: `f${i}` }));
    await deliver(items);
    await deliver([{ ...items[0], status: 'resolved', endsAt: '2026-11-21T04:00:00Z' }]);
    await followEvents(Number(project.id), NOTIFICATIONS);
    while ((await domain.webhookDeliveries.run(Number(project.id), webhook.id)) !== undefined);
    to.close();
    expect(to.accepted.map(({ event }) => event)).toEqual(['resolved']);
  });

  test('of a webhook end with its project', async () => {
    const to = await Receiver.open(() => 503);
    const other = await domain.projects.create(ann, { name: 'Ends' });
    const { webhook } = await domain.webhooks.create(other, { url: to.url });
    await deliver([firing()], other);
    await followEvents(Number(other.id), NOTIFICATIONS);
    const run = () => domain.webhookDeliveries.run(Number(other.id), webhook.id);
    expect(await run()).toBeGreaterThan(0);
    await domain.projects.delete(other.id);
    expect(await run()).toBeUndefined();
    to.close();
    expect(to.requests).toHaveLength(1);
  });

  test('of a webhook count its receiver as failing, also while nothing is due, until it accepts a request', async () => {
    const to = await Receiver.open(() => 503);
    const failing = await domain.projects.create(ann, { name: 'Fails' });
    const { webhook } = await domain.webhooks.create(failing, { url: to.url });
    await deliver([firing()], failing);
    const number = Number(failing.id);
    await followEvents(number, NOTIFICATIONS);
    const isFound = async () =>
      (await domain.webhookDeliveries.pendingTasks()).some(({ name }) => name === webhook.id);
    const run = () => domain.webhookDeliveries.run(number, webhook.id);
    expect(await isFound()).toBe(true);
    expect(await run()).toBeGreaterThan(0);
    const progress = (await domain.progress.get(number, webhook.id)) as Progress;
    expect(progress).toMatchObject({ failures: 1, status: 503 });
    expect(await isFound()).toBe(false);
    await domain.progress.save(progress, { retry_ms: 0 });
    expect(await run()).toBeGreaterThan(0);
    expect(await domain.progress.get(number, webhook.id)).toMatchObject({ failures: 1 });
    expect(to.requests).toHaveLength(1);
    to.answer = () => 200;
    await domain.webhooks.change(failing, webhook.id, { name: 'mended' });
    expect(await run()).toBe(0);
    expect(await domain.progress.get(number, webhook.id)).toMatchObject({ failures: 0, retry_ms: 0 });
    expect(await run()).toBeUndefined();
    to.close();
    expect(to.accepted).toHaveLength(1);
  });

  test('of a webhook that a kill repeats add and send nothing twice', async () => {
    const to = await Receiver.open();
    const killed = await domain.projects.create(ann, { name: 'Repeats' });
    const number = Number(killed.id);
    const { webhook } = await domain.webhooks.create(killed, { url: to.url });
    await deliver([firing(), firing({ fingerprint: 'other' })], killed);
    const before = (await domain.progress.get(number, NOTIFICATIONS)) as Progress;
    await followEvents(number, NOTIFICATIONS);
    const send = async () => {
      while ((await domain.webhookDeliveries.run(number, webhook.id)) !== undefined);
    };
    await send();
    const after = (await domain.progress.get(number, NOTIFICATIONS)) as Progress;
    await domain.progress.save(after, { position: before.position });
    await followEvents(number, NOTIFICATIONS);
    await send();
    to.close();
    expect(to.requests).toHaveLength(2);
  });

  test('of incidents miss no event while a sweep finds the projects of an older version', async () => {
    const number = Number(project.id);
    const { name } = consumerProgress;
    await pipeline.runtime.store.run(
      `ALTER TABLE chain_metrics.${name} DELETE WHERE project = ${number} SETTINGS mutations_sync = 1`,
    );
    const { projects } = domain;
    const numbers = projects.numbers.bind(projects);
    projects.numbers = async () => {
      // An event arrives while the sweep is under way, and the round of an earlier one has begun.
      await domain.eventConsumers.run(number, INCIDENTS);
      await deliver([firing({ fingerprint: 'new' })]);
      return numbers();
    };
    await domain.eventConsumers.pendingTasks();
    projects.numbers = numbers;
    await followEvents(number, INCIDENTS);
    const { position } = (await domain.progress.get(number, INCIDENTS)) ?? { position: 0 };
    expect(position).toBeGreaterThan(0);
    const { total } = await domain.incidents.list(pipeline.runtime.store, project.id, {
      number: 1,
      size: 20,
    });
    expect(total).toBe(1);
  });
});

describe('old events', () => {
  interface Stored {
    readonly position: number;
    readonly head: string;
    readonly log_partition: number;
    readonly log_offset: number;
  }
  const storedOf = (number: number) =>
    pipeline.runtime.store.rows<Stored>(
      sql`SELECT position, head, log_partition, log_offset FROM ${alertEvents} FINAL
        WHERE project = ${number} ORDER BY position`,
    );
  const positionsOf = async (number: number) => (await storedOf(number)).map(({ position }) => position);
  const alertsOf = (number: number) =>
    pipeline.runtime.store.rows(sql`SELECT * FROM ${alerts} FINAL WHERE project = ${number} ORDER BY iid`);
  const deleteAfter = async (days: number) =>
    new EventRetention({
      ...{ ...domain, store: pipeline.runtime.store, locks: pipeline.accounts().locks, days: 8 },
      ...{ pipeline: await pipeline.alerts(), clock: { now: () => Date.now() + days * 86_400_000 } },
    }).deleteOld();
  const resolved = (item: object) => ({ ...item, status: 'resolved', endsAt: '2026-11-21T04:00:00Z' });

  /** The ids of events that the log delivers and that would be counted. */
  async function countedAgain(events: readonly Stored[]): Promise<string[]> {
    const { store } = pipeline.runtime;
    const cache = new ProjectStateCache({
      store,
      parser: new EventParser(() => undefined),
      rules: groupingRules(pipeline.config),
      cacheBytes: 1e6,
    });
    const delivered = events.map(({ head, log_partition: partition, log_offset: offset }) => ({
      head: decodeHead(head),
      delivery: null,
      body: Buffer.alloc(0),
      record: { topic: '', key: '', value: Buffer.alloc(0), partition, offset },
    }));
    const { fresh } = await cache.load(delivered as never);
    return fresh.map(({ head }) => head.id);
  }

  test('are deleted when nothing follows from them any more; alerts, their numbers and open ones stay', async () => {
    const to = await Receiver.open();
    const kept = await domain.projects.create(ann, { name: 'Kept' });
    const number = Number(kept.id);
    const { webhook } = await domain.webhooks.create(kept, { url: to.url });
    const [first, open, last, later] = ['first', 'open', 'last', 'later'].map((fingerprint) =>
      firing({ fingerprint }),
    ) as [object, object, object, object];
    for (const item of [first, resolved(first), open, last, resolved(last), later])
      await deliver([item], kept);
    await (await pipeline.alerts()).applyAction({
      ...{ project: number, iid: 2, by: '3', change: { status: 'acknowledged' } },
    });
    await deliver([resolved(later)], kept);
    const before = { events: await storedOf(number), alerts: await alertsOf(number) };
    expect(before.events).toHaveLength(8);

    expect(await deleteAfter(7)).toBe(0);
    await followEvents(number, INCIDENTS);
    await deleteAfter(9);
    expect(await positionsOf(number)).toHaveLength(8);

    await followEvents(number, NOTIFICATIONS);
    await followEvents(number, PAGING);
    expect(await deleteAfter(9)).toBe(5);
    while ((await domain.webhookDeliveries.run(number, webhook.id)) !== undefined);
    to.close();
    expect(to.accepted).toHaveLength(8);
    expect(await positionsOf(number)).toEqual([3, 7, 8]);
    expect(await alertsOf(number)).toEqual(before.alerts);
    expect(await countedAgain(before.events)).toEqual([]);
    const [newest] = before.events.slice(-1) as [Stored];
    const fresh = { ...newest, head: JSON.stringify({ ...JSON.parse(newest.head), id: 'fresh' }) };
    expect(await countedAgain([{ ...fresh, log_offset: newest.log_offset + 1 }])).toEqual(['fresh']);

    const other = await domain.projects.create(ann, { name: 'Whole' });
    await deliver([firing()], other);
    const order = { projects: [number, Number(other.id)], dryRun: true };
    expect(await (await pipeline.alerts()).replay(order)).toMatchObject([
      { project: number, refused: expect.stringContaining('5 of its 8 events were deleted') },
      { project: Number(other.id), refused: null, events: 1, differing: 0 },
    ]);
    await deliver([{ ...open, startsAt: '2026-11-22T00:00:00Z' }, firing({ fingerprint: 'newest' })], kept);
    expect(await positionsOf(number)).toEqual([3, 7, 8, 9]);
    expect(await alertsOf(number)).toMatchObject([
      { iid: 1, status: 'resolved' },
      { iid: 2, status: 'acknowledged', events: 2 },
      { iid: 3, status: 'resolved' },
      { iid: 4, status: 'resolved' },
      { iid: 5, status: 'triggered' },
    ]);
  });

  test('of which a killed process has deleted none yet are deleted by the next one', async () => {
    const killed = await domain.projects.create(ann, { name: 'Killed' });
    const number = Number(killed.id);
    for (const item of [firing(), resolved(firing()), firing()]) await deliver([item], killed);
    for (const name of [INCIDENTS, NOTIFICATIONS, PAGING]) await followEvents(number, name);
    const bound = Math.floor(Date.now() / 86_400_000 + 1) * 86_400_000;
    await pipeline.runtime.store.insert(deletedEvents, [{ project: number, before_ms: bound }]);
    expect(await countedAgain(await storedOf(number))).toEqual([]);
    await deleteAfter(9);
    expect(await positionsOf(number)).toEqual([1, 2, 3]);
    await deleteAfter(10);
    expect(await positionsOf(number)).toEqual([3]);
  });
});
