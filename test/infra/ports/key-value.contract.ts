import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KeyValue } from '../../../infra/ports.ts';
import type { Opened } from './opened.ts';

export interface OpenedKeyValue extends Opened<KeyValue> {
  /** Advances the clock of the test, or waits for a real one. */
  pass(ms: number): Promise<void>;
}

/** A lifetime that is short enough to wait for. */
const TTL_MS = 400;
/** One that is still left when a busy machine lets a test wait. */
const LONG_MS = 2000;

export function keyValueContract(name: string, open: () => Promise<OpenedKeyValue>): void {
  describe(`key-value: ${name}`, () => {
    let opened: OpenedKeyValue;
    let keys: KeyValue;
    beforeEach(async () => {
      opened = await open();
      keys = opened.port;
    });
    afterEach(() => opened.close());

    describe('values', () => {
      test('a key that was never set is null', async () => {
        expect(await keys.get('nothing')).toBeNull();
        expect(await keys.take('nothing')).toBeNull();
      });

      test.each(['', '0', ' spaced ', 'null', '{"a":1}', 'ünïcödé 🦀', 'a\nb\r\n', 'nul\0inside', "'; DROP"])(
        'returns %j unchanged',
        async (value) => {
          expect(await keys.set('key', value)).toBe(true);
          expect(await keys.get('key')).toBe(value);
        },
      );

      test('keys that differ in one character are different', async () => {
        for (const key of ['a', 'A', 'a ', 'a:b', 'a/b', '__proto__', 'constructor'])
          await keys.set(key, key);
        for (const key of ['a', 'A', 'a ', 'a:b', 'a/b', '__proto__', 'constructor']) {
          expect(await keys.get(key)).toBe(key);
        }
      });

      test('a second set replaces the value and its lifetime', async () => {
        await keys.set('key', 'old', { ttlMs: TTL_MS });
        await keys.set('key', 'new');
        await opened.pass(TTL_MS + 50);
        expect(await keys.get('key')).toBe('new');
      });

      test('delete removes a key, and ignores one that does not exist', async () => {
        await keys.set('key', 'value');
        await keys.delete('key');
        await keys.delete('key');
        expect(await keys.get('key')).toBeNull();
      });
    });

    describe('onlyIfAbsent', () => {
      test('sets a free key and leaves a taken one as it is', async () => {
        expect(await keys.set('key', 'first', { onlyIfAbsent: true })).toBe(true);
        expect(await keys.set('key', 'second', { onlyIfAbsent: true })).toBe(false);
        expect(await keys.get('key')).toBe('first');
      });

      test('a refused set leaves the lifetime as it was', async () => {
        await keys.set('key', 'first', { ttlMs: TTL_MS });
        await keys.set('key', 'second', { ttlMs: 100 * TTL_MS, onlyIfAbsent: true });
        await opened.pass(TTL_MS + 50);
        expect(await keys.get('key')).toBeNull();
      });

      test('of 100 concurrent callers one gets the key', async () => {
        const won = await Promise.all(
          Array.from({ length: 100 }, (_, i) => keys.set('claim', String(i), { onlyIfAbsent: true })),
        );
        expect(won.filter(Boolean)).toHaveLength(1);
        expect(await keys.get('claim')).toBe(String(won.indexOf(true)));
      });

      test('an expired key can be set again', async () => {
        await keys.set('key', 'first', { ttlMs: TTL_MS });
        await opened.pass(TTL_MS + 50);
        expect(await keys.set('key', 'second', { onlyIfAbsent: true })).toBe(true);
        expect(await keys.get('key')).toBe('second');
      });
    });

    describe('lifetime', () => {
      test('a key exists until it expires, for every reader', async () => {
        await keys.set('key', 'value', { ttlMs: TTL_MS });
        await opened.pass(TTL_MS / 4);
        expect(await keys.get('key')).toBe('value');
        await opened.pass(TTL_MS);
        expect(await keys.get('key')).toBeNull();
        expect(await keys.take('key')).toBeNull();
      });

      test('reading does not prolong it', async () => {
        await keys.set('key', 'value', { ttlMs: TTL_MS });
        for (let i = 0; i < 4; i++) {
          await opened.pass(TTL_MS / 3);
          await keys.get('key');
        }
        expect(await keys.get('key')).toBeNull();
      });
    });

    describe('take', () => {
      test('returns the value once', async () => {
        await keys.set('code', 'grant');
        expect(await keys.take('code')).toBe('grant');
        expect(await keys.take('code')).toBeNull();
        expect(await keys.get('code')).toBeNull();
      });

      test('of 100 concurrent callers one gets the value', async () => {
        await keys.set('code', 'grant');
        const taken = await Promise.all(Array.from({ length: 100 }, () => keys.take('code')));
        expect(taken.filter((value) => value !== null)).toEqual(['grant']);
      });
    });

    describe('increment', () => {
      test('starts at zero, adds and returns the sum', async () => {
        expect(await keys.increment('count', 1, TTL_MS)).toBe(1);
        expect(await keys.increment('count', 41, TTL_MS)).toBe(42);
        expect(await keys.get('count')).toBe('42');
      });

      test('counts 200 concurrent additions, each with its own sum', async () => {
        const sums = await Promise.all(Array.from({ length: 200 }, () => keys.increment('count', 1, 60_000)));
        expect([...sums].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
      });

      test('the counter expires by its first addition; later ones do not prolong it', async () => {
        await keys.increment('window', 1, TTL_MS);
        // A wait that is too long on a busy machine still ends before the counter does.
        await opened.pass(TTL_MS * 0.3);
        expect(await keys.increment('window', 1, TTL_MS)).toBe(2);
        await opened.pass(TTL_MS * 0.8);
        expect(await keys.increment('window', 1, TTL_MS)).toBe(1);
      });

      test('counters are independent', async () => {
        await keys.increment('one', 5, TTL_MS);
        expect(await keys.increment('other', 1, TTL_MS)).toBe(1);
      });
    });

    describe('reserve', () => {
      const FLOOR = 2n ** 61n + 1n;

      test('returns null before a first number is set', async () => {
        expect(await keys.reserve('sequence', 1, FLOOR)).toBeNull();
        expect(await keys.get('sequence')).toBeNull();
      });

      test('returns consecutive numbers beyond the precision of a double', async () => {
        await keys.set('sequence', String(FLOOR), { onlyIfAbsent: true });
        expect(await keys.reserve('sequence', 3, 0n)).toBe(FLOOR);
        expect(await keys.reserve('sequence', 1, 0n)).toBe(FLOOR + 3n);
      });

      test('rises to the requested minimum and never decreases', async () => {
        await keys.set('sequence', '99');
        expect(await keys.reserve('sequence', 2, FLOOR)).toBe(FLOOR);
        expect(await keys.reserve('sequence', 2, 100n)).toBe(FLOOR + 2n);
      });

      test('gives 200 concurrent callers different numbers', async () => {
        await keys.set('sequence', String(FLOOR));
        const firsts = await Promise.all(Array.from({ length: 200 }, () => keys.reserve('sequence', 5, 0n)));
        const sorted = firsts.map((first) => Number((first as bigint) - FLOOR)).sort((a, b) => a - b);
        expect(sorted).toEqual(Array.from({ length: 200 }, (_, i) => i * 5));
      });
    });

    describe('groups', () => {
      test('list their members until they leave', async () => {
        expect(await keys.members('group')).toEqual([]);
        expect(await keys.join('group', 'a', 60_000)).toBe(true);
        expect(await keys.join('group', 'b', 60_000)).toBe(true);
        expect((await keys.members('group')).sort()).toEqual(['a', 'b']);
        expect(await keys.leave('group', 'a')).toBe(true);
        expect(await keys.leave('group', 'a')).toBe(false);
        expect(await keys.members('group')).toEqual(['b']);
      });

      test('lose all members when they are deleted', async () => {
        await keys.join('group', 'a', 60_000);
        await keys.delete('group');
        expect(await keys.members('group')).toEqual([]);
        expect(await keys.prolong('group', 'a', 60_000)).toBe(false);
      });

      test('accept no more than the limit, and a member may join again', async () => {
        expect(await keys.join('lock', 'a', 60_000, 1)).toBe(true);
        expect(await keys.join('lock', 'b', 60_000, 1)).toBe(false);
        expect(await keys.join('lock', 'a', 60_000, 1)).toBe(true);
        await keys.leave('lock', 'a');
        expect(await keys.join('lock', 'b', 60_000, 1)).toBe(true);
      });

      test('of 50 concurrent callers for one membership one gets it', async () => {
        const joined = await Promise.all(
          Array.from({ length: 50 }, (_, i) => keys.join('lock', String(i), 60_000, 1)),
        );
        expect(joined.filter(Boolean)).toHaveLength(1);
      });

      test('an expired member is no member, and cannot prolong or leave', async () => {
        await keys.join('lock', 'a', TTL_MS, 1);
        await opened.pass(TTL_MS + 50);
        expect(await keys.members('lock')).toEqual([]);
        expect(await keys.prolong('lock', 'a', TTL_MS)).toBe(false);
        expect(await keys.leave('lock', 'a')).toBe(false);
        expect(await keys.join('lock', 'b', TTL_MS, 1)).toBe(true);
      });

      test('a member that prolongs stays', async () => {
        await keys.join('lock', 'a', LONG_MS, 1);
        await opened.pass(LONG_MS * 0.55);
        expect(await keys.prolong('lock', 'a', LONG_MS)).toBe(true);
        await opened.pass(LONG_MS * 0.55);
        expect(await keys.members('lock')).toEqual(['a']);
        expect(await keys.leave('lock', 'a')).toBe(true);
      });

      test('each member expires separately', async () => {
        await keys.join('group', 'short', TTL_MS);
        await keys.join('group', 'long', TTL_MS * 10);
        await opened.pass(TTL_MS + 50);
        expect(await keys.members('group')).toEqual(['long']);
      });
    });
  });
}
