import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOfCleanRun, everythingRecorded } from '../distributed/clean-run.ts';
import { pause, until } from '../infra/ports/opened.ts';
import { contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines } from '../support/pipeline.ts';
import { startClickHouse } from '../support/services/clickhouse.ts';
import { addresses, startServices } from '../support/services/index.ts';

// `npx node test/soak/full-disk.ts`, as a user who may mount: ClickHouse on a small disk that fills up. Loading must
// wait, lose nothing, and go on by itself when there is room again.
const DISK = '400m';
const FILL_MS = 50;
const AWAY_MS = 4000;

const lines = everythingRecorded();
const expected = await contentOfCleanRun(lines);
const directory = mkdtempSync(join(tmpdir(), 'chain-metrics-full-'));
execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', directory]);
let faults: string[] = [];
try {
  await using services = await startServices();
  await using clickhouse = await startClickHouse({ directory: join(directory, 'clickhouse') });
  if (clickhouse.kind === 'container')
    throw new Error('a container has a disk of its own: run it where Docker is not');
  const environment = services.environment(addresses({ ...services, clickhouse }));
  const pipeline = await joinPipeline(environment, 'load', 'work');
  await ingestLines(pipeline, lines.slice(0, lines.length / 2));
  await pipeline.waitUntilComputed();

  const filler = join(directory, 'filler');
  // Again and again, since merges give back what they have merged.
  const filling = setInterval(() => fill(filler), FILL_MS);
  fill(filler);
  const rest = ingestLines(pipeline, lines.slice(lines.length / 2));
  rest.catch(() => undefined);
  await until('a load has failed', () => pipeline.loader.counters.failures > 0, 60_000);
  process.stdout.write('the disk is full: loading waits\n');
  await pause(AWAY_MS);
  process.stdout.write(`${pipeline.loader.counters.failures} tries so far\n`);
  clearInterval(filling);
  rmSync(filler);
  await rest;
  await pipeline.waitUntilComputed();
  faults = differences(await contentOf(pipeline), expected);
  await pipeline.close();
} finally {
  execFileSync('umount', ['-l', directory]);
  rmSync(directory, { recursive: true, force: true });
}
/** Until not another page fits. */
function fill(file: string): void {
  for (let size = 2 ** 20; size >= 4096; ) {
    try {
      appendFileSync(file, Buffer.alloc(size));
    } catch {
      size /= 16;
    }
  }
}

process.stdout.write(faults.length === 0 ? 'the same rows\n' : `${faults.join('\n')}\n`);
process.exit(faults.length === 0 ? 0 : 1);
