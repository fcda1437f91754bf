import { afterAll, beforeAll, expect, it } from 'vitest';
import { readCoverage, readStatus } from '../../../../aggregate/status/status.ts';
import type { Pipeline } from '../../../../serve/application/compose/compose.ts';
import { hash, madeBlock, madeEvent, madeExtrinsic } from '../../../ingest/made.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../../support/pipeline.ts';
import { rooted } from '../../../support/rooted.ts';

let opened: TestPipeline;
beforeAll(async () => {
  opened = await openTestPipeline();
});
afterAll(() => opened.close());

const statusOf = ({ runtime, aggregator }: Pipeline) => readStatus(runtime, aggregator);
const coverageOf = ({ runtime, registry }: Pipeline, of?: { relay_chain?: string; chain?: string }) =>
  readCoverage(runtime.store, registry, of);

const at = (number: number, day: string | null, more: object = {}) => {
  const now = day === null ? {} : { now: String(Date.parse(`${day}T12:00:00Z`) + number * 6000) };
  return JSON.stringify(
    rooted(
      madeBlock(number, [], { extrinsics: [madeExtrinsic('timestamp.set', { args: now })], ...more }),
      'polkadot',
    ),
  );
};
const price = (day: string) =>
  JSON.stringify({
    schema: 'snapshot/1',
    kind: 'price',
    relay_chain: 'polkadot',
    chain: 'polkadot',
    as_of: `${day}T00:00:00.000Z`,
    payload: { symbol: 'DOT', usd: 6.5 },
  });

async function take(...lines: string[]): Promise<void> {
  await ingestAndCompute(
    opened.pipeline,
    lines.map((line) => ({ line, chain: 'polkadot' })),
  );
}

it('finds missing heights, missing days, days without a price and blocks without a time', async () => {
  await take(
    at(1, '2024-03-01'),
    at(2, '2024-03-01'),
    at(5, '2024-03-02'),
    at(10, '2024-03-05', { parentHash: hash('beef') }),
    // Its parent is there, so the chain is known to have stood still on the two days between.
    at(11, '2024-03-08'),
    at(12, null),
    price('2024-03-01'),
    price('2024-03-05'),
  );
  const [polkadot, ...others] = await coverageOf(opened.pipeline, { chain: 'polkadot' });
  expect(others).toEqual([]);
  expect(polkadot).toEqual({
    relay_chain: 'polkadot',
    chain: 'polkadot',
    lowest_block: 1,
    highest_block: 12,
    first_day: '2024-03-01',
    last_day: '2024-03-08',
    untimed_blocks: 1,
    missing_blocks: {
      total: 6,
      ranges_total: 2,
      ranges: [
        { from: 3, to: 4 },
        { from: 6, to: 9 },
      ],
    },
    missing_days: { total: 2, ranges_total: 1, ranges: [{ from: '2024-03-03', to: '2024-03-04' }] },
    days_without_price: {
      token: 'DOT',
      total: 2,
      ranges_total: 2,
      ranges: [
        { from: '2024-03-02', to: '2024-03-02' },
        { from: '2024-03-08', to: '2024-03-08' },
      ],
    },
    skipped_heights: { total: 0, heights: [] },
  });
  expect(await coverageOf(opened.pipeline, { relay_chain: 'kusama' })).toEqual([]);
});

it('sees at once what was loaded since', async () => {
  await take(at(3, '2024-03-01'), at(4, '2024-03-01'));
  const { chains } = await statusOf(opened.pipeline);
  expect(chains).toMatchObject([
    {
      blocks: 8,
      newest_block_at: '2024-03-08T12:01:06.000Z',
      missing_blocks: { total: 4, ranges_total: 1, ranges: [{ from: 6, to: 9 }] },
    },
  ]);
});

it('counts a refused fact for as long as its block lives', async () => {
  const events = [madeEvent('balances.Deposit', 'nobody', '1')];
  await take(at(2, '2024-03-01', { onFinalize: { events } }));
  expect((await statusOf(opened.pipeline)).refused_facts).toBe(1);
  await take(at(2, '2024-03-01'));
  expect((await statusOf(opened.pipeline)).refused_facts).toBe(0);
});

it('lists a thousand ranges and counts the rest', async () => {
  const lines = Array.from({ length: 1100 }, (_, i) => at(1000 + i * 2, '2024-03-08'));
  await take(...lines);
  const [polkadot] = await coverageOf(opened.pipeline);
  expect(polkadot?.missing_blocks.ranges_total).toBe(1101);
  expect(polkadot?.missing_blocks.ranges).toHaveLength(1000);
  expect(polkadot?.missing_blocks.ranges.slice(0, 3)).toEqual([
    { from: 6, to: 9 },
    { from: 13, to: 999 },
    { from: 1001, to: 1001 },
  ]);
  expect((await statusOf(opened.pipeline)).chains[0]?.missing_blocks.ranges).toHaveLength(5);
});
