/**
 * One, ten and a hundred times the data: ingest and the disk should take their share, cached answers and memory should
 * not grow. `--megabytes 10000` is the largest that was run; it needs 12 GB of disk.
 */
import { createReadStream } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DATABASE, sql } from '../../infra/sql.ts';
import { extrinsics } from '../../ingest/raw/tables.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeBlockFiles } from './blocks.ts';
import { BENCH_SETTINGS } from './history.ts';
import { startLoad } from './load.ts';
import { type Figure, milliseconds, ms, readSizes, report } from './measure.ts';

const TIMES = [1, 10, 100];
const PATH = '/api/daily-uptime?relay_chain=kusama';
const MEASURED_MS = 2000;
/** As the command reads them. */
const PIECES = { highWaterMark: 2 ** 20 };

const sizes = readSizes();
const figures: Figure[] = [];
for (const times of TIMES) {
  using directory = temporaryDirectory();
  const files = await writeBlockFiles(directory.path, (sizes.megabytes * times) / Math.max(...TIMES));
  const megabytes = files.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
  const pipeline = await openPipeline(
    readConfig({ ...BENCH_SETTINGS, DATA_DIR: join(directory.path, 'store') }),
  );
  const load = await milliseconds(() =>
    pipeline.aggregator.pauseComputation(async () => {
      const sources = files.map(({ path, name }) => ({ name, bytes: createReadStream(path, PIECES) }));
      await pipeline.ingestAll(sources, {});
    }),
  );
  const computing = await milliseconds(() => pipeline.aggregator.waitUntilComputed());
  const [stored] = await pipeline.runtime.store.rows<{ bytes: number; extrinsics: number }>(
    sql`SELECT sum(bytes_on_disk) AS bytes, sumIf(rows, table = ${extrinsics.name}) AS extrinsics
      FROM system.parts WHERE active AND database = ${DATABASE}`,
  );
  const { bytes = 0, extrinsics: count = 0 } = stored ?? {};
  const app = await buildServer(pipeline);
  await app.listen({ port: 0 });
  const asker = startLoad();
  const { port } = app.server.address() as AddressInfo;
  const rate = await asker.ask({ port, paths: [PATH], milliseconds: MEASURED_MS });
  asker.stop();
  await app.close();
  await pipeline.close();
  figures.push({
    work: `${times} × (${megabytes.toFixed(1)} MB)`,
    peer: '',
    figure: [
      `loaded at ${((megabytes / load) * 1000).toFixed(1)} MB/s`,
      `computed in ${ms(computing)}`,
      `${Math.round(rate)} cached answers/s`,
      `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`,
      `${(bytes / count).toFixed(0)} MB on disk for a million extrinsics`,
    ].join(', '),
    goal: 'linear, linear, flat, flat, flat',
    met: true,
  });
}
report(figures);
