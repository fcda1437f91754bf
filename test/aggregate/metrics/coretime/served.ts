import type { FastifyInstance } from 'fastify';
import { sql } from '../../../../infra/sql.ts';
import { blocks, refusedFacts } from '../../../../ingest/raw/tables.ts';
import type { Pipeline } from '../../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../../serve/application/compose/compose-server.ts';
import type { InputLine } from '../../../reference/input.ts';
import { type ShapedBlock, type ShapedEvent, shapeBlock } from '../../../reference/shaped.ts';
import { exactRows } from '../../../support/compared.ts';
import { emptyPipeline, ingestAndCompute, openTestPipeline } from '../../../support/pipeline.ts';

/** A server for the test: it ingests lines and requests rows. */
export interface Served {
  readonly app: FastifyInstance;
  readonly pipeline: Pipeline;
  ingest(...lines: readonly InputLine[]): Promise<void>;
  rows(url: string): Promise<Record<string, unknown>[]>;
  /** The same with the digits of gas as bigints, which a double does not hold. */
  exactRows(url: string): Promise<Record<string, unknown>[]>;
  /** Some fields of each row, in this order. */
  fields(url: string, ...names: readonly string[]): Promise<unknown[][]>;
  /** Reasons of the refused facts. */
  refusals(): Promise<{ fact: string; reason: string }[]>;
  /** Refused facts of canonical blocks: chain, height, and the event or extrinsic. */
  refusedAt(): Promise<string[]>;
  /** Empties all tables. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

export async function openServed(...options: Parameters<typeof openTestPipeline>): Promise<Served> {
  const { pipeline, close } = await openTestPipeline(...options);
  let app = await buildServer(pipeline);
  // Each request has an address of its own: rate limits are not tested here.
  let readers = 0;
  const answerOf = async (url: string) => {
    const remoteAddress = `10.0.${readers >> 8}.${readers++ & 255}`;
    const answer = await app.inject({ url, remoteAddress });
    if (answer.statusCode !== 200)
      throw new Error(`${url}: ${answer.statusCode} ${answer.body.slice(0, 300)}`);
    return answer.body;
  };
  const rows = async (url: string) => JSON.parse(await answerOf(url)) as Record<string, unknown>[];
  return {
    get app() {
      return app;
    },
    pipeline,
    ingest: (...lines) => ingestAndCompute(pipeline, lines),
    rows,
    exactRows: async (url) => exactRows(await answerOf(url)),
    fields: async (url, ...names) => (await rows(url)).map((row) => names.map((name) => row[name])),
    refusals: () =>
      pipeline.runtime.store.rows({
        text: 'SELECT fact, reason FROM chain_metrics.refused_facts ORDER BY relay_chain, chain, number, fact',
        tables: new Set<string>(),
      }),
    refusedAt: async () => {
      const facts = await pipeline.runtime.store.rows<{ chain: string; number: number; fact: string }>(
        sql`SELECT chain, number, fact FROM ${refusedFacts} FINAL WHERE rank IN (SELECT rank FROM ${blocks} FINAL)`,
      );
      return facts.map(({ chain, number, fact }) => {
        const [kind, index] = fact.split(' ');
        return `${chain} ${number} ${kind} ${index}`;
      });
    },
    forget: async () => {
      await emptyPipeline(pipeline);
      // Cached responses are not invalidated by it.
      await app.close();
      app = await buildServer(pipeline);
    },
    close: async () => {
      await app.close();
      await close();
    },
  };
}

export const blockOf = (chain: string, block: ShapedBlock): InputLine => ({
  line: JSON.stringify(shapeBlock(block, chain)),
  chain,
});

/** A block whose events were all emitted by one signed extrinsic, the second of the block. */
export const blockWith = (
  chain: string,
  number: number,
  time: string,
  events: readonly ShapedEvent[],
): InputLine =>
  blockOf(chain, { number, time, extrinsics: [{ call: 'utility.batch', signer: ALICE.anywhere, events }] });

export const snapshot = (kind: string, chain: string, as_of: string, payload: object): InputLine => ({
  line: JSON.stringify({
    schema: 'snapshot/1',
    kind,
    relay_chain: chain.endsWith('kusama') ? 'kusama' : 'polkadot',
    chain,
    block_number: 1,
    as_of,
    payload,
  }),
});

/** The same accounts with the prefixes of Substrate, Polkadot and Kusama. */
export const ALICE = {
  anywhere: '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY',
  polkadot: '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5',
  kusama: 'HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F',
};
export const BOB = {
  anywhere: '5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty',
  polkadot: '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3',
};

export const WHOLE = '0xffffffffffffffffffff';
export const LEFT = '0xffffffffff0000000000';
export const RIGHT = '0x0000000000ffffffffff';

export const region = (begin: number, core: number, mask = WHOLE) => ({
  begin: String(begin),
  core: String(core),
  mask,
});

export const named = (region_begin: number, r_core: number, r_mask = WHOLE) => ({
  region_begin,
  r_core,
  r_mask,
});

export const purchased = (
  who: string,
  of: ReturnType<typeof region>,
  price: unknown,
  duration: number,
): ShapedEvent => ['broker.Purchased', who, of, price, String(duration)];

export const saleInitialized = (sale: {
  start?: number;
  startPrice?: unknown;
  endPrice?: unknown;
  begin: number;
  end: number;
  offered: number;
}): ShapedEvent => [
  'broker.SaleInitialized',
  String(sale.start ?? 16),
  '12',
  sale.startPrice ?? '20000000000',
  sale.endPrice ?? '10000000000',
  String(sale.begin),
  String(sale.end),
  '2',
  String(sale.offered),
];

export const coretimeConfig = (
  sale: Partial<Record<string, unknown>>,
  reservations = 0,
): Record<string, unknown> => ({
  sale_info: {
    sale_start: 1,
    leadin_length: 1,
    end_price: '1',
    region_begin: 1,
    region_end: 2,
    ideal_cores_sold: 1,
    cores_offered: 1,
    first_core: 1,
    sellout_price: null,
    cores_sold: 0,
    ...sale,
  },
  reservations: Array.from({ length: reservations }, (_, i) => [
    { mask: WHOLE, assignment: { task: 1000 + i } },
  ]),
  leases: [{ task: 2000, until: 1 }],
  core_count: 50,
});
