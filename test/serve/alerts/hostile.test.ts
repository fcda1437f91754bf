import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DeliveryHead, encodeHead } from '../../../aggregate/alerts/model/event.ts';
import { eventRules } from '../../../aggregate/alerts/model/rules.ts';
import { alertEvents, alerts } from '../../../aggregate/alerts/model/tables.ts';
import { deliveryLetter } from '../../../aggregate/alerts/processor/event-insert.ts';
import { raw, sql } from '../../../infra/sql.ts';
import {
  type DeadLetterRequest,
  deadLetterRequest,
} from '../../../ingest/dead-letters/dead-letter-requests.ts';
import { writeDeadLetters } from '../../../ingest/dead-letters/dead-letters.ts';
import { operations } from '../../../serve/application/operations/operations.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

const CACHE_BYTES = 500_000;

let service: Service;
let ann: Person;
let source: Source;
let other: Source;
beforeAll(async () => {
  service = await Service.open({
    ALERT_CACHE_BYTES: String(CACHE_BYTES),
    ALERT_RETRY_WINDOW_SECONDS: '600',
  });
  ann = await service.person('ann');
  source = await service.source(ann, await service.project(ann));
  other = await service.source(ann, await service.project(ann));
});
afterAll(() => service?.close());

const alertsOf = async ({ project }: Source) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts`)).body;
const deadLetters = async () => (await service.app.inject('/api/status')).json().dead_letters;

describe('hostile deliveries', () => {
  test('thousands of refused items are one dead letter and stop nothing', async () => {
    const zeros = Array.from({ length: 7400 }, () => 0);
    const { status, body } = await service.send(
      source,
      prometheusBody([firing({ annotations: { title: 'the good one' } }), ...zeros]),
    );
    expect({ status, body }).toEqual({ status: 200, body: [{ iid: 1, title: 'the good one' }] });
    expect(await alertsOf(source)).toMatchObject([{ title: 'the good one' }]);
    await service.send(other, { title: 'of another project' });
    expect(await alertsOf(other)).toMatchObject([{ title: 'of another project' }]);
    const iid = 1;
    const change = await service.api(ann, 'PUT', `/projects/${source.project}/alerts/${iid}`, {
      status: 'acknowledged',
    });
    expect(change.status).toBe(200);
    await expect.poll(async () => (await deadLetters()).total).toBe(1);
    const [letter] = (await deadLetters()).latest;
    expect(letter.reason).toContain('7400 of 7401 alerts are refused: alerts[1]: expected an object');
    expect(letter.reason.length).toBeLessThan(1000);
    expect((await service.app.inject('/health/ready')).statusCode).toBe(200);
    const { body: metrics } = await service.app.inject('/metrics');
    expect(metrics).toContain('chain_metrics_alert_outcomes_total{outcome="refused"} 7400');
    expect(metrics).toContain('chain_metrics_alert_rows_set_aside_total 0');
    expect(metrics).toContain('chain_metrics_alert_oldest_pending_seconds 0');
  }, 30_000);
});

describe('readiness', () => {
  const ready = async () => (await service.app.inject('/health/ready')).statusCode;

  test('ends while accepted alerts cannot be stored, and returns with the store', async () => {
    const { store } = service.pipeline.runtime;
    await store.run('RENAME TABLE chain_metrics.alerts TO chain_metrics.alerts_away');
    expect((await service.send(other, { title: 'accepted meanwhile' })).status).toBe(200);
    await expect.poll(ready, { timeout: 10_000 }).toBe(503);
    await store.run('RENAME TABLE chain_metrics.alerts_away TO chain_metrics.alerts');
    await expect.poll(ready, { timeout: 20_000 }).toBe(200);
    expect(await alertsOf(other)).toHaveLength(2);
  });
});

describe('the dead letter of a delivery', () => {
  const request = (given: DeadLetterRequest) =>
    operations.deadLetters.run(service.pipeline, deadLetterRequest.parse(given), {
      onProgress: () => {},
      signal: new AbortController().signal,
      body: undefined as never,
    });

  test('that is refused again stays, and the alerts beside it do not count again', async () => {
    const { letters, outcomes } = await request({ action: 'retry', all: true });
    expect(letters).toHaveLength(1);
    expect(outcomes).toEqual([
      { id: letters[0]?.id, refused: expect.stringMatching(/^All alerts are refused/) },
    ]);
    const { letters: after } = await request({ action: 'list' });
    expect(after).toMatchObject([{ id: letters[0]?.id, attempts: 2, reason: outcomes?.[0]?.refused }]);
    expect(await alertsOf(source)).toMatchObject([{ event_count: 1 }]);
    await request({ action: 'drop', all: true });
  });

  /** Stores a delivery with its dead letter, as a version with other rules did. */
  async function refusedEarlier(id: string, items: readonly unknown[], outcomes: readonly string[]) {
    const late = await service.source(ann, await service.project(ann));
    const { store } = service.pipeline.runtime;
    const head: DeliveryHead = {
      ...{
        kind: 'delivery',
        id,
        project: late.project,
        at: Date.now(),
        from: '',
        mapping: null,
        sender_rules: null,
        heartbeat_matchers: '',
      },
      ...{ integration: late.id, endpoint: 'prometheus', groups_by_payload: true, idempotency_key: '' },
      rules: eventRules(service.pipeline.config),
    };
    const body = JSON.stringify(prometheusBody(items));
    const none = items.map(() => '');
    await store.insert(alertEvents, [
      {
        ...{ project: late.project, position: 1, id, kind: 'delivery', at: head.at, body },
        ...{ head: encodeHead(head), outcomes, iids: items.map(() => 0), retry_keys: none },
        ...{ log_partition: 0, log_offset: 0 },
      },
    ]);
    const letter = deliveryLetter(head, 'not known yet', Buffer.from(body));
    await writeDeadLetters(store, [letter], Date.now(), 100);
    return late;
  }
  const titled = (title: string) => firing({ fingerprint: '', labels: { title }, annotations: { title } });

  test('of which a part was refused is delivered to its project', async () => {
    const items = ['taken', 'refused'].map(titled);
    const late = await refusedEarlier('earlier', items, ['retried', 'refused']);
    const { outcomes } = await request({ action: 'retry', all: true });
    expect(outcomes?.map(({ refused }) => refused)).toEqual([null]);
    expect(await alertsOf(late)).toMatchObject([{ title: 'refused', event_count: 1 }]);
    expect((await request({ action: 'list' })).total).toBe(0);
  });

  test('of which a part is accepted is replaced by one of what is still refused', async () => {
    const items = [titled('good now'), 0];
    const late = await refusedEarlier('partly', items, ['refused', 'refused']);
    const { letters: before, outcomes } = await request({ action: 'retry', all: true });
    const refused = expect.stringMatching(/^1 of 2 alerts are refused/);
    expect(outcomes).toEqual([{ id: before[0]?.id, refused }]);
    const { total, letters } = await request({ action: 'list' });
    expect(total).toBe(1);
    expect(letters).toMatchObject([{ reason: refused, attempts: 1 }]);
    expect(letters[0]?.id).not.toBe(before[0]?.id);
    const { outcomes: again } = await request({ action: 'retry', all: true });
    expect(again).toEqual([
      { id: letters[0]?.id, refused: expect.stringMatching(/^All alerts are refused/) },
    ]);
    expect(await alertsOf(late)).toMatchObject([{ title: 'good now', event_count: 1 }]);
    expect((await request({ action: 'list' })).total).toBe(1);
    await request({ action: 'drop', all: true });
  });
});

describe('long texts', () => {
  const DELIVERIES = 24;
  const sources: Source[] = [];
  beforeAll(async () => {
    for (let i = 0; i < 3; i++) sources.push(await service.source(ann, await service.project(ann)));
  });

  const bodyOf = (index: number, startsAt = '2026-11-20T00:00:00Z', text = 'x'.repeat(100_000)) =>
    prometheusBody([
      firing({
        fingerprint: index.toString(16).padStart(16, '0'),
        startsAt,
        generatorURL: `http://p/graph?g0.expr=${text}`,
        annotations: { title: `Alert ${index}`, platform_incident_markdown: text },
      }),
    ]);
  const stored = (columns: string) =>
    service.pipeline.runtime.store.rows<Record<string, number>>(
      sql`SELECT ${raw(columns)} FROM ${alerts} FINAL WHERE project IN ${sources.map(({ project }) => project)}`,
    );
  const cachedBytes = async () => (await service.pipeline.alerts()).figures.cachedBytes;

  test('are stored cut, and held within the limit of all projects', async () => {
    for (let i = 0; i < DELIVERIES; i++) {
      for (const one of sources) expect((await service.send(one, bodyOf(i))).body).toHaveLength(1);
      // The limit, and the alert of the newest delivery with what is not durable yet.
      expect(await cachedBytes()).toBeLessThan(2 * CACHE_BYTES);
    }
    await (await service.pipeline.alerts()).waitUntilWritten();
    expect(
      await stored(
        'count() AS alerts, max(length(incident_markdown)) AS markdown, max(length(query)) AS query',
      ),
    ).toEqual([{ alerts: 3 * DELIVERIES, markdown: 20_000, query: 5000 }]);
    await service.send(sources[0] as Source, { title: 'one more' });
    expect(await cachedBytes()).toBeLessThan(1.5 * CACHE_BYTES);
  });

  test('that are not in memory any more are found again: as retries, as repeats and as resolved', async () => {
    const results: Record<string, number> = {};
    for (let i = 0; i < DELIVERIES; i += 4) {
      const one = sources[i % 3] as Source;
      // The same delivery again, a later one, and its end.
      await service.send(one, bodyOf(i));
      await service.send(one, bodyOf(i, '2026-11-20T01:00:00Z', 'y'));
      const [item] = bodyOf(i, '2026-11-20T01:00:00Z', 'y').alerts as object[];
      await service.send(one, prometheusBody([{ ...item, status: 'resolved' }]));
    }
    await (await service.pipeline.alerts()).waitUntilWritten();
    for (const { events, status } of (await stored('events, status')) as unknown as {
      events: number;
      status: string;
    }[]) {
      const name = `${status} ${events}`;
      results[name] = (results[name] ?? 0) + 1;
    }
    // One is the small alert of the test before.
    expect(results).toEqual({ 'triggered 1': 3 * DELIVERIES - 6 + 1, 'resolved 2': 6 });
  });
});

