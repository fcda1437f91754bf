import { Readable } from 'node:stream';
import type { Store, StreamLimits } from '../../infra/ports.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import { within } from '../../ingest/raw/canonical.ts';
import type { RawTable } from '../../ingest/raw/raw-data.ts';
import type { OpenSource } from '../../ingest/sources/publish.ts';
import { type RawPlace, rowsStatement, windowOf } from './partition.ts';

/** Small days share a statement, because each statement has a fixed cost. */
const ROWS_TOGETHER_MAX = 20_000;

interface RawDays extends RawPlace {
  readonly table: RawTable;
  /** Ascending; at least one. */
  readonly dates: readonly string[];
}

/**
 * The files of the first day, and of the days after it as long as all together have few rows. If the statement for
 * several days fails, because their rows are too large, only the first day is read.
 */
export async function rawFiles(store: Store, days: RawDays, limits: StreamLimits): Promise<OpenSource[]> {
  const sizes = await sizesOf(store, days);
  // Counts days in between too, because the statement reads them.
  const rowsUntil = (last: string) =>
    [...sizes].reduce((rows, [date, size]) => (date <= last ? rows + size : rows), 0);
  const dates = days.dates.filter((date, i) => i === 0 || rowsUntil(date) <= ROWS_TOGETHER_MAX);
  const open = async (some: readonly string[]): Promise<OpenSource[]> => {
    const files = await filesOf(store, { ...days, dates: some.filter((date) => sizes.has(date)) }, limits);
    return some.map((name) => ({ name, bytes: files.get(name) ?? Readable.from([]) }));
  };
  return open(dates).catch((error) => {
    if (dates.length === 1) throw error;
    return open(dates.slice(0, 1));
  });
}

async function filesOf(
  store: Store,
  { table, dates, ...place }: RawDays,
  limits: StreamLimits,
): Promise<ReadonlyMap<string, Readable>> {
  const [first, ...others] = dates;
  if (first === undefined) return new Map();
  if (others.length === 0) {
    const statement = rowsStatement(table, windowOf(place, first));
    return new Map([[first, await store.stream(statement, 'Parquet', limits)]]);
  }
  const window = windowOf(place, first, others.at(-1));
  const files = await store.split(rowsStatement(table, window), dayOf(table), 'Parquet', limits);
  return new Map([...files].map(([date, bytes]) => [date, Readable.from(bytes)]));
}

/** Row counts by day, including replaced versions of blocks. */
async function sizesOf(
  store: Store,
  { table, dates, ...place }: RawDays,
): Promise<ReadonlyMap<string, number>> {
  const window = windowOf(place, dates[0] as string, dates.at(-1));
  const rows = await store.rows<{ date: string; size: number }>(
    sql`SELECT ${dayOf(table)} AS date, toUInt32(count()) AS size FROM ${table}
      WHERE relay_chain = ${place.relay_chain} AND chain = ${place.chain} AND ${within(window, raw(table.moment))}
      GROUP BY date`,
  );
  return new Map(rows.map(({ date, size }) => [date, size]));
}

const dayOf = ({ moment }: RawTable): Sql => raw(`toString(toDate(${moment}, 'UTC'))`);
