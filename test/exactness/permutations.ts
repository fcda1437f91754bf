import { expect, it } from 'vitest';
import { Random } from '../../ingest/demo/random.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { pricesBeside } from '../aggregate/metrics/shapes/recorded-prices.ts';
import type { InputLine } from '../reference/input.ts';
import { findChain } from '../reference/registry.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import {
  AFTER_RECORDING,
  clockFrom,
  ingestAndCompute,
  ingestLines,
  LONG_AFTER_RECORDING,
  openTestPipeline,
} from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';
import { byChain, cut, type Delivery, enveloped, mayTravelBare, shuffledDeliveries } from './deliveries.ts';

const SEEDS = Number(process.env.SEEDS ?? 6);
/** Every so many seeds everything is sent; the others send one of its parts each. */
const EVERYTHING_EVERY = 6;
/**
 * Every so many seeds some days are of the live lane and some of the other; else all are of the other. The number of
 * parts is no multiple of it, so that each part comes to it.
 */
const BOTH_LANES_EVERY = 4;

const recorded = [...recordedLines('blocks'), ...recordedLines('runtime')];

/**
 * Each relay chain alone; the largest in parts drawn by lot, with and without the neighbours of a block. The lot is drawn
 * again when everything was sent: orders of the same part share a clean run.
 */
const PARTS = [
  { relay: 'polkadot', share: 0.2 },
  { relay: 'kusama', share: 1 },
  { relay: 'polkadot', share: 0.2 },
  { relay: 'polkadot', share: 0.4 },
  { relay: 'westend', share: 1 },
];

function linesOf(seed: number): { name: string; lines: readonly InputLine[] } {
  const { relay, share } = PARTS[(seed - 1) % PARTS.length] as (typeof PARTS)[number];
  const draw = Math.floor((seed - 1) / EVERYTHING_EVERY);
  const lot = new Random(draw);
  const isEverything = seed % EVERYTHING_EVERY === 0;
  const isIn = ({ chain = '' }: InputLine) => findChain(chain)?.relay === relay && lot.chance(share);
  const blocks = isEverything ? recorded : recorded.filter(isIn);
  const name = isEverything ? 'everything' : `${share} of ${relay}, draw ${draw}`;
  return { name, lines: [...blocks, ...pricesBeside(blocks)] };
}

/**
 * Blocks in any order, cut into batches anyhow, some of them twice, others late or replaced: the same rows as after
 * a clean run. Every file that calls it takes one share of the seeds, so that they run beside each other.
 */
export function permute(share: number, shares: number): void {
  const cleanContents = new Map<string, Content>();
  const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
  const mine = seeds.filter((seed) => seed % shares === share);
  it.each(mine)('ends in the same rows, seed %i', { timeout: 600_000 }, async (seed) => {
    const { name, lines } = linesOf(seed);
    const expected = cleanContents.get(name) ?? (await contentAfterCleanRun(lines));
    cleanContents.set(name, expected);
    const now = seed % BOTH_LANES_EVERY === 0 ? AFTER_RECORDING : LONG_AFTER_RECORDING;
    await using opened = await openTestPipeline(clockFrom(now));
    const { pipeline } = opened;
    const random = new Random(seed);
    for (const stretch of cut(random, 4, cut(random, 20, shuffledDeliveries(random, lines)))) {
      await send(pipeline, random, stretch);
    }
    await pipeline.aggregator.waitUntilComputed();
    expect(differences(await contentOf(pipeline), expected), `seed ${seed}, ${name}`).toEqual([]);
  });
}

async function contentAfterCleanRun(lines: readonly InputLine[]): Promise<Content> {
  await using opened = await openTestPipeline(clockFrom(LONG_AFTER_RECORDING));
  const { pipeline } = opened;
  await ingestAndCompute(pipeline, lines);
  return await contentOf(pipeline);
}

/** Some batches in a row while computation stands still or runs beside, and sometimes until it has caught up. */
async function send(pipeline: Pipeline, random: Random, stretch: readonly Delivery[][]): Promise<void> {
  const { aggregator } = pipeline;
  const ingest = async () => {
    for (const batch of stretch) {
      const isBare = random.chance(0.25) && mayTravelBare(batch);
      await ingestLines(pipeline, isBare ? byChain(batch) : enveloped(batch));
    }
  };
  await (random.chance(0.8) ? aggregator.pauseComputation(ingest) : ingest());
  if (random.chance(0.4)) await aggregator.waitUntilComputed();
}
