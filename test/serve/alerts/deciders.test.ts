import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeEvent } from '../../../aggregate/alerts/model/event.ts';
import { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { EventResult } from '../../../aggregate/alerts/processor/result-channel.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { LogRecord, Store } from '../../../infra/ports.ts';
import type { Pipeline } from '../../../serve/compose.ts';
import { readConfig } from '../../../serve/settings.ts';
import { gate } from '../../infra/ports/opened.ts';
import { openEngine } from '../../support/engine.ts';
import { Random } from '../../support/random.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { judge } from './accepted.ts';
import { madeBody, madeName } from './made.ts';
import type { Attempts } from './senders.ts';
import { SharedLog } from './shared-log.ts';

// Several processes over one log and one store, each of which may be paused, taken for dead, and go on.

let directory: TemporaryDirectory;
let engine: Pipeline;
beforeAll(async () => {
  directory = temporaryDirectory();
  engine = await openEngine(directory.path);
});
afterAll(async () => {
  await engine.close();
  directory[Symbol.dispose]();
});

const WINDOWS = { retryMs: 60_000, namedMs: 86_400_000 };
let projects = 0;

/** One process: what it decides on is durable only while it is not paused. */
class Decider {
  readonly #seat: ReturnType<SharedLog['seat']>;
  #writing = gate();
  #isPaused = true;
  alerts!: AlertPipeline;
  /** Set while a batch is with it. */
  busy: Promise<void> | undefined;
  /** By partition, the offset behind what it was handed. */
  readonly next = [0, 0];

  private constructor(log: SharedLog) {
    this.#seat = log.seat();
    this.resume();
  }

  static async start(log: SharedLog, settings: Record<string, string>): Promise<Decider> {
    const decider = new Decider(log);
    const { runtime } = engine;
    const store = new Proxy(runtime.store, {
      get: (target, name: keyof Store) => {
        const does = target[name].bind(target) as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          if (name.startsWith('insert')) await decider.#writing.opened;
          return does(...args);
        };
      },
    });
    const config = readConfig({ DATA_DIR: directory.path, ...settings });
    decider.alerts = await AlertPipeline.start({ ...runtime, store, log: decider.#seat }, config);
    return decider;
  }

  /** What waits already goes on waiting for the same resumption. */
  pause(): void {
    if (!this.#isPaused) this.#writing = gate();
    this.#isPaused = true;
  }

  resume(): void {
    this.#writing.open();
    this.#isPaused = false;
  }

  /** Resolves when what is handed over is decided on; `onSettled` is called when it is durable. */
  hand(batch: readonly LogRecord[], onSettled: () => void = () => {}): Promise<void> {
    for (const { partition, offset } of batch) this.next[partition] = offset + 1;
    this.busy = this.#seat.hand(batch).then(({ durable: settled }) => {
      this.busy = undefined;
      settled.then(onSettled);
    });
    return this.busy;
  }
}

const given = (project: number, more: object = {}) => ({
  project,
  integration: 'i1',
  endpoint: 'http' as const,
  mapping: null,
  groups_by_payload: true,
  idempotency_key: '',
  ...more,
});

async function deliver(
  at: Decider,
  project: number,
  payload: object,
  more: object = {},
): Promise<EventResult> {
  const body = Buffer.from(JSON.stringify(payload));
  const head = given(project, more);
  return at.alerts.deliver(head, body, at.alerts.parse(head, body));
}

const alertsOf = (project: number) =>
  engine.runtime.store.rows<{ iid: number; title: string; status: string; events: number }>(
    sql`SELECT iid, title, status, events FROM chain_metrics.alerts FINAL WHERE project = ${project} ORDER BY iid`,
  );

const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise((later) => setTimeout(later, 5));
};

const STEPS = 16;

