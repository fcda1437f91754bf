import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { alone, Lease } from '../../../infra/coordination/lease.ts';
import { SharedSequence, sequenceAt } from '../../../infra/coordination/sequence.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { pause } from '../ports/opened.ts';

const LONG_MS = 60_000;
let now: number;
let keys: EmbeddedKeyValue;
beforeEach(() => {
  now = 1_700_000_000_000;
  keys = new EmbeddedKeyValue({ now: () => now });
});
afterEach(() => keys.close());

describe('a lease', () => {
  test('is taken once where there is room for one, and free again after its end', async () => {
    const mine = await Lease.take(keys, 'lock', LONG_MS, 1);
    expect(await Lease.take(keys, 'lock', LONG_MS, 1)).toBeNull();
    expect(await mine?.isHeld()).toBe(true);
    expect(await mine?.end()).toBe(true);
    expect(await (await Lease.take(keys, 'lock', LONG_MS, 1))?.end()).toBe(true);
  });

  test('whose time ran out is lost, and its holder is told', async () => {
    const mine = await Lease.take(keys, 'lock', LONG_MS, 1);
    now += LONG_MS + 1;
    const other = await Lease.take(keys, 'lock', LONG_MS, 1);
    expect(await mine?.isHeld()).toBe(false);
    expect(await mine?.end()).toBe(false);
    expect(await other?.end()).toBe(true);
  });

  test('that was forgotten with everything else is lost', async () => {
    const mine = await Lease.take(keys, 'loading', LONG_MS);
    for (const member of await keys.members('loading')) await keys.leave('loading', member);
    expect(await mine?.end()).toBe(false);
  });

  test('prolongs itself for as long as its process lives', async () => {
    const real = new EmbeddedKeyValue({ now: () => Date.now() });
    const mine = await Lease.take(real, 'lock', 80, 1);
    await pause(300);
    expect(await Lease.take(real, 'lock', 80, 1)).toBeNull();
    expect(await mine?.end()).toBe(true);
    await real.close();
  });
});

describe('alone', () => {
  test('runs one after the other, and tells that nobody came between', async () => {
    let running = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++running);
      await pause(10);
      running--;
      return 'done';
    };
    const ends = await Promise.all(Array.from({ length: 5 }, () => alone(keys, 'lock', LONG_MS, work)));
    expect(most).toBe(1);
    expect(ends).toEqual(Array.from({ length: 5 }, () => ({ result: 'done', wasAlone: true })));
  });

  test('says when the lock was lost meanwhile', async () => {
    const end = await alone(keys, 'lock', LONG_MS, async () => {
      now += LONG_MS + 1;
    });
    expect(end.wasAlone).toBe(false);
  });

  test('lets go when the work fails', async () => {
    await expect(alone(keys, 'lock', LONG_MS, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect((await alone(keys, 'lock', LONG_MS, async () => 1)).result).toBe(1);
  });
});

describe('the numbers that processes share', () => {
  const clock = (offset: number) => ({ now: () => now + offset });
  const open = (newest = 0n, offset = 0) => new SharedSequence(keys, clock(offset), async () => newest);

  test('grow over all of them, whatever their clocks say', async () => {
    const [early, late] = [open(0n, -50_000), open(0n, 50_000)];
    const taken: bigint[] = [];
    for (let i = 0; i < 20; i++) taken.push(await (i % 2 === 0 ? late : early).take(1 + (i % 3)));
    expect(taken).toEqual([...taken].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(taken).size).toBe(20);
  });

  test('begin above the newest of the store, also when they were forgotten and the clock went back', async () => {
    const newest = sequenceAt(now + 1_000_000);
    const process = open(newest);
    expect(await process.take(1)).toBe(newest + 1n);
    await keys.delete('sequence');
    now -= 500_000;
    expect(await process.take(1)).toBeGreaterThan(newest + 1n);
    await keys.delete('sequence');
    expect(await open(newest + 7n).take(1)).toBeGreaterThan(newest + 7n);
  });
});
