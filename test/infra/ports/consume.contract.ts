import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ack, Log, LogRecord, Message } from '../../../infra/ports.ts';
import { gate, type Opened, pause, until } from './opened.ts';

const message = (text: string, key = 'key'): Message => ({ key, value: Buffer.from(text) });
const texts = (messages: readonly Message[]) => messages.map(({ value }) => value.toString());
const DURABLE: Ack = { durable: Promise.resolve() };

/** The topics of this contract. */
export const CONSUMED_TOPICS = [...['bytes', 'offsets', 'waiting', 'failing', 'again', 'later', 'closing']];

/** Topics whose publishers do not wait for the consumer: messages are stored until they are durable elsewhere. */
export function consumeContract(name: string, open: () => Promise<Opened<Log>>): void {
  describe(`log, consumed: ${name}`, () => {
    let opened: Opened<Log>;
    let log: Log;
    beforeEach(async () => {
      opened = await open();
      log = opened.port;
    });
    afterEach(() => opened.close());

    async function reopened(): Promise<Log> {
      if (!opened.reopen) throw new Error('a consumed log stores its messages, so it must reopen');
      return opened.reopen();
    }

    test('delivers keys and bytes unchanged, in the order of publishing', async () => {
      const seen: LogRecord[] = [];
      await log.consume('bytes', 'group', async (batch) => {
        seen.push(...batch);
        return DURABLE;
      });
      const value = Buffer.from([0, 1, 0x0a, 0x0d, 0x7f, 0x80, 0xfe, 0xff, 0xc3, 0x28]);
      await log.publish('bytes', [
        { key: 'one', value },
        { key: 'one', value: Buffer.alloc(0) },
      ]);
      await Promise.all(
        Array.from({ length: 40 }, (_, i) => log.publish('bytes', [message(String(i), 'one')])),
      );
      await until('all have arrived', () => seen.length === 42);
      expect(seen.slice(0, 2).map(({ key, value }) => [key, value.toString('hex')])).toEqual([
        ['one', '00010a0d7f80feffc328'],
        ['one', ''],
      ]);
      expect(texts(seen.slice(2))).toEqual(Array.from({ length: 40 }, (_, i) => String(i)));
    });

    test('offsets of a partition grow by one, and messages of a key share a partition', async () => {
      const seen: LogRecord[] = [];
      await log.consume('offsets', 'group', async (batch) => {
        seen.push(...batch);
        return DURABLE;
      });
      for (let i = 0; i < 30; i++) await log.publish('offsets', [message(String(i), `key ${i % 5}`)]);
      await until('all have arrived', () => seen.length === 30);
      const byPartition = Map.groupBy(seen, ({ partition }) => partition);
      for (const records of byPartition.values()) {
        const [first] = records as [LogRecord];
        expect(records.map(({ offset }) => offset)).toEqual(records.map((_, i) => first.offset + i));
      }
      const partitions = Map.groupBy(seen, ({ key }) => key);
      for (const records of partitions.values()) {
        expect(new Set(records.map(({ partition }) => partition)).size).toBe(1);
      }
    });

    test('publish does not wait for the handler', async () => {
      const handling = gate();
      let handled = 0;
      await log.consume('waiting', 'group', async (batch) => {
        await handling.opened;
        handled += batch.length;
        return DURABLE;
      });
      await log.publish('waiting', [message('a')]);
      await log.publish('waiting', [message('b')]);
      expect(handled).toBe(0);
      handling.open();
      await until('both are handled', () => handled === 2);
    });

    test('a handler that throws gets the same batch again, before anything newer', async () => {
      const seen: string[] = [];
      let failures = 2;
      await log.consume('failing', 'group', async (batch) => {
        if (failures-- > 0) throw new Error('not this time');
        seen.push(...texts(batch));
        return DURABLE;
      });
      await log.publish('failing', [message('a')]);
      await log.publish('failing', [message('b')]);
      await until('both have arrived', () => seen.length === 2);
      expect(seen).toEqual(['a', 'b']);
    });

    test('only batches that were not durable are delivered again after a restart', async () => {
      const first: LogRecord[] = [];
      let fails = false;
      await log.consume('again', 'group', async (batch) => {
        first.push(...batch);
        return { durable: fails ? Promise.reject(new Error('the store is gone')) : Promise.resolve() };
      });
      await log.publish('again', [message('durable')]);
      await until('the first has arrived', () => first.length === 1);
      await pause(50);
      fails = true;
      await log.publish('again', [message('a')]);
      await until('the second has arrived', () => texts(first).includes('a'));
      // A batch after a failed one is not committed either.
      await log.publish('again', [message('b')]);
      await until('the third has arrived', () => texts(first).includes('b'));

      const next = await reopened();
      const second: LogRecord[] = [];
      await next.consume('again', 'group', async (batch) => {
        second.push(...batch);
        return DURABLE;
      });
      await until('what was left has arrived', () => second.length >= 2);
      expect(texts(second)).toEqual(['a', 'b']);
      const offsetOf = (text: string) => first.find(({ value }) => value.toString() === text)?.offset;
      expect(second.map(({ offset }) => offset)).toEqual([offsetOf('a'), offsetOf('b')]);
    });

    test('messages are delivered after a restart when no batch was durable before', async () => {
      const handling = gate();
      await log.consume('later', 'group', async () => {
        await handling.opened;
        return { durable: Promise.reject(new Error('too late')) };
      });
      const numbers = Array.from({ length: 50 }, (_, i) => String(i));
      await Promise.all(numbers.map((n) => log.publish('later', [message(n)])));
      const opening = reopened();
      handling.open();
      const next = await opening;
      const seen: string[] = [];
      await next.consume('later', 'group', async (batch) => {
        seen.push(...texts(batch));
        return DURABLE;
      });
      await until('all have arrived', () => seen.length === 50);
      expect(seen).toEqual(numbers);
    });

    test('close waits until delivered batches are durable', async () => {
      let isDurable = false;
      const delivered = gate();
      await log.consume('closing', 'group', async () => {
        delivered.open();
        return {
          durable: pause(30).then(() => {
            isDurable = true;
          }),
        };
      });
      await log.publish('closing', [message('a')]);
      await delivered.opened;
      await log.close();
      expect(isDurable).toBe(true);
    });
  });
}
