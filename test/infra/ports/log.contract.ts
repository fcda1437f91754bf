import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ack, Log, LogRecord, Message } from '../../../infra/ports.ts';
import { gate, type Opened, pause, until } from './opened.ts';

const message = (text: string, key = 'key'): Message => ({ key, value: Buffer.from(text) });
/** A message that has no bytes until they are asked for. */
class LateMessage implements Message {
  readonly key = 'late';
  get value(): Buffer {
    return Buffer.from('made');
  }
}
const DURABLE: Ack = { durable: Promise.resolve() };
const texts = (messages: readonly Message[]) => messages.map(({ value }) => value.toString());

export function logContract(name: string, open: () => Promise<Opened<Log>>): void {
  describe(`log: ${name}`, () => {
    let opened: Opened<Log>;
    let log: Log;
    beforeEach(async () => {
      opened = await open();
      log = opened.port;
    });
    afterEach(() => opened.close());

    /** A subscriber that collects the values of its messages. */
    async function collect(topic: string, group: string, seen: string[] = []): Promise<string[]> {
      await log.consume(topic, group, async (batch) => {
        await pause(1);
        seen.push(...texts(batch));
        return DURABLE;
      });
      return seen;
    }

    test('delivers keys, bytes and places in traces unchanged', async () => {
      const seen: LogRecord[] = [];
      const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
      await log.consume('bytes', 'group', async (batch) => {
        seen.push(...batch);
        return DURABLE;
      });
      const value = Buffer.from([0, 1, 0x0a, 0x0d, 0x7f, 0x80, 0xfe, 0xff, 0xc3, 0x28]);
      await log.publish('bytes', [
        { key: 'polkadot/polkadot/1', value, traceparent },
        { key: '', value: Buffer.alloc(0) },
        new LateMessage(),
      ]);
      await until('all have arrived', () => seen.length === 3);
      // Messages of different keys have no order.
      const arrived = new Map(
        seen.map(({ key, value, traceparent }) => [key, [value.toString('hex'), traceparent]]),
      );
      expect(arrived).toEqual(
        new Map([
          ['polkadot/polkadot/1', ['00010a0d7f80feffc328', traceparent]],
          ['', ['', undefined]],
          ['late', [Buffer.from('made').toString('hex'), undefined]],
        ]),
      );
    });

    test('messages of a key arrive in the order of publishing, also from concurrent publishers', async () => {
      const seen = await collect('order', 'group');
      const numbers = Array.from({ length: 60 }, (_, i) => String(i));
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          log.publish(
            'order',
            numbers.slice(i * 3, i * 3 + 3).map((n) => message(n)),
          ),
        ),
      );
      await until('all have arrived', () => seen.length === 60);
      expect(seen).toEqual(numbers);
    });

    test('one batch of a topic and group is handled at a time', async () => {
      let running = 0;
      let runningMax = 0;
      let handled = 0;
      await log.consume('one', 'group', async (batch) => {
        runningMax = Math.max(runningMax, ++running);
        await pause(3);
        running--;
        handled += batch.length;
        return DURABLE;
      });
      await Promise.all(Array.from({ length: 8 }, (_, i) => log.publish('one', [message(String(i))])));
      await until('all are handled', () => handled === 8);
      expect(runningMax).toBe(1);
    });

    test('every group gets every message', async () => {
      const [load, watch] = [await collect('groups', 'load'), await collect('groups', 'watch')];
      await log.publish('groups', [message('a'), message('b')]);
      await log.publish('groups', [message('c')]);
      await until('both have all', () => load.length === 3 && watch.length === 3);
      expect(load).toEqual(['a', 'b', 'c']);
      expect(watch).toEqual(['a', 'b', 'c']);
    });

    test('topics do not mix and do not wait for each other', async () => {
      const held = gate();
      let slow = 0;
      await log.consume('slow', 'group', async () => {
        await held.opened;
        slow++;
        return DURABLE;
      });
      const quick = await collect('quick', 'group');
      const waiting = log.publish('slow', [message('1')]);
      await log.publish('quick', [message('2')]);
      await until('the other topic is handled', () => quick.length === 1);
      expect([slow, quick]).toEqual([0, ['2']]);
      held.open();
      await waiting;
      await until('the slow one is done', () => slow === 1);
    });

    test('a failed batch does not prevent a later one', async () => {
      const seen: string[] = [];
      let failures = 0;
      await log.consume('failing', 'group', async (batch) => {
        if (failures++ === 0) throw new Error('not this time');
        seen.push(...texts(batch));
        return DURABLE;
      });
      await log.publish('failing', [message('first')]).catch(() => undefined);
      await log.publish('failing', [message('second')]);
      await until('the later batch has arrived', () => seen.includes('second'));
    });

    test('a group that fails does not affect the others', async () => {
      await log.consume('partly', 'bad', async () => {
        throw new Error('always');
      });
      const good = await collect('partly', 'good');
      await log.publish('partly', [message('a')]).catch(() => undefined);
      await until('the good group has it', () => good.length > 0);
      expect(good[0]).toBe('a');
    });

    test('waitUntilConsumed resolves when this group has handled all earlier messages', async () => {
      const held = gate();
      const seen = await collect('consuming', 'quick');
      await log.consume('consuming', 'slow', async () => ({ durable: held.opened }));
      const published = log.publish('consuming', [message('a'), message('b')]);
      await until('the quick group has both', () => seen.length === 2);
      await log.waitUntilConsumed('consuming', 'quick');
      const givenUp = log.waitUntilConsumed('consuming', 'slow', AbortSignal.timeout(50));
      await expect(givenUp).rejects.toThrow(/aborted/);
      let isConsumed = false;
      const slow = log.waitUntilConsumed('consuming', 'slow').then(() => {
        isConsumed = true;
      });
      await pause(60);
      expect(isConsumed).toBe(false);
      held.open();
      await Promise.all([published, slow]);
      expect(seen).toEqual(['a', 'b']);
    });

    test('waitUntilConsumed of an empty topic resolves at once', async () => {
      await collect('empty', 'group');
      await log.waitUntilConsumed('empty', 'group');
    });

    test('dead letters are read by their offsets, or have none where the log does not store them', async () => {
      const refused = ['one', 'two', 'three'].map((text) => ({
        value: Buffer.from(`${text} \xff`, 'latin1'),
        reason: 'not JSON',
        origin: 'file:1',
        attempt: 1,
      }));
      const offsets = await log.deadLetter('refusing', refused);
      expect(offsets).toHaveLength(3);
      if (offsets[0] === null) {
        expect(offsets).toEqual([null, null, null]);
        return;
      }
      const [one, , three] = offsets as string[];
      const found = await log.readDeadLetters('refusing', [three as string, one as string, '999999']);
      expect(found).toEqual([refused[2]?.value, refused[0]?.value, null]);
    });

    test('close waits for the running handler', async () => {
      let done = false;
      const started = gate();
      await log.consume('closing', 'group', async () => {
        started.open();
        await pause(30);
        done = true;
        return DURABLE;
      });
      const published = log.publish('closing', [message('a')]);
      await started.opened;
      await log.close();
      expect(done).toBe(true);
      await published;
    });
  });
}
