import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Format, Store } from '../../infra/ports.ts';
import type { Sql } from '../../infra/sql.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { startLoad } from './load.ts';
import { type Compared, compare } from './measure.ts';

const MEASURED_MS = 2000;
/** As many as the load has connections. */
const AT_ONCE = 32;

/** Answers of paths a second, asked in turn, against the engine alone running the same queries. */
export async function againstEngineAlone(
  app: FastifyInstance,
  { runtime: { store } }: Pipeline,
  paths: readonly string[],
  rounds: number,
): Promise<Compared> {
  const { port } = app.server.address() as AddressInfo;
  const asked: Asked[] = [];
  for (const path of paths) {
    const request = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    };
    asked.push(await queryBehind(store, request));
  }
  const load = startLoad();
  try {
    return await compare(
      rounds,
      () => load.ask({ port, paths, milliseconds: MEASURED_MS }),
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

async function engineAlone(store: Store, asked: readonly Asked[]): Promise<number> {
  const started = performance.now();
  let answers = 0;
  const asker = async () => {
    for (; performance.now() - started < MEASURED_MS; ) {
      const [statement, format] = asked[answers++ % asked.length] as Asked;
      await store.bytes(statement, format, { lane: 'readers' });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, asker));
  return (answers / (performance.now() - started)) * 1000;
}
