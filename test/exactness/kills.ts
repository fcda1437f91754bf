import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../infra/ports.ts';
import { Random } from '../../ingest/demo/random.ts';
import { pricesBeside } from '../aggregate/metrics/shapes/recorded-prices.ts';
import { shapeHash } from '../reference/shaped.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import {
  AFTER_RECORDING,
  clockFrom,
  ingestAndCompute,
  LONG_AFTER_RECORDING,
  openPipelineAt,
  openTestPipeline,
} from '../support/pipeline.ts';
import { type Place, placeIn } from '../support/power-cut.ts';
import { recordedLines } from '../support/recordings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { byChain, type Delivery } from './deliveries.ts';

const CHILD = fileURLToPath(new URL('killed-child.ts', import.meta.url));
const BATCHES = 6;
const MOST_WORDS = 8;
const LONGEST_DELAY_MS = 400;
/** In every so many stores some days are of the live lane and some of the other; else all are of the other. */
const BOTH_LANES_EVERY = 3;

export interface KillReport {
  readonly kills: number;
  /** How many of them struck while the store was opened, took in batches, or computed. */
  readonly during: Readonly<Record<string, number>>;
  /** Stores that were filled over several lives and then compared with one that was never killed. */
  readonly stores: number;
  /** What was acknowledged and gone after a restart, and rows that differ at the end. */
  readonly faults: readonly string[];
}

/**
 * Fills stores by processes that are killed at any moment, until there were so many kills. Each process goes on
 * where its predecessor was told that its batches are safe.
 */
export async function killOften(
  { kills, seed, powerCutsOn }: { kills: number; seed: number; powerCutsOn?: string },
  onKill: (report: KillReport) => void = () => {},
): Promise<KillReport> {
  const random = new Random(seed);
  const report = { kills: 0, during: {} as Record<string, number>, stores: 0, faults: [] as string[] };
  while (report.kills < kills && report.faults.length === 0) {
    const batches = batchesOf(random);
    const isOfBothLanes = report.stores % BOTH_LANES_EVERY === 0;
    const clock = clockFrom(isOfBothLanes ? AFTER_RECORDING : LONG_AFTER_RECORDING);
    using directory = temporaryDirectory();
    using place = placeIn(directory.path, powerCutsOn);
    const files = {
      store: join(place.path, 'data'),
      batches: join(directory.path, 'batches.json'),
      acknowledged: join(directory.path, 'acknowledged'),
    };
    writeFileSync(files.batches, JSON.stringify(batches));
    for (let isDone = false; !isDone && report.faults.length === 0; ) {
      const life = await liveAndDie(place, Object.values(files), clock, report.kills < kills ? random : null);
      report.faults.push(...life.faults);
      isDone = life.phase === 'done';
      if (isDone || report.faults.length > 0) continue;
      place.restart();
      report.kills += 1;
      report.during[life.phase] = (report.during[life.phase] ?? 0) + 1;
      onKill(report);
    }
    if (report.faults.length > 0) break;
    report.stores += 1;
    const expected = await contentOfCleanRun(batches, clock);
    const pipeline = await openPipelineAt(files.store, clock);
    await pipeline.aggregator.waitUntilComputed();
    report.faults.push(...differences(await contentOf(pipeline), expected));
    await pipeline.close();
  }
  return report;
}

/** Part of everything recorded, in an order of its own; some heights first in a version that is replaced later. */
function batchesOf(random: Random): Delivery[][] {
  const recorded = [...recordedLines('blocks'), ...recordedLines('runtime')];
  const lines = [...recorded, ...pricesBeside(recorded)].filter(() => random.chance(0.15));
  const batches = Array.from({ length: BATCHES }, (): Delivery[] => []);
  for (const line of lines) {
    const at = random.whole(0, BATCHES - 1);
    batches[at]?.push(line);
    if (line.chain !== undefined && random.chance(0.3))
      batches[random.whole(0, at)]?.unshift(replaced(random, line));
  }
  return batches;
}

function replaced(random: Random, { line, ...rest }: Delivery): Delivery {
  const block = JSON.parse(line) as { extrinsics: object[] };
  return {
    ...rest,
    line: JSON.stringify({
      ...block,
      hash: shapeHash(random.whole(1, 1e9)),
      extrinsics: block.extrinsics.slice(0, -1),
    }),
  };
}

async function contentOfCleanRun(batches: readonly Delivery[][], clock: Clock): Promise<Content> {
  const { pipeline, close } = await openTestPipeline(clock);
  await ingestAndCompute(pipeline, byChain(batches.flat()));
  const content = await contentOf(pipeline);
  await close();
  return content;
}

/** One process, until it is done or, where a lot is given, until its end by force. */
async function liveAndDie(
  place: Place,
  files: readonly string[],
  clock: Clock,
  lot: Random | null,
): Promise<{ phase: string; faults: string[] }> {
  const now = new Date(clock.now()).toISOString();
  const child = spawn(process.execPath, [CHILD, ...files, now, String(place.isForced)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
  });
  const life = { phase: 'starting', faults: [] as string[] };
  let errors = '';
  child.stderr.on('data', (bytes) => {
    errors += String(bytes);
  });
  // Its words tell how far it is, so that the end comes at any stage on fast and on slow machines.
  let wordsLeft = lot?.whole(0, MOST_WORDS) ?? Number.POSITIVE_INFINITY;
  const strike = () => setTimeout(() => void place.end(child), lot?.whole(0, LONGEST_DELAY_MS));
  if (wordsLeft === 0) strike();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('lost ')) life.faults.push(line);
    else life.phase = line;
    wordsLeft -= 1;
    if (wordsLeft === 0) strike();
  });
  const [code] = await once(child, 'close');
  if (code !== null && code !== 0) life.faults.push(`the process failed: ${errors.slice(0, 1000)}`);
  return life;
}
