import { describe, expect, test } from 'vitest';
import { Admission, type AdmissionLimits, EVERYBODY } from '../../../infra/coordination/admission.ts';
import { memoizeFor } from '../../../infra/coordination/memoize-for.ts';
import { SharedWork } from '../../../infra/coordination/shared-work.ts';

const LIMITS = { runningMax: 2, waitingMax: 8, waitMsMax: 60_000 };
const { signal: STAYS } = new AbortController();

/** Work that ends when the test says so, in the order in which it began. */
function controlled(admission: Admission) {
  const begun: { name: string; end: () => void }[] = [];
  const run = (caller: string, name = caller, signal: AbortSignal = STAYS) =>
    admission.run(
      [caller],
      signal,
      () => new Promise<string>((resolve) => void begun.push({ name, end: () => resolve(name) })),
    );
  return { begun, run, names: () => begun.map(({ name }) => name) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('admission', () => {
  test('one caller never has all places, and who has used less time is next', async () => {
    const { begun, run, names } = controlled(new Admission(LIMITS));
    const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1'), run('c', 'c1')];
    await settled();
    expect(names()).toEqual(['a1', 'b1']);
    for (let i = 0; i < all.length; i++) {
      begun[i]?.end();
      await settled();
    }
    expect(names()).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1']);
  });

  test('heavy callers together have half of the places, until their use is long ago', async () => {
    let now = 0;
    const { begun, run, names } = controlled(new Admission({ ...LIMITS, runningMax: 4 }, () => now));
    const heavy = ['a', 'b', 'c'].map((caller) => run(caller));
    await settled();
    now += 5000;
    for (const { end } of begun) end();
    await Promise.all(heavy);
    for (const caller of ['a', 'b', 'c', 'd']) void run(caller, `${caller} again`);
    await settled();
    expect(names().slice(3)).toEqual(['a again', 'b again', 'd again']);
    now += 60_000;
    begun.at(-1)?.end();
    await settled();
    expect(names().slice(6)).toEqual(['c again']);
  });

  test('work of a heavy caller, and all but the first that a caller has at once, lets others go first', async () => {
    let now = 0;
    const admission = new Admission({ ...LIMITS, runningMax: 4 }, () => now);
    const ask = (caller: string) =>
      admission.run([caller], STAYS, async (letsOthersFirst) => {
        now += 1200;
        return letsOthersFirst;
      });
    const together = (caller: string) => Promise.all([ask(caller), ask(caller)]);
    expect(await together('a')).toEqual([false, true]);
    expect(await together('a')).toEqual([false, true]);
    expect(await ask('a')).toBe(true);
    expect(await ask(EVERYBODY)).toBe(false);
    now += 60_000;
    expect(await ask('a')).toBe(false);
  });

  /** An admission whose callers have used some time, which passes when the test says so. */
  async function usedBefore(limits: Partial<AdmissionLimits>, used: Readonly<Record<string, number>>) {
    let now = 0;
    const pass = (ms: number) => {
      now += ms;
    };
    const admission = new Admission({ ...LIMITS, ...limits }, () => now);
    for (const [caller, ms] of Object.entries(used)) {
      await admission.run([caller], STAYS, async () => pass(ms));
    }
    return { admission, pass, ...controlled(admission) };
  }

  test('work that several wait for has the best of their places, and they share its time', async () => {
    const { admission, pass, begun, run, names } = await usedBefore(
      { runningMax: 1 },
      { heavy: 500, middle: 100 },
    );
    const first = run('other');
    const callers = new Set(['heavy']);
    const shared = admission.run(callers, STAYS, async () => {
      begun.push({ name: 'shared', end: () => undefined });
      pass(180);
    });
    const middle = run('middle');
    callers.add('light');
    begun[0]?.end();
    await Promise.all([first, shared]);
    await settled();
    expect(names()).toEqual(['other', 'shared', 'middle']);
    // Half of the time is less than the other one has used.
    const all = [run('middle', 'middle again'), run('light')];
    for (const at of [2, 3, 4]) {
      begun[at]?.end();
      await settled();
    }
    await Promise.all([middle, ...all]);
    expect(names().slice(3)).toEqual(['light', 'middle again']);
  });

  test('work that waits for the place of a heavy caller begins when a light one joins', async () => {
    const { admission, begun, run } = await usedBefore({}, { a: 5000, b: 5000 });
    const first = run('a');
    const callers = new Set(['b']);
    let hasBegun = false;
    const shared = admission.run(callers, STAYS, async () => {
      hasBegun = true;
    });
    callers.add('light');
    expect(hasBegun).toBe(false);
    admission.refill();
    await shared;
    begun[0]?.end();
    await first;
  });

  test('what is read for everybody is next whatever it has used, and finds room when the queue is full', async () => {
    const { begun, run, names } = await usedBefore({ runningMax: 1, waitingMax: 2 }, { [EVERYBODY]: 5000 });
    const all = [run('a'), run('b'), run('c'), run(EVERYBODY)];
    for (let i = 0; i < all.length; i++) {
      await settled();
      begun[i]?.end();
    }
    await Promise.all(all);
    expect(names()).toEqual(['a', EVERYBODY, 'b', 'c']);
  });

  test('work above the limits of the queue is refused, of one caller before that of others', async () => {
    const admission = new Admission(LIMITS);
    const { run, names } = controlled(admission);
    const waiting = [run('a'), run('b'), run('a'), run('a')];
    await expect(run('a')).rejects.toMatchObject({ code: 'store_busy' });
    for (const caller of ['c', 'd', 'e', 'f', 'g', 'h']) waiting.push(run(caller));
    await expect(run('i')).rejects.toMatchObject({ code: 'store_busy' });
    expect(admission.waiting).toBe(8);
    expect(names()).toEqual(['a', 'b']);
  });

  test('work that waits too long is refused, and leaves no trace', async () => {
    const admission = new Admission({ ...LIMITS, runningMax: 1, waitMsMax: 1 });
    const { begun, run } = controlled(admission);
    const first = run('a');
    await expect(run('b')).rejects.toMatchObject({ code: 'store_busy' });
    expect(admission.waiting).toBe(0);
    begun[0]?.end();
    await first;
    const next = run('b');
    await settled();
    begun[1]?.end();
    expect(await next).toBe('b');
  });

  test('work whose caller leaves is not begun', async () => {
    const admission = new Admission({ ...LIMITS, runningMax: 1 });
    const { begun, run, names } = controlled(admission);
    const leave = new AbortController();
    const all = [run('a'), run('b', 'left', leave.signal), run('c')];
    await settled();
    leave.abort(new Error('gone'));
    await expect(all[1]).rejects.toThrow('gone');
    begun[0]?.end();
    await settled();
    begun[1]?.end();
    expect(await Promise.all([all[0], all[2]])).toEqual(['a', 'c']);
    expect(names()).toEqual(['a', 'c']);
    await expect(run('d', 'd', leave.signal)).rejects.toThrow('gone');
  });

  test('a failure frees the place', async () => {
    const admission = new Admission({ ...LIMITS, runningMax: 1 });
    for (let i = 0; i < 3; i++) {
      await expect(admission.run(['a'], STAYS, () => Promise.reject(new Error('broken')))).rejects.toThrow();
    }
    expect(await admission.run(['a'], STAYS, async () => 1)).toBe(1);
  });
});

describe('shared work', () => {
  const caller = () => ({ signal: STAYS });

  test('runs once for all who ask at the same time, and again for who asks later', async () => {
    const shared = new SharedWork<number>();
    let runs = 0;
    const ask = () => shared.run('key', caller(), async () => ++runs);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
    expect(await ask()).toBe(2);
    const failing = () => shared.run('bad', caller(), () => Promise.reject(new Error(`run ${++runs}`)));
    const [one, other] = await Promise.allSettled([failing(), failing()]);
    expect(one).toEqual(other);
    await expect(failing()).rejects.toThrow('run 4');
  });

  test('is aborted when the last of them leaves, and begun anew for who comes then', async () => {
    const shared = new SharedWork<string>();
    const callers = [new AbortController(), new AbortController()];
    const seen: AbortSignal[] = [];
    const endless = (signal: AbortSignal) => {
      seen.push(signal);
      return new Promise<string>(() => undefined);
    };
    const asked = callers.map(({ signal }) => shared.run('key', { signal }, endless));
    callers[0]?.abort(new Error('first left'));
    await expect(asked[0]).rejects.toThrow('first left');
    expect(seen.map(({ aborted }) => aborted)).toEqual([false]);
    callers[1]?.abort(new Error('last left'));
    await expect(asked[1]).rejects.toThrow('last left');
    expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
    expect(await shared.run('key', caller(), async () => 'anew')).toBe('anew');
  });
});

describe('a recent value', () => {
  test('is read once for all who ask while it is read', async () => {
    let reads = 0;
    const read = memoizeFor(60_000, async () => ++reads);
    expect(await Promise.all([read(), read()])).toEqual([1, 1]);
    expect(await read()).toBe(1);
    const always = memoizeFor(0, async () => ++reads);
    expect([await always(), await always()]).toEqual([2, 3]);
  });
});
