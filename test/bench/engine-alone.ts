import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Sql } from '../../infra/clickhouse/sql.ts';
import type { Format, Store } from '../../infra/ports.ts';
import type { Pipeline } from '../../serve/compose.ts';
import { startLoad } from './load.ts';
import { type Compared, compare } from './measure.ts';

const MEASURED_MS = 2000;
/** As many as the load has connections. */
const AT_ONCE = 32;

/** Answers of a path a second, against the engine alone running the same query. */
export async function againstEngineAlone(
  app: FastifyInstance,
  { runtime: { store } }: Pipeline,
  path: string,
  rounds: number,
): Promise<Compared> {
  const { port } = app.server.address() as AddressInfo;
  const asked = await queryBehind(store, async () => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  });
  const load = startLoad();
  try {
    return await compare(
      rounds,
      () => load.ask({ port, path, milliseconds: MEASURED_MS }),
      () => engineAlone(store, asked),
    );
  } finally {
    load.stop();
  }
}

type Asked = readonly [statement: Sql, format: Format];

/** What the server asks the store for an answer. */
async function queryBehind(store: Store, request: () => Promise<void>): Promise<Asked> {
  const { bytes } = store;
  let seen: Asked | undefined;
  store.bytes = (statement, format, options) => {
    seen ??= [statement, format];
    return bytes.call(store, statement, format, options);
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
