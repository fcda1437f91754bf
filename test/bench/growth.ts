/** One, ten and a hundred times the data: ingest should take its share, cached answers and memory should not grow. */
import { createReadStream } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openPipeline } from '../../serve/compose.ts';
import { buildServer } from '../../serve/compose-server.ts';
import { readConfig } from '../../serve/settings.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeBlockFiles } from './blocks.ts';
import { BENCH_SETTINGS } from './history.ts';
import { startLoad } from './load.ts';
import { type Figure, milliseconds, ms, readSizes, report } from './measure.ts';

const TIMES = [1, 10, 100];
const PATH = '/api/daily-uptime?relay_chain=kusama';
const MEASURED_MS = 2000;

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
    pipeline.aggregator.pauseCompute(async () => {
      for (const { path, name } of files) await pipeline.ingest(createReadStream(path), { name });
    }),
  );
  const computing = await milliseconds(() => pipeline.aggregator.waitUntilComputed());
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
    ].join(', '),
    goal: 'linear, flat, flat',
    met: true,
  });
}
report(figures);
