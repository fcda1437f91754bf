/** An answer that no cache holds, against the engine alone running the same query. */
import type { AddressInfo } from 'node:net';
import type { Sql } from '../../infra/kernel/sql.ts';
import type { Format, Store } from '../../infra/runtime.ts';
import { buildApp } from '../../serve/app.ts';
import { openHistory, YEAR } from './history.ts';
import { startLoad } from './load.ts';
import { compare, readSizes, report } from './measure.ts';

const GOAL = 0.9;
const MEASURED_MS = 2000;
/** As many as the load has connections. */
const AT_ONCE = 32;
const PATH = `/api/daily-tps?relay_chain=polkadot&chain=polkadot&start_date=${YEAR.from}&end_date=${YEAR.until}`;

const sizes = readSizes();
// No answer fits into a cache of one byte.
const { engine, close } = await openHistory(sizes.extrinsics, sizes.history, { CACHE_BYTES: '1' });
const app = await buildApp(engine);
const origin = await app.listen({ port: 0 });
const asked = await queryBehind(engine.runtime.store, async () => {
  await (await fetch(origin + PATH)).arrayBuffer();
});

const load = startLoad();
const port = (app.server.address() as AddressInfo).port;
const { product, peer, ratio } = await compare(
  sizes.rounds,
  () => load.ask({ port, path: PATH, milliseconds: MEASURED_MS }),
  () => engineAlone(engine.runtime.store, asked),
);
load.stop();
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

type Asked = readonly [statement: Sql, format: Format];

/** What the server asks the store for an answer. */
async function queryBehind(store: Store, request: () => Promise<void>): Promise<Asked> {
  const { bytes } = store;
  let seen: Asked | undefined;
  store.bytes = (...asked) => {
    seen = asked;
    return bytes.apply(store, asked);
  };
  await request();
  store.bytes = bytes;
  if (!seen) throw new Error('the answer came from no query');
  return seen;
}

async function engineAlone(store: Store, [statement, format]: Asked): Promise<number> {
  const started = performance.now();
  let answers = 0;
  const asker = async () => {
    for (; performance.now() - started < MEASURED_MS; answers++) await store.bytes(statement, format);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, asker));
  return (answers / (performance.now() - started)) * 1000;
}
