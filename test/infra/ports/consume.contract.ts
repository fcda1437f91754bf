import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ack, Log, LogRecord, Message } from '../../../infra/ports.ts';
import { gate, type Opened, pause, until } from './opened.ts';

const message = (text: string, key = 'key'): Message => ({ key, value: Buffer.from(text) });
const texts = (messages: readonly Message[]) => messages.map(({ value }) => value.toString());
const SETTLED: Ack = { durable: Promise.resolve() };

/** Topics whose publishers do not wait: what is published is kept until it is settled. */
export function followContract(name: string, open: () => Promise<Opened<Log>>): void {
  describe(`log, followed: ${name}`, () => {
    let opened: Opened<Log>;
    let log: Log;
    beforeEach(async () => {
      opened = await open();
      log = opened.port;
    });
    afterEach(() => opened.close());

    async function reopened(): Promise<Log> {
      if (!opened.reopen)
        throw new Error('a followed log keeps what it was given, so it can be opened again');
      return opened.reopen();
    }

    test('hands on keys and bytes as they are, in the order of publishing', async () => {
      const seen: LogRecord[] = [];
      await log.consume('bytes', 'group', async (batch) => {
        seen.push(...batch);
        return SETTLED;
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

    test('offsets of a partition grow by one, and a key keeps to its partition', async () => {
      const seen: LogRecord[] = [];
      await log.consume('places', 'group', async (batch) => {
        seen.push(...batch);
        return SETTLED;
      });
      for (let i = 0; i < 30; i++) await log.publish('places', [message(String(i), `key ${i % 5}`)]);
      await until('all have arrived', () => seen.length === 30);
      const byPartition = Map.groupBy(seen, ({ partition }) => partition);
      for (const placed of byPartition.values()) {
        const [first] = placed as [LogRecord];
        expect(placed.map(({ offset }) => offset)).toEqual(placed.map((_, i) => first.offset + i));
      }
      const partitions = Map.groupBy(seen, ({ key }) => key);
      for (const placed of partitions.values()) {
        expect(new Set(placed.map(({ partition }) => partition)).size).toBe(1);
      }
    });

    test('publish does not wait for the handler', async () => {
      const held = gate();
      let handled = 0;
      await log.consume('waiting', 'group', async (batch) => {
        await held.opened;
        handled += batch.length;
        return SETTLED;
      });
      await log.publish('waiting', [message('a')]);
      await log.publish('waiting', [message('b')]);
      expect(handled).toBe(0);
      held.open();
      await until('both are handled', () => handled === 2);
    });

    test('the next batch is handed over before the earlier one is settled', async () => {
      const held = gate();
      const seen: string[] = [];
      await log.consume('ahead', 'group', async (batch) => {
        seen.push(...texts(batch));
        return { durable: held.opened };
      });
      await log.publish('ahead', [message('a')]);
      await until('the first has arrived', () => seen.length === 1);
      await log.publish('ahead', [message('b')]);
      await until('the second has arrived', () => seen.length === 2);
      held.open();
    });

    test('a handler that throws gets the same batch again, before anything newer', async () => {
      const seen: string[] = [];
      let failures = 2;
      await log.consume('failing', 'group', async (batch) => {
        if (failures-- > 0) throw new Error('not this time');
        seen.push(...texts(batch));
        return SETTLED;
      });
      await log.publish('failing', [message('a')]);
      await log.publish('failing', [message('b')]);
      await until('both have arrived', () => seen.length === 2);
      expect(seen).toEqual(['a', 'b']);
    });

    test('what was not settled is handed over again when the log is opened again, and nothing else', async () => {
      const first: LogRecord[] = [];
      let stuck = false;
      await log.consume('again', 'group', async (batch) => {
        first.push(...batch);
        return { durable: stuck ? Promise.reject(new Error('the store is gone')) : Promise.resolve() };
      });
      await log.publish('again', [message('settled')]);
      await until('the first has arrived', () => first.length === 1);
      await pause(50);
      stuck = true;
      await log.publish('again', [message('a')]);
      await until('the second has arrived', () => texts(first).includes('a'));
      // Behind one that is not settled nothing is.
      await log.publish('again', [message('b')]);
      await until('the third has arrived', () => texts(first).includes('b'));

      const next = await reopened();
      const second: LogRecord[] = [];
      await next.consume('again', 'group', async (batch) => {
        second.push(...batch);
        return SETTLED;
      });
      await until('what was left has arrived', () => second.length >= 2);
      expect(texts(second)).toEqual(['a', 'b']);
      const offsetOf = (text: string) => first.find(({ value }) => value.toString() === text)?.offset;
      expect(second.map(({ offset }) => offset)).toEqual([offsetOf('a'), offsetOf('b')]);
    });

    test('what is published is there after a new start, also when nobody followed in time', async () => {
      const held = gate();
      await log.consume('later', 'group', async () => {
        await held.opened;
        return { durable: Promise.reject(new Error('too late')) };
      });
      const numbers = Array.from({ length: 50 }, (_, i) => String(i));
      await Promise.all(numbers.map((n) => log.publish('later', [message(n)])));
      const opening = reopened();
      held.open();
      const next = await opening;
      const seen: string[] = [];
      await next.consume('later', 'group', async (batch) => {
        seen.push(...texts(batch));
        return SETTLED;
      });
      await until('all have arrived', () => seen.length === 50);
      expect(seen).toEqual(numbers);
    });

    test('close waits for what was handed over to settle', async () => {
      let settled = false;
      const handed = gate();
      await log.consume('closing', 'group', async () => {
        handed.open();
        return {
          durable: pause(30).then(() => {
            settled = true;
          }),
        };
      });
      await log.publish('closing', [message('a')]);
      await handed.opened;
      await log.close();
      expect(settled).toBe(true);
    });
  });
}
