import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DamageReport } from '../../../infra/embedded/damage.ts';
import { Journal } from '../../../infra/embedded/journal.ts';
import type { LogRecord } from '../../../infra/ports.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../ports/opened.ts';

let place: TemporaryDirectory;
let opened: Journal[];
beforeEach(() => {
  place = temporaryDirectory();
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((journal) => journal.close()));
  place[Symbol.dispose]();
});

const damage = () => new DamageReport(place.path);
const directory = () => join(place.path, 'log');
const segments = () =>
  readdirSync(directory())
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(directory(), name));
const message = (text: string) => ({ key: 'project', value: Buffer.from(text) });
const texts = (seen: readonly LogRecord[]) => seen.map(({ value }) => value.toString());

/** Opens the log as a next process does; nothing becomes durable unless it is said. */
function open({ isDurable = false, segmentBytes = 2 ** 20, sync }: OpenOptions = {}) {
  const seen: LogRecord[] = [];
  const options = {
    directory: directory(),
    fsync: true,
    segmentBytes,
    damage: damage(),
    ...(sync ? { sync } : {}),
  };
  const journal = Journal.open(options, async (batch) => {
    seen.push(...batch);
    return { durable: isDurable ? Promise.resolve() : new Promise<void>(() => {}) };
  });
  if (isDurable) opened.push(journal);
  return { journal, seen };
}
interface OpenOptions {
  readonly isDurable?: boolean;
  readonly segmentBytes?: number;
  readonly sync?: (descriptor: number) => Promise<void>;
}

const sent = ['first', 'second', 'third', 'fourth', 'fifth'];
async function write(): Promise<string> {
  const { journal } = open();
  for (const text of sent) await journal.append([message(text)]);
  return segments()[0] as string;
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] as number) ^ 0x40;
  writeFileSync(file, bytes);
}

async function expectRecovered(lost: readonly number[]): Promise<void> {
  const kept = sent.map((_, i) => i).filter((i) => !lost.includes(i));
  const { journal, seen } = open();
  if (kept.length > 0) await until('what can be read is delivered', () => seen.length >= kept.length);
  expect(texts(seen)).toEqual(kept.map((i) => sent[i]));
  expect(seen.map(({ offset }) => offset)).toEqual(kept);
  // An offset is never given twice: the consumer would take the new message for one that it knows.
  await journal.append([message('next')]);
  await until('the next one is delivered', () => seen.length === kept.length + 1);
  expect(seen.at(-1)?.offset).toBeGreaterThanOrEqual(sent.length);
  // The start after it finds the same, and nothing new that is wrong.
  const reports = damage().list().length;
  const again = open({ isDurable: true });
  await until('all are delivered again', () => again.seen.length === kept.length + 1);
  expect(texts(again.seen)).toEqual([...kept.map((i) => sent[i]), 'next']);
  await again.journal.waitUntilConsumed();
  expect(damage().list()).toHaveLength(reports);
}

describe('a byte that changed on the disk', () => {
  const record = 28 + 'project'.length;
  const starts = sent.map((_, i) => sent.slice(0, i).reduce((sum, text) => sum + record + text.length, 0));

  it.each([
    ['in the mark of a record', 0],
    ['in the length of a value', 10],
    ['in an offset', 12],
    ['in a checksum', 21],
    ['in a key', 30],
    ['in a value', record + 1],
  ])('%s loses that record alone, and says which', async (_, within) => {
    flip(await write(), (starts[2] as number) + within);
    await expectRecovered([2]);
    const [found, ...others] = damage().list();
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      part: 'log',
      file: segments()[0],
      lost: expect.stringMatching(
        new RegExp(`from byte ${starts[2]} on .* up to 1 message from offset 2 on`),
      ),
      advice: expect.stringMatching(/the segment is kept as .*damaged\/log\//),
    });
    const aside = /kept as ([^;]+);/.exec(found?.advice ?? '')?.[1] as string;
    expect(readFileSync(aside)).toHaveLength((starts[4] as number) + record + 'fifth'.length);
  });

  it.each([0, 10, 36])('in the last record, at %d, is damage too: it was acknowledged', async (within) => {
    flip(await write(), (starts[4] as number) + within);
    await expectRecovered([4]);
    expect(damage().list()).toHaveLength(1);
  });

  it('in every record leaves none, and the log continues', async () => {
    const file = await write();
    for (const start of starts) flip(file, start + record);
    await expectRecovered([0, 1, 2, 3, 4]);
  });

  it('in a record that was processed loses nothing, and says so', async () => {
    const file = await write();
    flip(file, (starts[0] as number) + record);
    writeFileSync(join(directory(), 'settled'), '2');
    const { seen } = open();
    await until('the others are delivered', () => seen.length === 3);
    expect(damage().list()).toMatchObject([{ lost: expect.stringContaining('nothing is lost') }]);
  });

  it('in the committed offset delivers again what the log holds', async () => {
    await write();
    writeFileSync(join(directory(), 'settled'), '3\u00001');
    const { seen } = open();
    await until('all are delivered', () => seen.length === sent.length);
    expect(damage().list()).toMatchObject([{ file: join(directory(), 'settled') }]);
  });
});

