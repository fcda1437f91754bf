import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DamageReport } from '../../../infra/embedded/damage.ts';
import { Journal } from '../../../infra/embedded/journal.ts';
import { EmbeddedLog } from '../../../infra/embedded/log.ts';
import type { LogRecord } from '../../../infra/ports.ts';
import { CONSUMED_TOPICS, consumeContract } from './consume.contract.ts';
import { until } from './opened.ts';

const temporary = () => mkdtempSync(join(tmpdir(), 'chain-metrics-journal-'));
const remove = (directory: string) => rmSync(directory, { recursive: true, force: true });

consumeContract('embedded', async () => {
  const directory = temporary();
  const openLog = () =>
    new EmbeddedLog({
      ...{ directory, fsync: false, retryMs: 5, damage: new DamageReport(directory) },
      stored: CONSUMED_TOPICS,
    });
  let port = openLog();
  return {
    port,
    // As after a kill: the old log is not closed.
    reopen: async () => {
      port = openLog();
      return port;
    },
    close: async () => remove(directory),
  };
});

describe('embedded log: files on disk', () => {
  let directory: string;
  beforeEach(() => {
    directory = temporary();
  });
  afterEach(() => remove(directory));

  const message = (text: string) => ({ key: 'k', value: Buffer.from(text) });
  const damage = () => new DamageReport(directory);
  const segments = () => readdirSync(directory).filter((name) => name.endsWith('.log'));

  function open(isDurable: boolean, segmentBytes = 64 * 2 ** 20): { journal: Journal; seen: LogRecord[] } {
    const seen: LogRecord[] = [];
    const durable = isDurable ? Promise.resolve() : new Promise<void>(() => {});
    const journal = Journal.open(
      { directory, fsync: true, segmentBytes, damage: damage() },
      async (batch) => {
        seen.push(...batch);
        return { durable };
      },
    );
    return { journal, seen };
  }
  const textsOf = (seen: readonly LogRecord[]) => seen.map(({ value }) => value.toString());

  test('an incomplete record at the end is truncated, and later records are complete', async () => {
    const { journal } = open(false);
    await journal.append([message('whole'), message('torn')]);
    const file = join(directory, segments()[0] as string);
    truncateSync(file, statSync(file).size - 2);
    const second = open(false);
    await until('the whole one is there', () => second.seen.length === 1);
    await second.journal.append([message('next')]);
    await until('the next one is there', () => second.seen.length === 2);
    expect(textsOf(second.seen)).toEqual(['whole', 'next']);
    expect(second.seen.map(({ offset }) => offset)).toEqual([0, 1]);
    const third = open(true);
    await until('both are there again', () => third.seen.length === 2);
    expect(textsOf(third.seen)).toEqual(['whole', 'next']);
  });

  test.each(['\0\0\0\0', 'garbage that is no record', '\xff'.repeat(40)])(
    'garbage at the end is truncated',
    async (garbage) => {
      const { journal } = open(false);
      await journal.append([message('whole')]);
      appendFileSync(join(directory, segments()[0] as string), garbage, 'latin1');
      const { seen } = open(true);
      await until('the whole one is there', () => seen.length === 1);
      expect(textsOf(seen)).toEqual(['whole']);
    },
  );

  test('committed segments are deleted, the others kept', async () => {
    const { journal, seen } = open(true, 100);
    for (let i = 0; i < 20; i++) await journal.append([message('x'.repeat(60))]);
    await until('all are there', () => seen.length === 20);
    await journal.close();
    expect(segments().length).toBeLessThanOrEqual(2);
    expect(readFileSync(join(directory, 'settled'), 'utf8')).toBe('20');
    const again = open(true, 100);
    await again.journal.append([message('on')]);
    await until('it continues', () => again.seen.length === 1);
    expect(again.seen[0]?.offset).toBe(20);
    await again.journal.close();
  });

  test('a directory of the first version opens after its committed offset', async () => {
    const records =
      '010000000700000072fc77713764757261626c65' +
      '0100000005000000fc8feefc376669727374' +
      '0200000002000000961717bec3a900ff';
    writeFileSync(join(directory, '0000000000000000.log'), Buffer.from(records, 'hex'));
    writeFileSync(join(directory, 'settled'), '1');
    const { journal, seen } = open(true);
    await until('both are delivered', () => seen.length === 2);
    expect(seen).toEqual([
      { key: '7', value: Buffer.from('first'), partition: 0, offset: 1 },
      { key: 'é', value: Buffer.from([0, 255]), partition: 0, offset: 2 },
    ]);
    await journal.close();
    expect(readFileSync(join(directory, 'settled'), 'utf8')).toBe('3');
  });

  test('a log that lost its end continues after the committed offset', async () => {
    const { journal, seen } = open(true);
    await journal.append([message('a'), message('b')]);
    await until('both are there', () => seen.length === 2);
    await journal.close();
    writeFileSync(join(directory, 'settled'), '7');
    const again = open(true);
    await again.journal.append([message('c')]);
    await until('it continues', () => again.seen.length === 1);
    expect(again.seen[0]).toMatchObject({ offset: 7 });
    await again.journal.close();
    const last = open(true);
    await last.journal.append([message('d')]);
    await until('it continues again', () => last.seen.length === 1);
    expect(last.seen[0]).toMatchObject({ offset: 8 });
  });

  test('the publisher gets the error of a full disk, and later publishers succeed', async () => {
    const { journal } = open(true);
    await journal.append([message('a')]);
    const huge = { key: 'k', value: { length: 10 } as unknown as Buffer };
    await expect(journal.append([huge])).rejects.toThrow(/disk is full or cannot be written/);
    await journal.append([message('b')]);
    await journal.close();
  });
});
