import type { FastifyInstance } from 'fastify';
import { buildServer } from '../../../../serve/application/compose/compose-server.ts';
import type { InputLine } from '../../../reference/input.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../../support/pipeline.ts';

/** A snapshot as a line of input. */
export function stated(
  kind: string,
  chain: string,
  as_of: string,
  payload: object,
  fields: object = {},
): InputLine {
  const head = { schema: 'snapshot/1', kind, chain, block_number: 7, as_of };
  return { line: JSON.stringify({ ...head, ...fields, payload }) };
}

export type Json = Record<string, unknown>;

/** A server with a store of its own, queried over HTTP. */
export interface Served {
  readonly pipeline: TestPipeline['pipeline'];
  readonly app: FastifyInstance;
  take(lines: readonly InputLine[]): Promise<void>;
  ask(url: string): Promise<Json[]>;
  status(url: string): Promise<number>;
  close(): Promise<void>;
}

export async function serve(lines: readonly InputLine[]): Promise<Served> {
  const opened = await openTestPipeline();
  const app = await buildServer(opened.pipeline);
  const served: Served = {
    pipeline: opened.pipeline,
    app,
    take: (more) => ingestAndCompute(opened.pipeline, more),
    ask: async (url) => (await app.inject({ url })).json<Json[]>(),
    status: async (url) => (await app.inject({ url })).statusCode,
    close: async () => {
      await app.close();
      await opened.close();
    },
  };
  await served.take(lines);
  return served;
}

/** Only these fields of each row. */
export const only = (rows: readonly Json[], ...names: readonly string[]): unknown[][] =>
  rows.map((row) => names.map((name) => row[name]));