describe.each([{ cached: '0' }, { cached: '3' }, { cached: '1000' }])(
  'two processes that take each other for dead, $cached alerts in memory',
  ({ cached }) => {
    test.each([1, 2])('decide alike and count nothing twice (seed %i)', async (seed) => {
      const random = new Random(seed);
      const log = new SharedLog();
      const settings = { ALERT_OPEN_CACHED: cached, ALERT_ANSWER_SECONDS_MAX: '60' };
      const acceptor = await Decider.start(log, settings);
      const deciders = [await Decider.start(log, settings), await Decider.start(log, settings)];
      const mine = [++projects, ++projects];
      const committed = [0, 0];
      const marks = new Map<string, Attempts>();
      const answers: Promise<void>[] = [];
      let serial = 0;

      const publish = async () => {
        const before = log.partitions.flat().length;
        const count = random.whole(1, 8);
        for (let i = 0; i < count; i++) {
          const project = random.pick(mine);
          if (random.chance(0.15)) {
            const status = random.pick(['acknowledged', 'resolved', 'triggered'] as const);
            const iid = random.whole(1, 12);
            answers.push(
              acceptor.alerts.applyAction({ project, iid, by: '1', change: { status } }).then(() => {}),
            );
            continue;
          }
          const mark = `seed ${seed}, delivery ${++serial}`;
          const attempts: Attempts = { made: 1, told: [] };
          marks.set(mark, attempts);
          const more = { idempotency_key: madeName(random) };
          const answered = deliver(acceptor, project, { ...madeBody(random, 5), mark }, more);
          answers.push(
            answered.then(({ created }) => void attempts.told.push(String(created.map((c) => c.iid)))),
          );
        }
        await until(() => log.partitions.flat().length === before + count);
      };

      const handTo = async (decider: Decider) => {
        const batch = log.partitions.flatMap((kept, partition) => {
          if (random.chance(0.3)) return [];
          // Either it goes on with what it had fetched, or it was given the partition anew.
          const from = random.chance(0.6) ? (decider.next[partition] ?? 0) : (committed[partition] ?? 0);
          return kept.slice(from, from + random.whole(1, 10));
        });
        if (batch.length === 0) return;
        const handed = decider.hand(batch, () => {
          for (const { partition, offset } of batch) committed[partition] = offset + 1;
        });
        await Promise.race([handed, new Promise((later) => setTimeout(later, 300))]);
      };

      for (let step = 0; step < STEPS; step++) {
        await publish();
        for (const decider of deciders) {
          if (random.chance(0.25)) decider.pause();
          else if (random.chance(0.6)) decider.resume();
          if (decider.busy === undefined && random.chance(0.8)) await handTo(decider);
        }
      }
      for (const decider of deciders) {
        decider.resume();
        await decider.busy;
        await decider.alerts.waitUntilWritten();
      }
      // Whoever is left takes what nobody has committed.
      await deciders[1]?.hand(log.partitions.flatMap((kept, partition) => kept.slice(committed[partition])));
      await deciders[1]?.alerts.waitUntilWritten();
      await Promise.all(answers);
      const verdict = await judge(engine.runtime.store, mine, marks, WINDOWS);
      expect(verdict.faults).toEqual([]);
      expect(verdict.stored).toBe(log.partitions.flat().length);
      for (const decider of [acceptor, ...deciders]) await decider.alerts.stop();
    });
  },
);

describe('a process that was taken for dead', () => {
  test('does not decide by what the others have made since', async () => {
    const log = new SharedLog();
    const settings = { ALERT_OPEN_CACHED: '0' };
    const [acceptor, paused, other] = [
      await Decider.start(log, settings),
      await Decider.start(log, settings),
      await Decider.start(log, settings),
    ];
    const project = ++projects;
    const kept = log.partitions[project % 2] as LogRecord[];
    const over = { end_time: '2026-11-21T04:00:00Z' };
    for (const [i, payload] of [
      { fingerprint: 'z' },
      { fingerprint: 'a' },
      { fingerprint: 'a', ...over },
      { fingerprint: 'a' },
    ].entries()) {
      deliver(acceptor, project, payload).catch(() => {});
      await until(() => kept.length === i + 1);
    }
    await other.hand(kept.slice(0, 1));
    await other.alerts.waitUntilWritten();
    // With one alert open and none kept in memory it has to ask the store.
    await paused.hand(kept.slice(0, 3));
    await paused.alerts.waitUntilWritten();
    await other.hand(kept.slice(0, 4));
    await other.alerts.waitUntilWritten();
    await paused.hand(kept.slice(3));
    await paused.alerts.waitUntilWritten();
    const stored = await engine.runtime.store.rows<{ outcomes: string[] }>(
      sql`SELECT outcomes FROM chain_metrics.alert_events FINAL WHERE project = ${project} ORDER BY position`,
    );
    expect(stored.flatMap(({ outcomes }) => outcomes)).toEqual(['created', 'created', 'resolved', 'created']);
    expect(await alertsOf(project)).toMatchObject([
      { iid: 1, status: 'triggered', events: 1 },
      { iid: 2, status: 'resolved', events: 1 },
      { iid: 3, status: 'triggered', events: 1 },
    ]);
  });
});

describe('an event that the log was given twice', () => {
  test('counts once, at once and after a new start', async () => {
    const log = new SharedLog();
    const one = await Decider.start(log, {});
    const project = ++projects;
    const answered = deliver(one, project, { title: 'A', fingerprint: 'a' });
    await until(() => log.partitions.flat().length === 1);
    const [message] = log.partitions.flat() as [LogRecord];
    log.append(message);
    const partition = log.partitions[project % 2] as LogRecord[];
    await one.hand(partition);
    expect((await answered).created).toEqual([{ iid: 1, title: 'A' }]);
    await one.alerts.waitUntilWritten();
    log.append(message);
    const other = await Decider.start(log, {});
    await other.hand(partition.slice(2));
    await other.alerts.waitUntilWritten();
    expect(await alertsOf(project)).toMatchObject([{ iid: 1, events: 1 }]);
  });
});

