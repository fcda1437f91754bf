/** An answer that no cache holds, against the engine alone running the same query. */
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { againstEngineAlone } from './engine-alone.ts';
import { openHistory, YEAR } from './history.ts';
import { type Figure, readSizes, report } from './measure.ts';

const GOAL = 0.9;
const YEAR_ROWS = 365;
const PATH = `/api/daily-tps?relay_chain=polkadot&chain=polkadot&start_date=${YEAR.from}&end_date=${YEAR.until}`;

const sizes = readSizes();
// No answer fits into a cache of one byte.
const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history, { CACHE_BYTES: '1' });
// A round beside the load would take its processor, and change the ETag.
await pipeline.aggregator.waitForFailures();
const app = await buildServer(pipeline);
await app.listen({ port: 0 });
/** So many that no two connections ask for the same one at a time. */
const DISTINCT = Array.from({ length: 300 }, (_, i) => `${PATH}&limit=${YEAR_ROWS + i}`);
const figures: Figure[] = [];
for (const [work, paths] of [
  ['uncached answer of 365 rows, the same for all', [PATH]],
  ['uncached answers of 365 rows, each another', DISTINCT],
] as const) {
  const { product, peer, ratio } = await againstEngineAlone(app, pipeline, paths, sizes.rounds);
  figures.push({
    work,
    peer: 'the same queries, engine alone',
    figure: `${Math.round(product)} against ${Math.round(peer)} a second`,
    ratio,
    goal: `>= ${GOAL}`,
    met: ratio >= GOAL,
  });
}
await app.close();
await close();
report(figures);
