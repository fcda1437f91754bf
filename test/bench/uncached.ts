/** An answer that no cache holds, against the engine alone running the same query. */
import { buildServer } from '../../serve/compose-server.ts';
import { againstEngineAlone } from './engine-alone.ts';
import { openHistory, YEAR } from './history.ts';
import { readSizes, report } from './measure.ts';

const GOAL = 0.9;
const PATH = `/api/daily-tps?relay_chain=polkadot&chain=polkadot&start_date=${YEAR.from}&end_date=${YEAR.until}`;

const sizes = readSizes();
// No answer fits into a cache of one byte.
const { pipeline, close } = await openHistory(sizes.extrinsics, sizes.history, { CACHE_BYTES: '1' });
const app = await buildServer(pipeline);
await app.listen({ port: 0 });
const { product, peer, ratio } = await againstEngineAlone(app, pipeline, PATH, sizes.rounds);
await app.close();
await close();
report([
  {
    work: 'uncached answer of 365 rows',
    peer: 'the same query, engine alone',
    figure: `${Math.round(product)} against ${Math.round(peer)} a second`,
    ratio,
    goal: `>= ${GOAL}`,
    met: ratio >= GOAL,
  },
]);
