import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LogRecord } from '../../../infra/ports.ts';
import { Random } from '../../../ingest/demo/random.ts';
import type { Pipeline } from '../../../serve/application/compose/compose.ts';
import { openPipelineAt } from '../../support/pipeline.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { judge } from './accepted.ts';
import { AlertProcess, storedAlerts, storedEvents, until } from './alert-process.ts';
import { randomIdempotencyKey, randomRuledBody, STATE_RULES } from './made.ts';
import type { Attempts } from './senders.ts';
import { SharedLog } from './shared-log.ts';

// Several processes on one log and one store, each of which is paused, replaced, and continues.

let directory: TemporaryDirectory;
let pipeline: Pipeline;
beforeAll(async () => {
  directory = temporaryDirectory();
  pipeline = await openPipelineAt(directory.path);
});
afterAll(async () => {
  await pipeline.close();
  directory[Symbol.dispose]();
});

const WINDOWS = { retryMs: 60_000, namedMs: 86_400_000 };
const STEPS = 16;
let projects = 0;

describe.each([{ cached: '0' }, { cached: '20000' }, { cached: '268435456' }])(
  'two processes that replace each other, $cached bytes of memory',
  ({ cached }) => {
    test.each([1, 2])('decide alike and count nothing twice (seed %i)', async (seed) => {
      const random = new Random(seed);
      const log = new SharedLog();
      const settings = { ALERT_CACHE_BYTES: cached, ALERT_ANSWER_SECONDS_MAX: '60' };
      const start = () => AlertProcess.start(pipeline.runtime, log, settings);
      const acceptor = await start();
      const deciders = [await start(), await start()];
      const mine = [++projects, ++projects];
      const committed = [0, 0];
      const marks = new Map<string, Attempts>();
      const answers: Promise<void>[] = [];
      let serial = 0;

      const publish = async () => {
        const before = log.records.length;
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
          const attempts: Attempts = { sent: 1, answers: [] };
          marks.set(mark, attempts);
          const more = { idempotency_key: randomIdempotencyKey(random), sender_rules: STATE_RULES };
          const answered = acceptor.deliver(project, { ...randomRuledBody(random, 5), mark }, more);
          answers.push(
            answered.then(({ created }) => void attempts.answers.push(String(created.map((c) => c.iid)))),
          );
        }
        await until(() => log.records.length === before + count);
      };

      const deliverTo = async (decider: AlertProcess) => {
        const batch = log.partitions.flatMap((records, partition) => {
          if (random.chance(0.3)) return [];
          // It either continues after what it fetched, or was assigned the partition again.
          const from = random.chance(0.6) ? (decider.next[partition] ?? 0) : (committed[partition] ?? 0);
          return records.slice(from, from + random.whole(1, 10));
        });
        if (batch.length === 0) return;
        const processed = decider.process(batch, () => {
          for (const { partition, offset } of batch) committed[partition] = offset + 1;
        });
        await Promise.race([processed, new Promise((later) => setTimeout(later, 300))]);
      };

      for (let step = 0; step < STEPS; step++) {
        await publish();
        for (const decider of deciders) {
          if (random.chance(0.25)) decider.pause();
          else if (random.chance(0.6)) decider.resume();
          if (decider.busy === undefined && random.chance(0.8)) await deliverTo(decider);
        }
      }
      for (const decider of deciders) {
        decider.resume();
        await decider.busy;
        await decider.alerts.waitUntilWritten();
      }
      // The last process receives what is not committed.
      await deciders[1]?.process(
        log.partitions.flatMap((records, partition) => records.slice(committed[partition])),
      );
      await deciders[1]?.alerts.waitUntilWritten();
      await Promise.all(answers);
      const verdict = await judge(pipeline.runtime.store, mine, marks, WINDOWS);
      expect(verdict.faults).toEqual([]);
      expect(verdict.stored).toBe(log.records.length);
      for (const decider of [acceptor, ...deciders]) await decider.alerts.stop();
    });
  },
);

describe('a process that was replaced while it was paused', () => {
  test('does not decide by what the others have written since', async () => {
    const { store } = pipeline.runtime;
    const log = new SharedLog();
    const start = () => AlertProcess.start(pipeline.runtime, log, { ALERT_CACHE_BYTES: '0' });
    const [acceptor, paused, other] = [await start(), await start(), await start()];
    const project = ++projects;
    const records = log.partitions[project % 2] as LogRecord[];
    const resolved = { end_time: '2026-11-21T04:00:00Z' };
    for (const [i, payload] of [
      { fingerprint: 'z' },
      { fingerprint: 'a' },
      { fingerprint: 'a', ...resolved },
      { fingerprint: 'a' },
    ].entries()) {
      acceptor.deliver(project, payload).catch(() => {});
      await until(() => records.length === i + 1);
    }
    await other.process(records.slice(0, 1));
    await other.alerts.waitUntilWritten();
    // With one alert open and none in memory it has to read the store.
    await paused.process(records.slice(0, 3));
    await paused.alerts.waitUntilWritten();
    await other.process(records.slice(0, 4));
    await other.alerts.waitUntilWritten();
    await paused.process(records.slice(3));
    await paused.alerts.waitUntilWritten();
    const events = await storedEvents(store, project);
    expect(events.flatMap(({ outcomes }) => outcomes)).toEqual(['created', 'created', 'resolved', 'created']);
    expect(await storedAlerts(store, project)).toMatchObject([
      { iid: 1, status: 'triggered', events: 1 },
      { iid: 2, status: 'resolved', events: 1 },
      { iid: 3, status: 'triggered', events: 1 },
    ]);
  });
});

describe('an event that is in the log twice', () => {
  test('counts once, at once and after a restart', async () => {
    const log = new SharedLog();
    const first = await AlertProcess.start(pipeline.runtime, log);
    const project = ++projects;
    const answered = first.deliver(project, { title: 'A', fingerprint: 'a' });
    await until(() => log.records.length === 1);
    const [record] = log.records as [LogRecord];
    log.append(record);
    const records = log.partitions[project % 2] as LogRecord[];
    await first.process(records);
    expect((await answered).created).toEqual([{ iid: 1, title: 'A' }]);
    await first.alerts.waitUntilWritten();
    log.append(record);
    const second = await AlertProcess.start(pipeline.runtime, log);
    await second.process(records.slice(2));
    await second.alerts.waitUntilWritten();
    expect(await storedAlerts(pipeline.runtime.store, project)).toMatchObject([{ iid: 1, events: 1 }]);
  });
});
