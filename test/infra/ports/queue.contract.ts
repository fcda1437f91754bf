import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Job, Queue } from '../../../infra/ports.ts';
import { gate, type Opened, pause, until } from './opened.ts';

export interface RetryRules {
  readonly attempts: number;
  readonly backoffMs: number;
}

const RULES: RetryRules = { attempts: 4, backoffMs: 40 };
const job = (id: string, data: unknown = id, priority = 1): Job<unknown> => ({ id, data, priority });

export function queueContract(name: string, open: (rules: RetryRules) => Promise<Opened<Queue>>): void {
  describe(`queue: ${name}`, () => {
    let opened: Opened<Queue>;
    let queue: Queue;
    beforeEach(async () => {
      opened = await open(RULES);
      queue = opened.port;
    });
    afterEach(() => opened.close());

    /** Lets jobs be added before any runs: the first one holds the only place. */
    async function hold(lane: string, seen: unknown[]): Promise<() => void> {
      const held = gate();
      await queue.process(lane, 1, async (data) => {
        if (data === 'holder') await held.opened;
        else seen.push(data);
      });
      await queue.add(lane, job('holder', 'holder', 0));
      await until('the holder runs', async () => (await queue.waiting(lane)) === 0);
      return held.open;
    }

    describe('running', () => {
      test('a job reaches the handler with its data, also one that was added before there was a handler', async () => {
        const seen: unknown[] = [];
        await queue.add('lane', job('early', { day: '2026-01-01', of: [1, 2] }));
        await queue.process('lane', 1, async (data) => void seen.push(data));
        await queue.add('lane', job('late', 'plain'));
        await queue.idle('lane');
        expect(seen).toEqual([{ day: '2026-01-01', of: [1, 2] }, 'plain']);
      });

      test('lower priorities run first, and jobs of the same priority in order of arrival', async () => {
        const seen: unknown[] = [];
        const go = await hold('lane', seen);
        await queue.add('lane', job('c', 'c', 5));
        await queue.add('lane', job('a', 'a', 2));
        await queue.add('lane', job('d', 'd', 5));
        await queue.add('lane', job('b', 'b', 2));
        await queue.add('lane', job('first', 'first', 1));
        go();
        await queue.idle('lane');
        expect(seen).toEqual(['first', 'a', 'b', 'c', 'd']);
      });

      test.each([1, 3])('at most %i of a lane run at once, and as many do', async (concurrency) => {
        let running = 0;
        let most = 0;
        await queue.process('lane', concurrency, async () => {
          most = Math.max(most, ++running);
          await pause(10);
          running--;
        });
        for (let i = 0; i < 9; i++) await queue.add('lane', job(String(i)));
        await queue.idle('lane');
        expect(most).toBe(concurrency);
      });

      test('lanes do not wait for each other', async () => {
        const held = gate();
        const seen: unknown[] = [];
        await queue.process('slow', 1, () => held.opened);
        await queue.process('quick', 1, async (data) => void seen.push(data));
        await queue.add('slow', job('a'));
        await queue.add('quick', job('b'));
        await queue.idle('quick');
        expect(seen).toEqual(['b']);
        held.open();
        await queue.idle('slow');
      });
    });

    describe('collapsing', () => {
      test('jobs of one id that wait are one job with the newest data', async () => {
        const seen: unknown[] = [];
        const go = await hold('lane', seen);
        for (const data of ['old', 'newer', 'newest']) await queue.add('lane', job('same', data));
        expect(await queue.waiting('lane')).toBe(1);
        go();
        await queue.idle('lane');
        expect(seen).toEqual(['newest']);
      });

      test('a job that collapses keeps the best place in the line', async () => {
        const seen: unknown[] = [];
        const go = await hold('lane', seen);
        await queue.add('lane', job('same', 'old', 3));
        await queue.add('lane', job('other', 'other', 3));
        await queue.add('lane', job('same', 'new', 5));
        go();
        await queue.idle('lane');
        expect(seen).toEqual(['new', 'other']);
      });

      test('jobs of other ids are not touched by it', async () => {
        const seen: unknown[] = [];
        const go = await hold('lane', seen);
        await queue.add('lane', job('a'));
        await queue.add('lane', job('b'));
        go();
        await queue.idle('lane');
        expect(seen).toEqual(['a', 'b']);
      });

      test('jobs added during the run of their id make it run once more, with the newest data', async () => {
        const seen: unknown[] = [];
        const started = gate();
        const go = gate();
        await queue.process('lane', 2, async (data) => {
          seen.push(data);
          started.open();
          await go.opened;
        });
        await queue.add('lane', job('same', 1));
        await started.opened;
        await queue.add('lane', job('same', 2));
        await queue.add('lane', job('same', 3));
        await pause(10);
        expect(seen).toEqual([1]);
        go.open();
        await queue.idle('lane');
        expect(seen).toEqual([1, 3]);
      });
    });

    describe('failing', () => {
      test('a failed try is made again, each time after twice the wait, until it works', async () => {
        const tries: number[] = [];
        await queue.process('lane', 1, async () => {
          tries.push(performance.now());
          if (tries.length < 4) throw new Error('not yet');
        });
        await queue.add('lane', job('job'));
        await queue.idle('lane');
        const waits = tries.slice(1).map((at, i) => at - (tries[i] as number));
        expect(waits).toHaveLength(3);
        waits.forEach((wait, i) => {
          expect(wait).toBeGreaterThanOrEqual(RULES.backoffMs * 2 ** i - 2);
          expect(wait).toBeLessThan(RULES.backoffMs * 2 ** i + 1000);
        });
        expect(await queue.failed('lane')).toEqual([]);
      });

      test('a job that used up its tries is kept with its reason and their number', async () => {
        let tries = 0;
        await queue.process('lane', 1, async () => {
          tries++;
          throw new Error('the disk\nis full');
        });
        await queue.add('lane', job('job'));
        await queue.idle('lane');
        expect(tries).toBe(RULES.attempts);
        expect(await queue.failed('lane')).toEqual([
          { id: 'job', reason: 'the disk is full', attempts: RULES.attempts },
        ]);
      });

      test('while a job waits for its next try the others run', async () => {
        const seen: unknown[] = [];
        let failed = false;
        await queue.process('lane', 1, async (data) => {
          if (data === 'bad' && !failed) {
            failed = true;
            throw new Error('once');
          }
          seen.push(data);
        });
        await queue.add('lane', job('bad'));
        await queue.add('lane', job('good'));
        await queue.idle('lane');
        expect(seen).toEqual(['good', 'bad']);
      });

      test('a failed job that is added again starts afresh and is no longer among the failed', async () => {
        let broken = true;
        await queue.process('lane', 1, async () => {
          if (broken) throw new Error('broken');
        });
        await queue.add('lane', job('job'));
        await queue.idle('lane');
        expect(await queue.failed('lane')).toHaveLength(1);
        broken = false;
        await queue.add('lane', job('job'));
        await queue.idle('lane');
        expect(await queue.failed('lane')).toEqual([]);
      });

      test('a job that is added while its next try is due is still one job, and its old data never run', async () => {
        const seen: unknown[] = [];
        await queue.process('lane', 1, async (data) => {
          seen.push(data);
          if (data === 'old') throw new Error('once');
        });
        await queue.add('lane', job('same', 'old'));
        await until(
          'the first try is over',
          async () => seen.length === 1 && (await queue.waiting('lane')) === 1,
        );
        await queue.add('lane', job('same', 'new'));
        await queue.idle('lane');
        await pause(RULES.backoffMs * 2);
        expect(seen).toEqual(['old', 'new']);
      });

      test('an addition during a run that fails is tried as a new job', async () => {
        const seen: unknown[] = [];
        const started = gate();
        const go = gate();
        await queue.process('lane', 1, async (data) => {
          seen.push(data);
          if (data !== 'old') return;
          started.open();
          await go.opened;
          throw new Error('once');
        });
        await queue.add('lane', job('same', 'old'));
        await started.opened;
        await queue.add('lane', job('same', 'new'));
        go.open();
        await queue.idle('lane');
        expect(seen).toEqual(['old', 'new']);
        expect(await queue.failed('lane')).toEqual([]);
      });
    });

    describe('idle', () => {
      test('resolves at once when there is nothing to do', async () => {
        await queue.idle('lane');
        await queue.process('lane', 1, async () => {});
        await queue.idle('lane');
        expect(await queue.waiting('lane')).toBe(0);
      });

      test('waits for what runs, what waits, what is to be tried again and what a job adds', async () => {
        const seen: string[] = [];
        let failed = false;
        await queue.process<string>('lane', 1, async (data) => {
          await pause(5);
          if (data === 'retried' && !failed) {
            failed = true;
            throw new Error('once');
          }
          if (data === 'parent') await queue.add('lane', job('child'));
          seen.push(data);
        });
        await queue.add('lane', job('parent'));
        await queue.add('lane', job('retried'));
        await queue.idle('lane');
        expect([...seen].sort()).toEqual(['child', 'parent', 'retried']);
        expect(await queue.waiting('lane')).toBe(0);
      });

      test('resolves for all who wait for it', async () => {
        await queue.process('lane', 1, () => pause(10));
        await queue.add('lane', job('job'));
        await Promise.all([queue.idle('lane'), queue.idle('lane'), queue.idle('lane')]);
      });

      test('does not wait for other lanes', async () => {
        await queue.add('other', job('nobody runs it'));
        await queue.idle('lane');
        expect(await queue.waiting('other')).toBe(1);
      });
    });

    describe('close', () => {
      test('waits for the jobs that run and starts no other', async () => {
        const seen: unknown[] = [];
        const started = gate();
        await queue.process('lane', 1, async (data) => {
          started.open();
          await pause(30);
          seen.push(data);
        });
        await queue.add('lane', job('running'));
        await queue.add('lane', job('waiting'));
        await started.opened;
        await queue.close();
        expect(seen).toEqual(['running']);
        await pause(40);
        expect(seen).toEqual(['running']);
      });

      test('tries nothing again after it', async () => {
        let tries = 0;
        await queue.process('lane', 1, async () => {
          tries++;
          throw new Error('again');
        });
        await queue.add('lane', job('job'));
        await until('it failed once', () => tries === 1);
        await queue.close();
        const before = tries;
        await pause(RULES.backoffMs * 3);
        expect(tries).toBe(before);
      });

      test('lets nobody wait for ever: who waits for idle is told that work was left', async () => {
        const started = gate();
        await queue.process('lane', 1, async () => {
          started.open();
          await pause(20);
        });
        await queue.add('lane', job('running'));
        await queue.add('lane', job('left'));
        await started.opened;
        const told = expect(queue.idle('lane')).rejects.toThrow(/closed/);
        await queue.close();
        await told;
      });
    });
  });
}