describe('a record of the first version', () => {
  const records =
    '010000000700000072fc77713764757261626c65' +
    '0100000005000000fc8feefc376669727374' +
    '0200000002000000961717bec3a900ff';
  /** A segment of them, changed by the test. */
  async function written(change: (bytes: Buffer) => Buffer): Promise<void> {
    const { journal } = open();
    await journal.append([message('mark')]);
    rmSync(segments()[0] as string);
    writeFileSync(join(directory(), '0000000000000000.log'), change(Buffer.from(records, 'hex')));
  }
  const changedAt = (at: number, byte: number) => (bytes: Buffer) => {
    bytes[at] = byte;
    return bytes;
  };

  it('that changed on the disk is told, and those behind it are delivered', async () => {
    await written(changedAt(34, 0));
    const { seen } = open();
    await until('the others are delivered', () => seen.length === 2);
    expect(seen.map(({ offset }) => offset)).toEqual([0, 2]);
    expect(damage().list()).toMatchObject([
      { lost: expect.stringMatching(/up to 1 message from offset 1 on/) },
    ]);
  });

  it.each([
    ['key', 38],
    ['value', 42],
  ])(
    'at the end, whose length of the %s changed on the disk, is told: it was acknowledged',
    async (_, at) => {
      await written(changedAt(at, 66));
      const { journal, seen } = open();
      await until('the others are delivered', () => seen.length === 2);
      expect(damage().list()).toMatchObject([
        { lost: expect.stringMatching(/up to 1 message from offset 2 on/) },
      ]);
      await journal.append([message('next')]);
      await until('the next one is delivered', () => seen.length === 3);
      expect(seen.map(({ offset }) => offset)).toEqual([0, 1, 3]);
    },
  );

  it('that a kill left incomplete is truncated without a word', async () => {
    for (let cut = 1; cut < 16; cut++) {
      await written((bytes) => bytes.subarray(0, bytes.length - cut));
      const { seen } = open();
      await until('the whole ones are delivered', () => seen.length === 2);
    }
    expect(damage().list()).toEqual([]);
  });
});

it('a record that a kill left incomplete is truncated without a word', async () => {
  const file = await write();
  const whole = readFileSync(file);
  for (let cut = 1; cut < 28 + 'projectfifth'.length; cut++) {
    writeFileSync(file, whole);
    truncateSync(file, whole.length - cut);
    const { seen } = open();
    await until('the whole ones are delivered', () => seen.length === 4);
  }
  expect(damage().list()).toEqual([]);
});

it('a missing segment is told with the offsets that it held', async () => {
  const { journal } = open({ segmentBytes: 60 });
  for (const text of sent) await journal.append([message(text)]);
  rmSync(segments()[1] as string);
  const { seen } = open();
  await until('the others are delivered', () => seen.length > 0);
  expect(damage().list()).toMatchObject([
    { lost: expect.stringMatching(/records \d to \d, which were acknowledged/) },
  ]);
});

it('what is no record at the end is set aside', async () => {
  appendFileSync(await write(), '\0'.repeat(64));
  await expectRecovered([]);
  expect(damage().list()).toHaveLength(1);
});

it('an append that the disk does not take is rejected and gone, also for the next process', async () => {
  let fails = false;
  const sync = async () => {
    if (fails) throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
  };
  const { journal, seen } = open({ sync });
  await journal.append([message('kept')]);
  fails = true;
  await expect(journal.append([message('rejected')])).rejects.toThrow(/disk is full or cannot be written/);
  fails = false;
  await journal.append([message('later')]);
  await until('both are delivered', () => seen.length === 2);
  const next = open();
  await until('both are delivered again', () => next.seen.length === 2);
  for (const delivered of [seen, next.seen]) {
    expect(texts(delivered)).toEqual(['kept', 'later']);
    expect(delivered.map(({ offset }) => offset)).toEqual([0, 1]);
  }
  expect(damage().list()).toEqual([]);
});
