/**
 * The same blocks in files of every shape must give the same rows and the same dead letters, and bad input may cost at
 * most twice what good input does:
 *
 *     npx node test/soak/input-shapes.ts [megabytes]        200 by default; 2000 takes some minutes
 *
 * Each shape is given to the command in a process of its own, with a data directory of its own.
 */
import { spawn } from 'node:child_process';
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { EmbeddedStore } from '../../infra/embedded/store.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import { blocks, calls, deadLetters, events, extrinsics, refusedFacts } from '../../ingest/raw/tables.ts';
import { readLines } from '../../ingest/sources/lines.ts';
import type { RunReport } from '../../serve/application/cli/ingest-inputs.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { writeBlockFile } from '../bench/blocks.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHAIN = 'kusama';
const SMALL_FILES = 10_000;
const LONG_LINE_BYTES = 60e6;
const MOST_TIMES = 2;
const BIN = join(import.meta.dirname, '../../serve/chain-metrics');
/** Tells what the process took, when it ends. */
const USAGE =
  'data:text/javascript,process.on("exit",()=>console.error("\\nUSAGE "+JSON.stringify(process.resourceUsage())))';

const megabytes = Number(process.argv[2] ?? 200);
using place = temporaryDirectory();
const at = (name: string) => join(place.path, name);
let faults = 0;

const whole = await writeBlockFile(at('whole.ndjson'), CHAIN, megabytes);
await packed(whole.path);
const cut = at('cut.ndjson');
await pipeline(createReadStream(whole.path, { end: whole.bytes - 5000 }), createWriteStream(cut));
await packed(cut);
const long = await withLongLine();
await packed(long);

await same('all blocks', { lost: 0 }, [whole.path, `${whole.path}.gz`, `${whole.path}.zst`]);
await same('the last line cut off', { lost: 1 }, [cut, `${cut}.gz`, `${cut}.zst`]);
await same('a line of 60 MB', { lost: 0 }, [long, `${long}.gz`]);
await same('a line longer than is allowed', { lost: 1, env: { LINE_BYTES_MAX: '1000000' } }, [
  long,
  `${long}.gz`,
]);
const few = await manyFiles();
await same('a file for each block', { lost: 0 }, [few.file, few.directory]);
await badInput();
console.log(faults === 0 ? 'all the same' : `${faults} faults`);
process.exitCode = faults === 0 ? 0 : 1;

interface Taken {
  readonly report: RunReport;
  readonly cpuSeconds: number;
  readonly content: ReadonlyMap<string, string>;
}

async function same(
  what: string,
  { lost, env }: { readonly lost: number; readonly env?: Readonly<Record<string, string>> },
  paths: readonly string[],
): Promise<void> {
  let first: Taken | undefined;
  for (const path of paths) {
    const taken = await ingest(what, path, env);
    first ??= taken;
    if (taken.report.refused_lines !== lost)
      fault(`${taken.report.refused_lines} lines refused, not ${lost}`);
    for (const [table, digest] of taken.content) {
      if (first.content.get(table) !== digest)
        fault(`${table}: ${digest} against ${first.content.get(table)}`);
    }
  }
}

function fault(words: string): void {
  faults++;
  console.log(`  FAULT ${words}`);
}

/** One in a hundred lines is broken, in the ways in which only JavaScript, or only the engine, finds it. */
async function badInput(): Promise<void> {
  const good = await ingest('good input', whole.path);
  const ways: Readonly<Record<string, (line: string) => string>> = {
    'cut off': (line) => line.slice(0, -1000),
    'garbage inside': (line) => line.replace('"extrinsics":[{', '"extrinsics":[@{'),
    'of another type': (line) => line.replace('"extrinsics":[{', '"extrinsics":[7,{'),
  };
  for (const [way, broken] of Object.entries(ways)) {
    const file = at('bad.ndjson');
    const out = openSync(file, 'w');
    let bad = 0;
    for await (const { number, bytes } of readLines(createReadStream(whole.path), 2 ** 26)) {
      const isBad = number % 100 === 50;
      if (isBad) bad++;
      writeSync(out, `${isBad ? broken(bytes.toString()) : bytes}\n`);
    }
    const taken = await ingest(`1 % of lines ${way}`, file);
    const times = taken.cpuSeconds / good.cpuSeconds;
    console.log(`  ${times.toFixed(2)} times the processor time of good input`);
    if (times > MOST_TIMES) fault(`more than ${MOST_TIMES} times`);
    if (taken.report.refused_lines !== bad) fault(`${taken.report.refused_lines} lines refused, not ${bad}`);
    rmSync(file);
  }
}

