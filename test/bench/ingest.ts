/**
 * Files of blocks to durable tables and computed metrics, against the engine alone parsing the same files by the
 * same types and keeping nothing.
 */
import { createReadStream, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { chunkBySize } from '../../infra/chunk.ts';
import { LOAD_SETTINGS } from '../../infra/clickhouse/settings.ts';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import type { Pieces, StagedBatch } from '../../infra/ports.ts';
import { DATABASE, literal } from '../../infra/sql.ts';
import { createView } from '../../infra/table.ts';
import { fileStem } from '../../ingest/chains/chain-of-file.ts';
import { readLine, splitEnvelope } from '../../ingest/log/envelope.ts';
import { blocksIn } from '../../ingest/raw/block-landing.ts';
import { blockLine } from '../../ingest/raw/landing-lines.ts';
import { blockViews } from '../../ingest/raw/views/blocks.ts';
import { readLines } from '../../ingest/sources/lines.ts';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type BlockFile, writeBlockFiles } from './blocks.ts';
import { BENCH_SETTINGS } from './history.ts';
import { compare, milliseconds, ms, readSizes, report } from './measure.ts';

const GOAL = 0.3;
/** The types of a bare block: those of the payload in the inlet. */
const PAYLOAD = blocksIn.columns.payload.slice('Tuple('.length, -1);

const sizes = readSizes();
const rounds = Math.min(sizes.rounds, 3);
using directory = temporaryDirectory();
const files: readonly Pick<BlockFile, 'path' | 'name' | 'bytes'>[] = sizes.blocks
  ? [{ path: sizes.blocks, name: basename(sizes.blocks), bytes: statSync(sizes.blocks).size }]
  : await writeBlockFiles(directory.path, sizes.megabytes);
const megabytes = files.reduce((sum, file) => sum + file.bytes, 0) / 1e6;
const parts = { load: 0, compute: 0, again: 0 };
// Every round has a store of its own; one process holds one store at a time.
let pipeline: Pipeline | undefined;
let stores = 0;
const { product, peer, ratio } = await compare(rounds, ingestAll, parseAll);
const details = await costs();
await pipeline?.close();
report([
  {
    work: `${Math.round(megabytes)} MB of blocks to tables and metrics`,
    peer: 'typed parse to Null by the engine',
    figure: `${ms(product)} against ${ms(peer)}`,
    // Speed, not time: how much of the engine's own pace is left.
    ratio: 1 / ratio,
    goal: `>= ${GOAL}`,
    met: 1 / ratio >= GOAL,
    details,
  },
]);

async function freshPipeline(): Promise<Pipeline> {
  await pipeline?.close();
  const path = join(directory.path, `store-${++stores}`);
  pipeline = await openPipeline(readConfig({ ...BENCH_SETTINGS, DATA_DIR: path }));
  return pipeline;
}

async function ingestAll(): Promise<number> {
  const { aggregator, ingestAll } = await freshPipeline();
  // As the command reads them.
  const load = () =>
    milliseconds(() =>
      aggregator.pauseComputation(async () => {
        await ingestAll(
          files.map((file) => ({ name: file.name, bytes: opened(file) })),
          {},
        );
      }),
    );
  parts.load = await load();
  parts.compute = await milliseconds(() => aggregator.waitUntilComputed());
  parts.again = (await load()) + (await milliseconds(() => aggregator.waitUntilComputed()));
  return parts.load + parts.compute;
}

async function parseAll(): Promise<number> {
  const { store } = (pipeline ?? (await freshPipeline())).runtime;
  await store.run(`CREATE TABLE IF NOT EXISTS ${DATABASE}.parsed (${PAYLOAD}) ENGINE = Null`);
  return milliseconds(async () => {
    for (const { path } of files) {
      await store.run(
        `INSERT INTO ${DATABASE}.parsed SELECT * FROM file(${literal(path)}, 'JSONEachRow', ${literal(PAYLOAD)}) SETTINGS ${LOAD_SETTINGS}`,
      );
    }
  });
}

function opened({ path }: Pick<BlockFile, 'path'>) {
  return createReadStream(path, { highWaterMark: 1024 * 1024 });
}

/** What the parts cost when they run one after the other; in the product they overlap. */
async function costs(): Promise<string[]> {
  const { runtime, registry, config } = await freshPipeline();
  const { store } = runtime;
  const taken = { lines: 0, envelopes: 0, decoding: 0, staging: 0 };
  const rows: { readonly landing: Pieces; readonly bytes: number }[] = [];
  for (const file of files) {
    const chain = registry.find(fileStem(file.name));
    if (!chain) throw new Error(`unknown chain: ${file.name}`);
    const lines: Buffer[] = [];
    taken.lines += await milliseconds(async () => {
      for await (const { bytes } of readLines(opened(file), config.LINE_BYTES_MAX)) lines.push(bytes);
    });
    const origin = { source: 'import', origin: file.name, line: 0 };
    let heads: ReturnType<typeof splitEnvelope>[] = [];
    taken.envelopes += await milliseconds(async () => {
      heads = lines.map((line) => {
        const read = readLine(line, chain, registry, origin);
        return 'refused' in read ? null : splitEnvelope(read.value);
      });
    });
    taken.decoding += await milliseconds(async () => {
      for (const split of heads) {
        if (split === null) continue;
        const landing = blockLine(rows.length, split.head, chain, split.payload);
        rows.push({ landing, bytes: split.payload.length });
      }
    });
  }
  const batches: StagedBatch[] = [];
  taken.staging = await milliseconds(async () => {
    for (const some of chunkBySize(rows, config.BATCH_BYTES, ({ bytes }) => bytes)) {
      batches.push(
        await store.stage(
          blocksIn,
          some.map(({ landing }) => landing),
        ),
      );
    }
  });
  const load = () =>
    milliseconds(async () => {
      for (const batch of batches) await batch.commit(sequenceAt(Date.now()));
    });
  const all = await load();
  for (const view of blockViews) await store.run(`DROP TABLE ${DATABASE}.${view.name} SYNC`);
  await load();
  const none = await load();
  const views: string[] = [];
  for (const view of blockViews) {
    const path = pathTo(view);
    if (path.length === 0) continue;
    for (const one of path) await store.run(createView(one));
    views.push(`  ${path.map((one) => one.name).join(', ')}: +${ms(Math.max(0, (await load()) - none))}`);
    for (const one of path) await store.run(`DROP TABLE ${DATABASE}.${one.name} SYNC`);
  }
  return [
    `of ${ms(parts.load + parts.compute)}: loading ${ms(parts.load)} (reading and loading overlap), computing ${ms(parts.compute)}`,
    `the same files again: ${ms(parts.again)}`,
    `reading lines ${ms(taken.lines)}, envelopes ${ms(taken.envelopes)}, scan and decode ${ms(taken.decoding)}, staging ${ms(taken.staging)}`,
    `INSERT of ${batches.length} batches: without views ${ms(none)}, with all ${ms(all)}; with one view and those it needs:`,
    ...views,
  ];
}

/** The view and those that feed it from the inlet; none for views of kept tables, which come with their own. */
function pathTo(view: (typeof blockViews)[number]): (typeof blockViews)[number][] {
  if (view.from.name === blocksIn.name) return [view];
  const feeding = blockViews.find((other) => other.to.name === view.from.name && other.to.engine === 'Null');
  const path = feeding ? pathTo(feeding) : [];
  return path.length > 0 ? [...path, view] : [];
}
