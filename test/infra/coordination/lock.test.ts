import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Lease, Locks } from '../../../infra/coordination/lock.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { pause } from '../ports/opened.ts';

const TTL_MS = 60_000;
let now: number;
let keys: EmbeddedKeyValue;
beforeEach(() => {
  now = 1_700_000_000_000;
  const clock = { now: () => now };
  keys = new EmbeddedKeyValue(clock, clock);
});
afterEach(() => keys.close());

describe('a lease', () => {
  test('is acquired once where the group has room for one, and again after its release', async () => {
    const lease = await Lease.acquire(keys, 'lock', TTL_MS, 1);
    expect(await Lease.acquire(keys, 'lock', TTL_MS, 1)).toBeNull();
    expect(await lease?.isHeld()).toBe(true);
    await lease?.ensure();
    expect(await lease?.release()).toBe(true);
    expect(await (await Lease.acquire(keys, 'lock', TTL_MS, 1))?.release()).toBe(true);
  });

  test('that expired is lost, and its holder notices', async () => {
    const lease = await Lease.acquire(keys, 'lock', TTL_MS, 1);
    now += TTL_MS + 1;
    const other = await Lease.acquire(keys, 'lock', TTL_MS, 1);
    expect(await lease?.isHeld()).toBe(false);
    await expect(lease?.ensure()).rejects.toThrow('the lock lock was lost');
    expect(await lease?.release()).toBe(false);
    expect(await other?.release()).toBe(true);
  });

  test('outlives a clock that is set ahead in the middle of its work', async () => {
    const stepped = new EmbeddedKeyValue({ now: () => now });
    const lease = await Lease.acquire(stepped, 'lock', TTL_MS, 1);
    now += 100 * TTL_MS;
    expect(await Lease.acquire(stepped, 'lock', TTL_MS, 1)).toBeNull();
    await lease?.ensure();
    expect(await lease?.release()).toBe(true);
    await stepped.close();
  });

  test('is lost when keyValue is emptied', async () => {
    const lease = await Lease.acquire(keys, 'loading', TTL_MS);
    await keys.delete('loading');
    await expect(lease?.ensure()).rejects.toThrow('was lost');
    expect(await lease?.release()).toBe(false);
  });

  test('stays lost when its group is joined again', async () => {
    const lease = await Lease.acquire(keys, 'lock', TTL_MS, 1);
    await keys.delete('lock');
    expect(await lease?.isHeld()).toBe(false);
    const other = await Lease.acquire(keys, 'lock', TTL_MS, 1);
    expect(await lease?.isHeld()).toBe(false);
    expect(await other?.isHeld()).toBe(true);
    await Promise.all([lease?.release(), other?.release()]);
  });

  test('is refused for a write when the answer took half of its time', async () => {
    const slow = new EmbeddedKeyValue({ now: () => now });
    const lease = await Lease.acquire(slow, 'lock', 100, 1);
    const prolong = slow.prolong.bind(slow);
    slow.prolong = async (...args) => {
      await pause(60);
      return prolong(...args);
    };
    await expect(lease?.ensure()).rejects.toThrow('was lost');
    await lease?.release();
    await slow.close();
  });

  test('is prolonged while its process lives', async () => {
    vi.useFakeTimers();
    const keys = new EmbeddedKeyValue({ now: () => Date.now() });
    const lease = await Lease.acquire(keys, 'lock', 500, 1);
    await vi.advanceTimersByTimeAsync(1200);
    expect(await Lease.acquire(keys, 'lock', 500, 1)).toBeNull();
    expect(await lease?.release()).toBe(true);
    await keys.close();
    vi.useRealTimers();
  });
});

describe('locks', () => {
  const open = (waitMsMax?: number) =>
    new Locks(keys, { ttlMs: TTL_MS, ...(waitMsMax === undefined ? {} : { waitMsMax }) });

  test('run work of one name one at a time, in one process and over several', async () => {
    const processes = [open(), open()] as const;
    let running = 0;
    let runningMax = 0;
    const ends = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        processes[i % 2 === 0 ? 0 : 1].run('name', async (lease) => {
          runningMax = Math.max(runningMax, ++running);
          await pause(5);
          running--;
          return lease.isHeld();
        }),
      ),
    );
    expect(runningMax).toBe(1);
    expect(ends).toEqual(Array.from({ length: 10 }, () => true));
  });

  test('keep the order of the calls within a process', async () => {
    const locks = open();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => locks.run('name', async () => void order.push(i))),
    );
    expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test('of different names do not wait for each other', async () => {
    const locks = open();
    expect(await locks.run('one', () => locks.run('other', async () => 'done'))).toBe('done');
  });

  test('refuse a write after the lock was lost', async () => {
    const write = open().run('name', async (lease) => {
      now += TTL_MS + 1;
      await lease.ensure();
    });
    await expect(write).rejects.toThrow('the lock locks/name was lost before its work was done');
  });

  test('leave the lock of the next holder alone when an old lease ends', async () => {
    let next: Lease | null = null;
    await open().run('name', async () => {
      now += TTL_MS + 1;
      next = await Lease.acquire(keys, 'locks/name', TTL_MS, 1);
    });
    expect(await (next as Lease | null)?.release()).toBe(true);
  });

  test('are released when the work fails', async () => {
    const locks = open();
    await expect(locks.run('name', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await open().run('name', async () => 1)).toBe(1);
  });

  test('throw when another process holds the lock for too long', async () => {
    const other = await Lease.acquire(keys, 'locks/name', TTL_MS, 1);
    await expect(open(20).run('name', async () => 1)).rejects.toThrow('is held for too long');
    await other?.release();
  });
});