async function packed(path: string): Promise<void> {
  await pipeline(createReadStream(path), createGzip({ level: 1 }), createWriteStream(`${path}.gz`));
  await pipeline(createReadStream(path), createZstdCompress(), createWriteStream(`${path}.zst`));
}

/** Blocks around one whose remark is as long as a block of a chain can hardly be. */
async function withLongLine(): Promise<string> {
  const path = at('long.ndjson');
  const out = openSync(path, 'w');
  for await (const { number, bytes } of readLines(createReadStream(whole.path), 2 ** 26)) {
    const line = bytes.toString();
    const remark = '{"method":{"pallet":"system","method":"remark"},"args":{"remark":"0x';
    const filler = `${remark}${'ab'.repeat(LONG_LINE_BYTES / 2)}"},"events":[]},`;
    writeSync(out, `${number === 100 ? line.replace('"extrinsics":[', `"extrinsics":[${filler}`) : line}\n`);
    if (number === 200) break;
  }
  return path;
}

async function manyFiles(): Promise<{ file: string; directory: string }> {
  const directory = at('files');
  mkdirSync(directory);
  const file = at('few.ndjson');
  const out = openSync(file, 'w');
  for await (const { number, bytes } of readLines(createReadStream(whole.path), 2 ** 26)) {
    if (number > SMALL_FILES) break;
    writeFileSync(join(directory, `${String(number).padStart(6, '0')}.json`), bytes);
    writeSync(out, `${bytes}\n`);
  }
  return { file, directory };
}

async function ingest(
  what: string,
  path: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Taken> {
  const DATA_DIR = at('data');
  rmSync(DATA_DIR, { recursive: true, force: true });
  const NODE_OPTIONS = `--import ${USAGE}`;
  const child = spawn(BIN, ['ingest', '--json', '--chain', CHAIN, path], {
    env: { ...process.env, NODE_OPTIONS, ...env, DATA_DIR },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [, usage] = /USAGE (.*)/.exec(stderr) ?? [];
  if (usage === undefined) throw new Error(`${path}: ${stderr}`);
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(usage) as NodeJS.ResourceUsage;
  const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6;
  const report = JSON.parse(stdout) as RunReport;
  const { seconds, lines, blocks: loaded, refused_lines } = report;
  console.log(
    `${what}, ${basename(path)}: ${lines} lines, ${loaded} blocks, ${refused_lines} refused in ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time, at most ${Math.round(maxRSS / 1024)} MiB`,
  );
  return { report, cpuSeconds, content: await contentOf(DATA_DIR) };
}

/** Of each table, the number of its rows and a hash of them. */
function contentOf(directory: string): Promise<ReadonlyMap<string, string>> {
  const facts = (except: string, table: { readonly name: string }) =>
    sql`SELECT * EXCEPT (${raw(except)}) FROM ${table} FINAL`;
  const statements = new Map<string, Sql>([
    [blocks.name, facts('rank, received_at, source, run', blocks)],
    ...[extrinsics, events, calls, refusedFacts].map((table) => [table.name, facts('rank', table)] as const),
    ...materializedMetrics.map(({ name, table }) => [name, facts('version, is_deleted', table)] as const),
    [deadLetters.name, sql`SELECT topic, reason, size, bytes FROM ${deadLetters} FINAL`],
  ]);
  return EmbeddedStore.inspect(readConfig({ DATA_DIR: directory }), async (store) => {
    const digests = new Map<string, string>();
    for (const [name, rows] of statements) {
      const [row] = await store.rows<{ digest: string }>(
        sql`SELECT concat(toString(count()), ' rows ', hex(sum(cityHash64(*)))) AS digest FROM (${rows})`,
      );
      digests.set(name, row?.digest ?? '');
    }
    return digests;
  });
}
