import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Job, Queue } from '../../../infra/ports.ts';
import { gate, type Opened, pause, until } from './opened.ts';

export interface AttemptOptions {
  readonly attempts: number;
  readonly backoffMs: number;
}

const OPTIONS: AttemptOptions = { attempts: 4, backoffMs: 40 };
const job = (id: string, data: unknown = id): Job<unknown> => ({ id, data });

export function queueContract(name: string, open: (options: AttemptOptions) => Promise<Opened<Queue>>): void {
  describe(`queue: ${name}`, () => {
    let opened: Opened<Queue>;
    let queue: Queue;
    beforeEach(async () => {
      opened = await open(OPTIONS);
      queue = opened.port;
    });
    afterEach(() => opened.close());

    /** Starts a job that blocks the queue, so that jobs can be added before any runs; the result ends it. */
    async function block(name: string, seen: unknown[]): Promise<() => void> {
      const blocked = gate();
      await queue.process(name, 1, async (data) => {
        if (data === 'blocker') await blocked.opened;
        else seen.push(data);
      });
      await queue.add(name, job('blocker'));
      await until('the blocker runs', async () => (await queue.waiting(name)) === 0);
      return blocked.open;
    }

    describe('running', () => {
      test('a job reaches the handler with its data, also one that was added before there was a handler', async () => {
        const seen: unknown[] = [];
        await queue.add('jobs', job('early', { day: '2026-01-01', of: [1, 2] }));
        await queue.process('jobs', 1, async (data) => void seen.push(data));
        await queue.add('jobs', job('late', 'plain'));
        await queue.idle('jobs');
        expect(seen).toEqual([{ day: '2026-01-01', of: [1, 2] }, 'plain']);
      });

      test('run in the order in which they were added', async () => {
        const seen: unknown[] = [];
        const go = await block('jobs', seen);
        for (const id of ['c', 'a', 'd', 'b']) await queue.add('jobs', job(id));
        go();
        await queue.idle('jobs');
        expect(seen).toEqual(['c', 'a', 'd', 'b']);
      });

      test.each([1, 3])('%i jobs of a queue run concurrently', async (concurrency) => {
        let running = 0;
        let runningMax = 0;
        await queue.process('jobs', concurrency, async () => {
          runningMax = Math.max(runningMax, ++running);
          await pause(10);
          running--;
        });
        for (let i = 0; i < 9; i++) await queue.add('jobs', job(String(i)));
        await queue.idle('jobs');
        expect(runningMax).toBe(concurrency);
      });

      test('queues do not wait for each other', async () => {
        const blocked = gate();
        const seen: unknown[] = [];
        await queue.process('slow', 1, () => blocked.opened);
        await queue.process('quick', 1, async (data) => void seen.push(data));
        await queue.add('slow', job('a'));
        await queue.add('quick', job('b'));
        await queue.idle('quick');
        expect(seen).toEqual(['b']);
        blocked.open();
        await queue.idle('slow');
      });
    });

    describe('collapsing', () => {
      test('waiting jobs of one id become one job with the newest data', async () => {
        const seen: unknown[] = [];
        const go = await block('jobs', seen);
        for (const data of ['old', 'newer', 'newest']) await queue.add('jobs', job('same', data));
        expect(await queue.waiting('jobs')).toBe(1);
        go();
        await queue.idle('jobs');
        expect(seen).toEqual(['newest']);
      });

      test('a replaced job keeps its position', async () => {
        const seen: unknown[] = [];
        const go = await block('jobs', seen);
        await queue.add('jobs', job('same', 'old'));
        await queue.add('jobs', job('other', 'other'));
        await queue.add('jobs', job('same', 'new'));
        go();
        await queue.idle('jobs');
        expect(seen).toEqual(['new', 'other']);
      });

      test('jobs of other ids are not replaced', async () => {
        const seen: unknown[] = [];
        const go = await block('jobs', seen);
        await queue.add('jobs', job('a'));
        await queue.add('jobs', job('b'));
        go();
        await queue.idle('jobs');
        expect(seen).toEqual(['a', 'b']);
      });

      test('jobs that are added while their id runs make it run once more, with the newest data', async () => {
        const seen: unknown[] = [];
        const started = gate();
        const go = gate();
        await queue.process('jobs', 2, async (data) => {
          seen.push(data);
          started.open();
          await go.opened;
        });
        await queue.add('jobs', job('same', 1));
        await started.opened;
        await queue.add('jobs', job('same', 2));
        await queue.add('jobs', job('same', 3));
        await pause(10);
        expect(seen).toEqual([1]);
        go.open();
        await queue.idle('jobs');
        expect(seen).toEqual([1, 3]);
      });
    });

    describe('failing', () => {
      test('a failed job is retried with exponential backoff until it succeeds', async () => {
        const attempts: number[] = [];
        await queue.process('jobs', 1, async () => {
          attempts.push(performance.now());
          if (attempts.length < 4) throw new Error('not yet');
        });
        await queue.add('jobs', job('job'));
        await queue.idle('jobs');
        const waits = attempts.slice(1).map((at, i) => at - (attempts[i] as number));
        expect(waits).toHaveLength(3);
        waits.forEach((wait, i) => {
          expect(wait).toBeGreaterThanOrEqual(OPTIONS.backoffMs * 2 ** i - 2);
          expect(wait).toBeLessThan(OPTIONS.backoffMs * 2 ** i + 1000);
        });
        expect(await queue.failed('jobs')).toEqual([]);
      });

      test('a job without attempts left is listed as failed, with its reason and their number', async () => {
        let attempts = 0;
        await queue.process('jobs', 1, async () => {
          attempts++;
          throw new Error('the disk\nis full');
        });
        await queue.add('jobs', job('job'));
        await queue.idle('jobs');
        expect(attempts).toBe(OPTIONS.attempts);
        expect(await queue.failed('jobs')).toEqual([
          { id: 'job', reason: 'the disk is full', attempts: OPTIONS.attempts },
        ]);
      });

      test('other jobs run while a job waits for its next attempt', async () => {
        const seen: unknown[] = [];
        let failed = false;
        await queue.process('jobs', 1, async (data) => {
          if (data === 'bad' && !failed) {
            failed = true;
            throw new Error('once');
          }
          seen.push(data);
        });
        await queue.add('jobs', job('bad'));
        await queue.add('jobs', job('good'));
        await queue.idle('jobs');
        expect(seen).toEqual(['good', 'bad']);
      });

      test('a failed job that is added again starts with all attempts and is no longer listed as failed', async () => {
        let broken = true;
        await queue.process('jobs', 1, async () => {
          if (broken) throw new Error('broken');
        });
        await queue.add('jobs', job('job'));
        await queue.idle('jobs');
        expect(await queue.failed('jobs')).toHaveLength(1);
        broken = false;
        await queue.add('jobs', job('job'));
        await queue.idle('jobs');
        expect(await queue.failed('jobs')).toEqual([]);
      });

      test('a job that is added before its next attempt replaces it, and the old data never run again', async () => {
        const seen: unknown[] = [];
        await queue.process('jobs', 1, async (data) => {
          seen.push(data);
          if (data === 'old') throw new Error('once');
        });
        await queue.add('jobs', job('same', 'old'));
        await until(
          'the first attempt has failed',
          async () => seen.length > 0 && (await queue.waiting('jobs')) === 1,
        );
        await queue.add('jobs', job('same', 'new'));
        await queue.idle('jobs');
        await pause(OPTIONS.backoffMs * 2);
        // A slow machine may have come to the next attempt before the new job was added.
        expect(seen.slice(seen.lastIndexOf('old'))).toEqual(['old', 'new']);
      });

      test('a job that is added while its id fails runs as a new job', async () => {
        const seen: unknown[] = [];
        const started = gate();
        const go = gate();
        await queue.process('jobs', 1, async (data) => {
          seen.push(data);
          if (data !== 'old') return;
          started.open();
          await go.opened;
          throw new Error('once');
        });
        await queue.add('jobs', job('same', 'old'));
        await started.opened;
        await queue.add('jobs', job('same', 'new'));
        go.open();
        await queue.idle('jobs');
        expect(seen).toEqual(['old', 'new']);
        expect(await queue.failed('jobs')).toEqual([]);
      });
    });

    describe('running again', () => {
      test('a job runs again after the time that its handler returns, and behind the others', async () => {
        const seen: unknown[] = [];
        const runs: number[] = [];
        const go = gate();
        await queue.process<string>('jobs', 1, async (data) => {
          await go.opened;
          seen.push(data);
          if (data !== 'again') return undefined;
          runs.push(performance.now());
          return [0, 100][runs.length - 1];
        });
        await queue.add('jobs', job('again'));
        await queue.add('jobs', job('other'));
        go.open();
        await queue.idle('jobs');
        expect(seen).toEqual(['again', 'other', 'again', 'again']);
        expect((runs[2] as number) - (runs[1] as number)).toBeGreaterThanOrEqual(98);
        expect(await queue.failed('jobs')).toEqual([]);
      });

      test('one that is added before that time runs at once, and once', async () => {
        const seen: unknown[] = [];
        await queue.process<string>('jobs', 1, async (data) => {
          seen.push(data);
          return data === 'old' ? 60_000 : undefined;
        });
        await queue.add('jobs', job('same', 'old'));
        await until('it waits', async () => seen.length === 1 && (await queue.waiting('jobs')) === 1);
        await queue.add('jobs', job('same', 'new'));
        await queue.idle('jobs');
        expect(seen).toEqual(['old', 'new']);
      });

      test('one that is added while it runs does not wait for that time', async () => {
        const seen: unknown[] = [];
        const started = gate();
        const go = gate();
        await queue.process<string>('jobs', 1, async (data) => {
          seen.push(data);
          if (data !== 'old') return undefined;
          started.open();
          await go.opened;
          return 60_000;
        });
        await queue.add('jobs', job('same', 'old'));
        await started.opened;
        await queue.add('jobs', job('same', 'new'));
        go.open();
        await queue.idle('jobs');
        expect(seen).toEqual(['old', 'new']);
      });
    });

    describe('idle', () => {
      test('resolves at once without jobs', async () => {
        await queue.idle('jobs');
        await queue.process('jobs', 1, async () => {});
        await queue.idle('jobs');
        expect(await queue.waiting('jobs')).toBe(0);
      });

      test('waits for running and waiting jobs, for reattempts and for jobs that jobs add', async () => {
        const seen: string[] = [];
        let failed = false;
        await queue.process<string>('jobs', 1, async (data) => {
          await pause(5);
          if (data === 'retried' && !failed) {
            failed = true;
            throw new Error('once');
          }
          if (data === 'parent') await queue.add('jobs', job('child'));
          seen.push(data);
        });
        await queue.add('jobs', job('parent'));
        await queue.add('jobs', job('retried'));
        await queue.idle('jobs');
        expect([...seen].sort()).toEqual(['child', 'parent', 'retried']);
        expect(await queue.waiting('jobs')).toBe(0);
      });

      test('resolves for all callers', async () => {
        await queue.process('jobs', 1, () => pause(10));
        await queue.add('jobs', job('job'));
        await Promise.all([queue.idle('jobs'), queue.idle('jobs'), queue.idle('jobs')]);
      });

      test('does not wait for other queues', async () => {
        await queue.add('other', job('not processed'));
        await queue.idle('jobs');
        expect(await queue.waiting('other')).toBe(1);
      });
    });

    describe('close', () => {
      test('waits for running jobs and starts no other', async () => {
        const seen: unknown[] = [];
        const started = gate();
        await queue.process('jobs', 1, async (data) => {
          started.open();
          await pause(30);
          seen.push(data);
        });
        await queue.add('jobs', job('running'));
        await queue.add('jobs', job('waiting'));
        await started.opened;
        await queue.close();
        expect(seen).toEqual(['running']);
        await pause(40);
        expect(seen).toEqual(['running']);
      });

      test('reattempts nothing afterwards', async () => {
        let attempts = 0;
        await queue.process('jobs', 1, async () => {
          attempts++;
          throw new Error('again');
        });
        await queue.add('jobs', job('job'));
        await until('it failed once', () => attempts === 1);
        await queue.close();
        const before = attempts;
        await pause(OPTIONS.backoffMs * 3);
        expect(attempts).toBe(before);
      });

      test('rejects callers of idle when jobs are left', async () => {
        const started = gate();
        await queue.process('jobs', 1, async () => {
          started.open();
          await pause(20);
        });
        await queue.add('jobs', job('running'));
        await queue.add('jobs', job('left'));
        await started.opened;
        const rejected = expect(queue.idle('jobs')).rejects.toThrow(/closed/);
        await queue.close();
        await rejected;
      });

      test('rejects callers of idle when a job that runs was added again', async () => {
        const started = gate();
        await queue.process('jobs', 1, async () => {
          started.open();
          await pause(20);
        });
        await queue.add('jobs', job('job'));
        await started.opened;
        await queue.add('jobs', job('job'));
        const rejected = expect(queue.idle('jobs')).rejects.toThrow(/closed/);
        await queue.close();
        await rejected;
      });
    });
  });
}