test('a flood of deliveries that may come again is held within the limit while it lasts', async () => {
  const flooded = await service.source(ann, await service.project(ann));
  const alertsPipeline = await service.pipeline.alerts();
  const body = (from: number) =>
    prometheusBody(
      Array.from({ length: 500 }, (_, i) =>
        firing({ status: 'resolved', fingerprint: (from + i).toString(16).padStart(16, '0') }),
      ),
    );
  const named = (from: number) => ({ 'idempotency-key': `from ${from}` });
  let sent = 0;
  let most = 0;
  const send = async () => {
    while (sent < 30) {
      const from = 1000 * ++sent;
      await service.send(flooded, body(from), named(from));
      most = Math.max(most, alertsPipeline.figures.cachedBytes);
      // What the store does not have yet cannot be evicted, and a slow machine is behind.
      while (alertsPipeline.figures.pendingBytes > CACHE_BYTES) await pause(5);
    }
  };
  // There is always one that the store does not have yet.
  await Promise.all([send(), send(), send()]);
  expect(most).toBeLessThan(3 * CACHE_BYTES);
  await service.send(flooded, body(1000), named(1000));
  await alertsPipeline.waitUntilWritten();
  const [newest] = await service.pipeline.runtime.store.rows(
    sql`SELECT arrayDistinct(outcomes) AS outcomes FROM ${alertEvents} WHERE project = ${flooded.project}
      ORDER BY position DESC LIMIT 1`,
  );
  expect(newest).toEqual({ outcomes: ['retried'] });
});
