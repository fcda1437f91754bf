import { afterAll, beforeAll, expect, it } from 'vitest';
import { pricesBeside } from '../metrics/shapes/recorded-prices.ts';
import type { InputLine } from '../reference/input.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import { emptyEngine, ingestLines, openTestEngine, type TestEngine } from '../support/engine.ts';
import { Random } from '../support/random.ts';
import { recordedLines } from '../support/recordings.ts';
import { batches, byChain, type Delivery, enveloped, mayTravelBare, shuffledDeliveries } from './deliveries.ts';

const SEEDS = Number(process.env.SEEDS ?? 50);
/** Every so many seeds everything is sent; the others send one of its parts each. */
const EVERYTHING_EVERY = 25;
const PARTS = 6;

const recorded = [...recordedLines('blocks'), ...recordedLines('runtime')];
const everything: readonly InputLine[] = [...recorded, ...pricesBeside(recorded)];
/** The lines of a seed; parts are drawn by lot, so that each has blocks of every kind and neighbours of its own. */
function linesOf(seed: number): { name: string; lines: readonly InputLine[] } {
  if (seed % EVERYTHING_EVERY === 0) return { name: 'everything', lines: everything };
  const part = seed % PARTS;
  const random = new Random(part);
  return { name: `part ${part}`, lines: everything.filter(() => random.chance(1 / PARTS)) };
}

let opened: TestEngine;
const clean = new Map<string, Content>();

beforeAll(async () => {
  opened = await openTestEngine();
});
afterAll(() => opened.close());

const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);

it.each(seeds)('ends in the same rows, seed %i', async (seed) => {
  const { name, lines } = linesOf(seed);
  const expected = clean.get(name) ?? (await contentAfterCleanRun(lines));
  clean.set(name, expected);
  const { engine } = opened;
  await emptyEngine(engine);
  const random = new Random(seed);
  for (const batch of batches(random, shuffledDeliveries(random, lines))) await send(random, batch);
  await engine.aggregator.settle();
  expect(differences(await contentOf(engine), expected), `seed ${seed}, ${name}`).toEqual([]);
});

async function contentAfterCleanRun(lines: readonly InputLine[]): Promise<Content> {
  const { engine } = opened;
  await emptyEngine(engine);
  await engine.aggregator.hold(() => ingestLines(engine, lines));
  await engine.aggregator.settle();
  return contentOf(engine);
}

/** Computation stands still meanwhile, runs beside it, or has caught up before the next batch. */
async function send(random: Random, batch: readonly Delivery[]): Promise<void> {
  const { engine } = opened;
  const isBare = random.chance(0.25) && mayTravelBare(batch);
  const lines = isBare ? byChain(batch) : enveloped(batch);
  const manner = random.pick(['held', 'beside', 'settled'] as const);
  if (manner === 'held') await engine.aggregator.hold(() => ingestLines(engine, lines));
  else await ingestLines(engine, lines);
  if (manner === 'settled') await engine.aggregator.settle();
}