describe('what a sender was told', () => {
  test('stays true when the settings change before it is durable', async () => {
    const log = new SharedLog();
    const settings = {
      ALERT_TITLE_CHARACTERS: '50',
      ALERT_DEPTH_MAX: '20',
      ALERT_RETRY_WINDOW_SECONDS: '600',
    };
    const before = await Decider.start(log, settings);
    before.pause();
    const project = ++projects;
    const mapping = { title: ['deep', 'er', 'name'], fingerprint: ['deep', 'id'] };
    const payload = { deep: { er: { name: 'A title of some thirty letters' }, id: 'x' } };
    const told = [
      deliver(before, project, payload, { mapping }),
      deliver(before, project, payload, { mapping, idempotency_key: 'n' }),
      deliver(before, project, payload, { mapping, idempotency_key: 'n' }),
    ];
    await until(() => log.partitions.flat().length === 3);
    void before.hand(log.partitions.flat());
    const created = (await Promise.all(told)).map((answer) => answer.created);
    expect(created[0]).toEqual([{ iid: 1, title: 'A title of some thirty letters' }]);

    // Killed here: nothing of it was written. Whoever comes next has other rules, also for this integration.
    const after = await Decider.start(log, {
      ALERT_TITLE_CHARACTERS: '10',
      ALERT_DEPTH_MAX: '1',
      ALERT_RETRY_WINDOW_SECONDS: '0',
      ALERT_IDEMPOTENCY_HOURS: '0',
    });
    await after.hand(log.partitions.flat());
    await after.alerts.waitUntilWritten();
    expect(await alertsOf(project)).toMatchObject([
      { iid: 1, title: 'A title of some thirty letters', events: 2 },
    ]);
    const ids = log.partitions.flat().map(({ value }) => decodeEvent(value).head.id);
    const stored = await engine.runtime.store.rows<{ id: string; outcomes: string[] }>(
      sql`SELECT id, outcomes FROM chain_metrics.alert_events FINAL WHERE project = ${project} ORDER BY position`,
    );
    expect(stored).toEqual(
      ids.map((id, i) => ({ id, outcomes: [['created'], ['grouped'], ['retried']][i] })),
    );
  });

  test('is found in the store when nobody passes it on', async () => {
    const log = new SharedLog();
    const [acceptor, decider] = [await Decider.start(log, {}), await Decider.start(log, {})];
    const project = ++projects;
    const named = { idempotency_key: 'n' };
    const answers = [1, 2].map(() => deliver(acceptor, project, { title: 'A', fingerprint: 'a' }, named));
    await until(() => log.partitions.flat().length === 2);
    await decider.hand(log.partitions.flat());
    // Redis was emptied before anybody asked it.
    for (const { value } of log.partitions.flat()) {
      await engine.runtime.keyValue.delete(`alerts/answer/${decodeEvent(value).head.id}`);
    }
    const created = [{ iid: 1, title: 'A' }];
    expect((await Promise.all(answers)).map((answer) => answer.created)).toEqual([created, created]);
  });
});

describe('a delivery that nobody decides on in time', () => {
  test('is sent again if it has a name, and would count twice if not', async () => {
    const one = await Decider.start(new SharedLog(), { ALERT_ANSWER_SECONDS_MAX: '1' });
    const project = ++projects;
    const answers = await Promise.allSettled([
      deliver(one, project, { title: 'A' }),
      deliver(one, project, { title: 'A' }, { idempotency_key: 'n' }),
    ]);
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { created: [] } },
      { status: 'rejected', reason: { code: 'service_unreachable' } },
    ]);
  });
});

describe('a log that is away', () => {
  test('is not waited for longer than the setting says, and used again when it is back', async () => {
    const log = new SharedLog();
    const one = await Decider.start(log, { ALERT_LOG_SECONDS_MAX: '1' });
    const project = ++projects;
    const back = gate();
    log.away = back.opened;
    const refusal = { code: 'service_unreachable' };
    const waiting = ['on its way', 'behind it'].map((title) => deliver(one, project, { title }));
    const began = performance.now();
    for (const one of waiting) await expect(one).rejects.toMatchObject(refusal);
    expect(performance.now() - began).toBeGreaterThan(900);
    const asked = performance.now();
    await expect(deliver(one, project, { title: 'later' })).rejects.toMatchObject(refusal);
    expect(performance.now() - asked).toBeLessThan(500);
    log.away = undefined;
    back.open();
    await until(() => log.partitions.flat().length > 0);
    const answered = deliver(one, project, { title: 'again' });
    const kept = () => log.partitions.flat();
    await until(() => kept().at(-1)?.value.includes('again') === true);
    await one.hand(kept());
    expect((await answered).created.map(({ title }) => title)).toEqual(['again']);
  });
});
