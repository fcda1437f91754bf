import { afterEach, beforeEach, expect, test } from 'vitest';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { readStatus } from '../../aggregate/status/status.ts';
import { meta } from '../../infra/clickhouse/schema.ts';
import { DATABASE } from '../../infra/sql.ts';
import { DECODER_VERSIONS, decoders } from '../../ingest/raw/decoders.ts';
import { loadedBlocks } from '../../ingest/raw/tables.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { pricesBeside } from '../aggregate/metrics/shapes/recorded-prices.ts';
import { contentOf, differences } from '../support/content.ts';
import { ingestAndCompute, openPipelineAt } from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

const runtimes = recordedLines('runtime');
const lines = [...pricesBeside(runtimes), ...runtimes];

let directory: TemporaryDirectory;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory[Symbol.dispose]());

/** Fills a store, makes it look as another version would have left it, and opens it again. */
async function reopenAfter(change: (pipeline: Pipeline) => Promise<void>) {
  const filled = await openPipelineAt(directory.path);
  await ingestAndCompute(filled, lines);
  const expected = await contentOf(filled);
  await change(filled);
  await filled.close();
  return { expected, pipeline: await openPipelineAt(directory.path) };
}

test('metrics that another version defined otherwise are computed again at the start', async () => {
  const { expected, pipeline } = await reopenAfter(async ({ runtime: { store } }) => {
    for (const { name } of materializedMetrics.map(({ table }) => table)) {
      await store.run(`TRUNCATE TABLE ${DATABASE}.${name} SYNC`);
      await store.insert(meta, [{ name: `table ${name}`, value: 'of another version' }]);
    }
  });
  await pipeline.aggregator.waitUntilComputed();
  expect(differences(await contentOf(pipeline), expected)).toEqual([]);
  await pipeline.close();
});

test('blocks and snapshots that another decoder loaded are outdated until they are ingested again', async () => {
  const { expected, pipeline } = await reopenAfter(async ({ runtime: { store } }) => {
    // The hash of a block's content includes the decoder, so the other version stored other hashes.
    for (const { name } of [decoders, loadedBlocks])
      await store.run(`TRUNCATE TABLE ${DATABASE}.${name} SYNC`);
    const former = Object.entries(DECODER_VERSIONS).map(([stream, version]) => ({
      ...{ stream, version: version - 1, since: '0' },
    }));
    await store.insert(decoders, former);
    await store.insert(meta, [{ name: 'schema_applied', value: 'of another version' }]);
  });
  const outdated = async () => {
    const { chains, outdated_snapshots } = await readStatus(pipeline.runtime, pipeline.aggregator);
    return [chains.reduce((sum, chain) => sum + chain.outdated_blocks, 0), outdated_snapshots];
  };
  const rowsOf = (table: string) => expected.get(table)?.length ?? 0;
  expect(await outdated()).toEqual([rowsOf('blocks'), rowsOf('snapshots') + rowsOf('prices')]);
  await ingestAndCompute(pipeline, lines);
  expect(await outdated()).toEqual([0, 0]);
  expect(differences(await contentOf(pipeline), expected)).toEqual([]);
  await pipeline.close();
});
