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
/** Of the engine's memory, what one statement may take: two are written at once, beside all other work. */
const MEMORY_SHARE = 0.25;
const DAYS_MAX = 31;
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
   * The rows of a table of one chain as a Parquet file for each of some days, packed; a file without a byte is a day
   * without rows. They are the first of the days, as many as are small enough to be made together: ask again for the
   * others. Throws `input_missing` when some rows may be deleted: an export takes hours, and would replace a whole file
   * by what is left.
   */
  rawRows: operation()({
    isStream: true,
    input: z.object({ table, ...place, dates: z.array(z.iso.date()).min(1).max(DAYS_MAX) }),
    run: async ({ runtime: { store }, config }: Pipeline, { table, dates, ...of }) => {
      const { frozen } = await readRetention(store);
      if (dates.some((date) => date < frozen.before) && isDeletable(table)) {
        const reason = `rows of ${table} before ${frozen.before} are being deleted (RETENTION_RAW_DAYS); run it again for the others`;
        throw new ProductError('input_missing', reason);
      }
      const limits = { memoryBytesMax: Math.floor(config.STORE_MEMORY_BYTES * MEMORY_SHARE) };
      const files = await rawFiles(store, { table: rawData.get(table) as RawTable, ...of, dates }, limits);
      const packed = Readable.from(packFiles(files), { objectMode: false });
      // Also of a caller who leaves before the first byte.
      return packed.once('close', () => {
        for (const { bytes } of files) bytes.destroy();
      });
    },
  }),
} as const;
