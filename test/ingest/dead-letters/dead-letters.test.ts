import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import {
  type DeadLetterRequest,
  handleDeadLetterRequest,
} from '../../../ingest/dead-letters/dead-letter-requests.ts';
import { DeadLetterRetention } from '../../../ingest/dead-letters/dead-letter-retention.ts';
import { blocks, deadLetters } from '../../../ingest/raw/tables.ts';
import { emptyPipeline, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

const [{ line: block }] = recordedLines('blocks').filter(({ chain }) => chain === 'polkadot') as [
  { line: string },
];
const height = Number(JSON.parse(block).number);
const KEPT_BYTES = 64 * 1024;

let opened: TestPipeline;
/** How far the clock is ahead. */
let aheadMs = 0;
beforeAll(async () => {
  opened = await openTestPipeline({ now: () => Date.now() + aheadMs });
});
afterAll(() => opened.close());
beforeEach(() => {
  aheadMs = 0;
  return emptyPipeline(opened.pipeline);
});

const order = (given: DeadLetterRequest) => {
  const { runtime, registry, waitUntilLoaded } = opened.pipeline;
  const dependencies = { runtime, registry, deadLetterBytes: KEPT_BYTES, waitUntilLoaded, redeliver: {} };
  return handleDeadLetterRequest(dependencies, given);
};
const take = async (name: string, ...lines: string[]) => {
  await opened.pipeline.ingest(Readable.from([Buffer.from(`${lines.join('\n')}\n`)]), { name });
  await opened.pipeline.waitUntilLoaded();
};
const heights = () => opened.pipeline.runtime.store.rows(sql`SELECT chain, number FROM ${blocks} FINAL`);

describe('dead letters', () => {
  test('are listed with origin, reason, size and tries, the latest first', async () => {
    await take('unknown.ndjson', block, '{"broken":');
    const { total, letters } = await order({ action: 'list' });
    expect(total).toBe(2);
    expect(letters.map(({ origin, line, attempts }) => [origin, line, attempts])).toEqual([
      ['unknown.ndjson', 1, 1],
      ['unknown.ndjson', 2, 1],
    ]);
    expect(letters[0]?.reason).toContain('chain: unknown unknown');
    expect(letters[1]).toMatchObject({ reason: 'not JSON', size: 10 });
  });

  test('are shown with their text', async () => {
    await take('unknown.ndjson', '{"broken":');
    const { letters } = await order({ action: 'list' });
    const shown = await order({ action: 'show', ids: [letters[0]?.id.slice(0, 8) as string] });
    expect(shown.letters).toEqual([{ ...letters[0], text: '{"broken":' }]);
  });

  test('tried again with what they lacked are taken in, and are gone', async () => {
    await take('unknown.ndjson', block);
    const { outcomes } = await order({ action: 'retry', all: true, chain: 'polkadot' });
    await opened.pipeline.waitUntilLoaded();
    expect(outcomes?.map(({ refused }) => refused)).toEqual([null]);
    expect(await heights()).toEqual([{ chain: 'polkadot', number: height }]);
    expect((await order({ action: 'list' })).total).toBe(0);
  });

  test('that are refused again stay, with one try more', async () => {
    await take('unknown.ndjson', block, 'garbage');
    for (const tries of [2, 3]) {
      const { outcomes } = await order({ action: 'retry', all: true });
      expect(outcomes?.every(({ refused }) => refused !== null)).toBe(true);
      const { total, letters } = await order({ action: 'list' });
      expect(total).toBe(2);
      expect(letters.map(({ attempts }) => attempts)).toEqual([tries, tries]);
    }
    expect(await heights()).toEqual([]);
  });

  test('that are published, and refused when they are loaded, count as refused again', async () => {
    // Only the engine looks into these fields.
    const odd = JSON.stringify({ ...JSON.parse(block), extrinsics: 'none' });
    await take('unknown.ndjson', odd, block);
    const { outcomes } = await order({ action: 'retry', all: true, chain: 'polkadot' });
    expect(outcomes?.map(({ refused }) => refused === null).sort()).toEqual([false, true]);
    const { total, letters } = await order({ action: 'list' });
    expect(total).toBe(1);
    const refused = outcomes?.find(({ id }) => id === letters[0]?.id)?.refused;
    expect(refused).toBe(letters[0]?.reason);
    expect(refused).not.toContain('chain: unknown');
  });

  test('that are dropped are gone, and the same line refused once more is a letter again', async () => {
    await take('unknown.ndjson', 'garbage', 'rubbish');
    const { letters } = await order({ action: 'list' });
    await order({ action: 'drop', ids: [letters[0]?.id as string] });
    expect((await order({ action: 'list' })).total).toBe(1);
    await take('unknown.ndjson', 'garbage', 'rubbish');
    expect((await order({ action: 'list' })).total).toBe(2);
  });

  test('stay, and come again, where the clock is behind the one that stored them', async () => {
    const odd = JSON.stringify({ ...JSON.parse(block), extrinsics: 'none' });
    await take('unknown.ndjson', odd, 'garbage');
    aheadMs = -5000;
    const { outcomes } = await order({ action: 'retry', all: true, chain: 'polkadot' });
    expect(outcomes?.map(({ refused }) => refused === null)).toEqual([false, false]);
    const { letters } = await order({ action: 'list' });
    expect(letters.map(({ attempts }) => attempts)).toEqual([2, 2]);
    await order({ action: 'drop', all: true });
    await take('unknown.ndjson', odd, 'garbage');
    expect((await order({ action: 'list' })).total).toBe(2);
  });

  test('longer than what is kept are tried again only where the log keeps them whole', async () => {
    const long = JSON.stringify({ ...JSON.parse(block), filler: 'x'.repeat(2 * KEPT_BYTES) });
    await take('unknown.ndjson', long);
    const { outcomes } = await order({ action: 'retry', all: true, chain: 'polkadot' });
    await opened.pipeline.waitUntilLoaded();
    const isKept = opened.pipeline.runtime.log.system === 'kafka';
    expect(outcomes?.[0]?.refused ?? null).toBe(
      isKept ? null : 'only its first bytes are stored; ingest unknown.ndjson again',
    );
    expect(await heights()).toHaveLength(isKept ? 1 : 0);
  });

  test('of an archive that broke off keep their reason: there is no line to try again', async () => {
    const cut = gzipSync(`${block}\n`).subarray(0, -200);
    await opened.pipeline.ingest(Readable.from([cut]), { name: 'polkadot.ndjson.gz' });
    const before = await order({ action: 'list' });
    const { outcomes } = await order({ action: 'retry', all: true });
    expect(outcomes?.map(({ refused }) => refused)).toEqual([
      'none of its bytes are stored; ingest polkadot.ndjson.gz again',
    ]);
    expect(before.letters[0]?.reason).toMatch(/^the archive is truncated or corrupt: /);
    expect(await order({ action: 'list' })).toEqual(before);
  });

  test.each([
    [{ action: 'show', ids: ['ffffffff'] }, /no dead letter has the id ffffffff/],
    [{ action: 'drop' }, /pass ids of dead letters, or --all/],
    [{ action: 'retry', ids: ['xyz!'] }, /4 to 32 hexadecimal/],
  ] as [DeadLetterRequest, RegExp][])('%j says what is wrong', async (given, text) => {
    await expect(order(given)).rejects.toThrow(text);
  });

  test('are deleted whole days after they were refused last, dropped ones too, by one process at a time', async () => {
    const { runtime } = opened.pipeline;
    await take('unknown.ndjson', 'garbage', 'dropped');
    const [dropped] = (await order({ action: 'list' })).letters.filter(({ line }) => line === 2);
    await order({ action: 'drop', ids: [dropped?.id ?? ''] });
    const daysLater = (days: number) => {
      const clock = { now: () => Date.now() + days * 86_400_000 };
      const logger = { info: () => undefined, warn: () => undefined };
      return new DeadLetterRetention({ runtime: { ...runtime, clock }, days: 30, leaseMs: 60_000, logger });
    };
    const rows = () => runtime.store.rows(sql`SELECT id FROM ${deadLetters}`);
    expect(await daysLater(30).deleteOld()).toBe(0);
    expect((await order({ action: 'list' })).total).toBe(1);
    const both = [daysLater(31), daysLater(31)].map((retention) => retention.deleteOld());
    expect((await Promise.all(both)).toSorted()).toEqual([0, 2]);
    expect(await rows()).toEqual([]);
    expect(await daysLater(31).deleteOld()).toBe(0);
  });
});
