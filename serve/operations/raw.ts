import { z } from 'zod';
import { FIRST_DAY, LAST_DAY } from '../../infra/clickhouse/date-range.ts';
import { sql } from '../../infra/clickhouse/sql.ts';
import { ProductError } from '../../infra/errors.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { type DirtyStream, rawData } from '../../ingest/raw/raw-data.ts';
import { isDeletable, readRetention } from '../../ingest/raw/retention.ts';
import { ANY_PALLET, dirtyDays } from '../../ingest/raw/tables.ts';
import { UNTIMED } from '../../ingest/raw/untimed.ts';
import { findChain } from '../../ingest/sources/open-source.ts';
import type { Pipeline } from '../compose.ts';
import { partitionStatement } from '../raw-export/partition.ts';
import { operation } from './operation.ts';

const days = { from: z.iso.date().default(FIRST_DAY), until: z.iso.date().default(LAST_DAY) };
/** Of the engine's memory, what one file may take: two are written at once, beside all other work. */
const MEMORY_SHARE = 0.25;
const table = z.enum([...rawData.keys()] as [string, ...string[]]);
const place = { relay_chain: z.enum(RELAY_CHAINS), chain: z.string() };

/** A day that has raw rows of a stream, or had some, and the number of its newest change. */
export interface ChangedDay {
  readonly date: string;
  readonly stream: DirtyStream;
  readonly changed: string;
}

/** The dirty days of all changes, whatever they changed. */
const changes = ({ from, until }: { readonly from: string; readonly until: string }) =>
  sql`${dirtyDays} AS dirty WHERE stream != ${UNTIMED} AND pallet IN ('', ${ANY_PALLET}) AND dirty.day >= ${from} AND dirty.day <= ${until}`;

export const rawOperations = {
  /** The chains that have raw rows of these days, of those that are named or of all. */
  rawChains: operation()({
    input: z.object({ chains: z.array(z.string()), ...days }),
    run: async ({ runtime, registry }: Pipeline, { chains, ...range }) => {
      const names = chains.map((name) => findChain(registry, name).name);
      const found = await runtime.store.rows<z.output<z.ZodObject<typeof place>>>(
        sql`SELECT DISTINCT relay_chain, chain FROM ${changes(range)} ORDER BY relay_chain, chain`,
      );
      return found.filter(({ chain }) => names.length === 0 || names.includes(chain));
    },
  }),

  /**
   * The days of a chain, and the number up to which every change is in the store: what loads meanwhile has a higher
   * one, so a day that is read after this and whose newest change is not higher is whole. Of days before `deletable`
   * raw rows may be deleted.
   */
  rawDays: operation()({
    input: z.object({ ...place, ...days }),
    run: async (pipeline: Pipeline, { relay_chain, chain, ...range }) => {
      const loaded = String(await pipeline.loadedUpTo());
      const found = await pipeline.runtime.store.rows<ChangedDay>(
        sql`SELECT toString(dirty.day) AS date, stream, toString(max(dirty.sequence)) AS changed
          FROM ${changes(range)} AND relay_chain = ${relay_chain} AND chain = ${chain}
          GROUP BY date, stream ORDER BY date, stream`,
      );
      const { frozen } = await readRetention(pipeline.runtime.store);
      return { loaded, deletable: frozen.before, days: found };
    },
  }),

  /**
   * The rows of a table of one chain and day as a stream of Parquet. Throws `input_missing` when some may be deleted:
   * an export takes hours, and would replace a whole file by what is left.
   */
  rawRows: operation()({
    isStream: true,
    input: z.object({ table, ...place, date: z.iso.date() }),
    run: async ({ runtime, config }: Pipeline, { table, ...partition }) => {
      const of = rawData.get(table) as NonNullable<ReturnType<typeof rawData.get>>;
      const { frozen } = await readRetention(runtime.store);
      if (partition.date < frozen.before && isDeletable(table)) {
        const reason = `rows of ${table} before ${frozen.before} are being deleted (RETENTION_RAW_DAYS); run it again for the others`;
        throw new ProductError('input_missing', reason);
      }
      const limits = { memoryBytesMax: Math.floor(config.STORE_MEMORY_BYTES * MEMORY_SHARE) };
      return runtime.store.stream(partitionStatement(of, partition), 'Parquet', limits);
    },
  }),
} as const;
