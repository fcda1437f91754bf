/**
 * Kills a process that deletes old raw rows again and again, and compares all tables with those of one that was left
 * alone: `npx node test/soak/retention-kills.ts [kills] [seed]`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { timeOf } from '../../ingest/decode/block-time.ts';
import { Random } from '../../ingest/demo/random.ts';
import { History } from '../generator/history.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import { ingestAndCompute, openPipelineAt } from '../support/pipeline.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const [kills = '40', seed = '1'] = process.argv.slice(2);
const CHILD = fileURLToPath(new URL('killed-retention.ts', import.meta.url));
const LARGE = ['extrinsics', 'events', 'calls'];
/** A life has about so many words. */
const MOST_WORDS = 16;
/** So many of them replace a month, which takes a few milliseconds. */
const REPLACES = /^ALTER/;
const MOST_REPLACES = 2;
const LONGEST_DELAY_MS = 40;
const LONGEST_REPLACE_MS = 10;

const random = new Random(Number(seed));
const { lines } = new History(Number(seed));
const timeIn = (line: string) => {
  const document = JSON.parse(line);
  return timeOf(Buffer.from(JSON.stringify(document.payload ?? document))) ?? 0;
};
const newest = Math.max(...lines.map(({ line }) => timeIn(line)));
const before = new Date(newest).toISOString();
using place = temporaryDirectory();
const loaded = join(place.path, 'loaded');

const metricsOf = (content: Content): Content =>
  new Map([...content].filter(([name]) => !LARGE.includes(name)));

async function withPipeline<T>(
  path: string,
  use: (pipeline: Awaited<ReturnType<typeof openPipelineAt>>) => Promise<T>,
): Promise<T> {
  const pipeline = await openPipelineAt(path);
  try {
    await pipeline.aggregator.waitUntilComputed();
    return await use(pipeline);
  } finally {
    await pipeline.close();
  }
}

interface Strike {
  readonly at: RegExp;
  readonly wordsBefore: number;
  readonly msMax: number;
}

const anyStrike = (): Strike =>
  random.chance(0.5)
    ? { at: REPLACES, wordsBefore: random.whole(0, MOST_REPLACES), msMax: LONGEST_REPLACE_MS }
    : { at: /./, wordsBefore: random.whole(0, MOST_WORDS), msMax: LONGEST_DELAY_MS };

/** One process; returns its last word before it was killed, which is `done` where it had nothing left to do. */
async function live(path: string, strike?: Strike): Promise<string> {
  const child = spawn(process.execPath, [CHILD, path, before], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, UV_THREADPOOL_SIZE: '16', TZ: 'UTC' },
  });
  let last = 'starting';
  let left = strike?.wordsBefore ?? Number.POSITIVE_INFINITY;
  createInterface({ input: child.stdout }).on('line', (word) => {
    last = word;
    if (word === 'done') child.kill('SIGKILL');
    else if (strike?.at.test(word) && left-- === 0)
      setTimeout(() => child.kill('SIGKILL'), random.whole(0, strike.msMax));
  });
  const [code] = await once(child, 'close');
  if (code !== null) throw new Error(`the process ended with ${code}`);
  return last;
}

const original = await withPipeline(loaded, async (pipeline) => {
  await ingestAndCompute(pipeline, lines);
  return contentOf(pipeline);
});
const copy = (name: string) => {
  const path = join(place.path, name);
  cpSync(loaded, path, { recursive: true, verbatimSymlinks: true });
  return path;
};
const alone = copy('alone');
await live(alone);
const expected = await withPipeline(alone, contentOf);
const faults = differences(metricsOf(expected), metricsOf(original));
const rowsOf = (content: Content) => LARGE.map((name) => content.get(name)?.length);
process.stdout.write(`before ${before}: rows ${rowsOf(original)}, then ${rowsOf(expected)}\n`);

const during: Record<string, number> = {};
for (let killed = 0, stores = 0; killed < Number(kills) && faults.length === 0; stores++) {
  const path = copy(String(stores));
  for (let last = ''; last !== 'done'; killed++) {
    last = await live(path, anyStrike());
    during[last] = (during[last] ?? 0) + 1;
  }
  const isLast = killed >= Number(kills);
  await withPipeline(path, async (pipeline) => {
    faults.push(...differences(await contentOf(pipeline), expected));
    if (!isLast) return;
    await pipeline.aggregator.rebuild(materializedMetrics, '2020-01-01', '2030-01-01');
    faults.push(...differences(metricsOf(await contentOf(pipeline)), metricsOf(original)));
  });
}
process.stdout.write(`${JSON.stringify(during)}\n`);
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
