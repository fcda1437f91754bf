import { Readable } from 'node:stream';
import { z } from 'zod';
import { FIRST_DAY, LAST_DAY } from '../../../infra/clickhouse/date-range.ts';
import { ProductError } from '../../../infra/errors.ts';
import { sql } from '../../../infra/sql.ts';
import { RELAY_CHAINS } from '../../../ingest/chains/chain.ts';
import { findChain } from '../../../ingest/chains/registry.ts';
import { type DirtyStream, type RawTable, rawData } from '../../../ingest/raw/raw-data.ts';
import { isDeletable, readRetention } from '../../../ingest/raw/retention.ts';
import { ANY_PALLET, dirtyDays } from '../../../ingest/raw/tables.ts';
import { UNTIMED } from '../../../ingest/raw/untimed.ts';
import { rawFiles } from '../../raw-export/raw-files.ts';
import type { Pipeline } from '../compose/compose.ts';
import { packFiles } from './files-body.ts';
import { operation } from './operation.ts';

const days = { from: z.iso.date().default(FIRST_DAY), until: z.iso.date().default(LAST_DAY) };
/** The part of the engine's memory for one statement. Two statements run at the same time, beside all other work. */
const MEMORY_SHARE = 0.25;
const DAYS_MAX = 31;
const table = z.enum([...rawData.keys()] as [string, ...string[]]);
const place = { relay_chain: z.enum(RELAY_CHAINS), chain: z.string() };

/** A day with changes of a stream, and the number of the newest change. */
export interface ChangedDay {
  readonly date: string;
  readonly stream: DirtyStream;
  readonly changed: string;
}

const changes = ({ from, until }: { readonly from: string; readonly until: string }) =>
  sql`${dirtyDays} AS dirty WHERE stream != ${UNTIMED} AND pallet IN ('', ${ANY_PALLET}) AND dirty.day >= ${from} AND dirty.day <= ${until}`;

export const rawOperations = {
  /** The chains with raw rows in a range of days. `chains` restricts them, unless it is empty. */
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
   * The days of a chain. All changes up to the number `loaded` are stored, and concurrent loads get higher numbers. So if the
   * newest change of a day is not above `loaded`, rows that are read later are complete. Retention may delete rows of days
   * before `deletable`.
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
   * One Parquet file per day with the rows of a table and chain; an empty file means a day without rows. The answer contains
   * the first of the requested days, as many as fit into one statement: call again for the others. Throws `input_missing` if
   * retention may have deleted rows, since an export must not replace a complete file by an incomplete file.
   */
  rawRows: operation()({
    isStream: true,
    input: z.object({ table, ...place, dates: z.array(z.iso.date()).min(1).max(DAYS_MAX) }),
    run: async ({ runtime: { store }, config }: Pipeline, { table, dates, ...chain }) => {
      const { frozen } = await readRetention(store);
      if (dates.some((date) => date < frozen.before) && isDeletable(table)) {
        const reason = `rows of ${table} before ${frozen.before} are being deleted (RETENTION_RAW_DAYS); run the command again for the other days`;
        throw new ProductError('input_missing', reason);
      }
      const limits = { memoryBytesMax: Math.floor(config.STORE_MEMORY_BYTES * MEMORY_SHARE) };
      const files = await rawFiles(store, { table: rawData.get(table) as RawTable, ...chain, dates }, limits);
      const packed = Readable.from(packFiles(files), { objectMode: false });
      // Closes the files even if the caller hangs up before the first byte.
      return packed.once('close', () => {
        for (const { bytes } of files) bytes.destroy();
      });
    },
  }),
} as const;
