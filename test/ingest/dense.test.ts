import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { sql } from '../../infra/sql.ts';
import { calls } from '../../ingest/raw/tables.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { busyBlock } from '../bench/busiest-day.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const BLOCKS = 8;

it('blocks of thousands of nested calls are loaded together within little memory', async () => {
  using directory = temporaryDirectory();
  const pipeline = await openPipeline(
    readConfig({ DATA_DIR: directory.path, STORE_MEMORY_BYTES: String(2 ** 30), LOG_LEVEL: 'silent' }),
  );
  const lines = Array.from({ length: BLOCKS }, (_, i) => `${busyBlock(i)}\n`);
  const summary = await pipeline.ingest(Readable.from([Buffer.from(lines.join(''))]), {
    name: 'polkadot.ndjson',
  });
  expect(summary).toMatchObject({ blocks: BLOCKS, refused_lines: 0 });
  const [found] = await pipeline.runtime.store.rows<{ nested: number }>(
    sql`SELECT countIf(path != '') AS nested FROM ${calls}`,
  );
  expect(found?.nested).toBeGreaterThan(BLOCKS * 1000);
  await pipeline.close();
});
