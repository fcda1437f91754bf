/**
 * Speed and memory against peers that run on the same machine in the same minutes.
 *
 *     npx node test/bench/run.ts                 a few minutes
 *     npx node test/bench/run.ts --full          1 GB of blocks, 10 million extrinsics
 *     npx node test/bench/run.ts ingest cached   only these
 *     npx node test/bench/rebuild.ts --extrinsics 5000000 --rounds 9
 *
 * Sizes: --megabytes (blocks to ingest), --extrinsics (of the generated history), --rounds. Each bench has a
 * process of its own, since a process holds one engine. All inputs are generated; nothing is kept. Product and
 * peer take turns, the ratio is the median over the rounds. The figures mean something only on a machine that
 * does nothing else.
 *
 * A goal that is missed is printed, not an error: the exit code tells whether the benches themselves work.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Figure, printFigures } from './measure.ts';

/** `memory` comes first: it makes the history that the others read. */
const BENCHES = [
  'memory',
  'rebuild',
  'day',
  'all-metrics',
  'cached',
  'uncached',
  'ingest',
  'state',
  'node',
  'lists',
  'growth',
  'oauth',
  'bearer',
  'alerts',
  'alert-lists',
];

const args = process.argv.slice(2);
const chosen = BENCHES.filter((name) => args.includes(name));
const options = args.filter((arg) => !BENCHES.includes(arg));
const history = mkdtempSync(join(tmpdir(), 'chain-metrics-history-'));
const figures: Figure[] = [];
let broken = 0;
try {
  for (const name of chosen.length > 0 ? chosen : BENCHES) {
    console.error(`${name} …`);
    try {
      figures.push(...(await run(name)));
    } catch (error) {
      broken++;
      console.error(`${name}: ${(error as Error).message}`);
    }
  }
} finally {
  rmSync(history, { recursive: true, force: true });
}
printFigures(figures);
process.exitCode = broken > 0 ? 1 : 0;

function run(name: string): Promise<Figure[]> {
  return new Promise((done, failed) => {
    const figures: Figure[] = [];
    const child = fork(join(import.meta.dirname, `${name}.ts`), [...options, '--history', history], {
      // As the product's processes begin: the engine's queries run in this pool, and reading files must not wait for them.
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '16',
        NODE_OPTIONS: `--max-semi-space-size=16 ${process.env.NODE_OPTIONS ?? ''}`,
      },
    });
    child.on('message', (reported: Figure[]) => figures.push(...reported));
    child.on('exit', (code) => (code === 0 ? done(figures) : failed(new Error(`ended with ${code}`))));
  });
}
