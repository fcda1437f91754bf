import { DAY_MS, HOUR_MS } from '../../infra/days.ts';
import { raw, Sql, sql } from '../../infra/sql.ts';
import { blockSequenceSql } from './ordering.ts';
import { blocks, calls, events, extrinsics, loadedBlocks, replacedBlocks } from './tables.ts';
import { UNTIMED } from './untimed.ts';

/** A range of UTC time of some relay chains, in days (`YYYY-MM-DD`) or hours (`YYYY-MM-DD HH:00:00`). `until` is exclusive. */
export interface Window {
  /** At least one, sorted. */
  readonly relays: readonly string[];
  /** Some of their chains, at least one; all of them when absent. */
  readonly chains?: readonly string[];
  readonly from: string;
  readonly until: string;
}

/** Which loads had ended before a window is computed. */
interface EndedLoads {
  /** All loads up to this number. */
  readonly upTo: string;
  /** Whether an earlier load was still running: then a later load has ended if its blocks are recorded as loaded. */
  readonly areNoted: boolean;
}

/** The relay chain of a window that has one. */
export function relayOf({ relays }: Pick<Window, 'relays'>): string {
  const [relay, ...others] = relays;
  if (relay === undefined || others.length > 0)
    throw new Error(`a window of one relay chain has ${relays.length}`);
  return relay;
}

const DAY_CHARS = 'YYYY-MM-DD'.length;

/** Whether a window begins or ends within a day. */
export const hasHours = ({ from, until }: Window): boolean =>
  from.length > DAY_CHARS || until.length > DAY_CHARS;

/** The whole days of a window. */
export function daysOf<W extends Window>(window: W): W {
  const [from, until] = [window.from, window.until].map((moment) => moment.slice(0, DAY_CHARS)) as [
    string,
    string,
  ];
  if (window.until.length === DAY_CHARS) return { ...window, from };
  const next = new Date(Date.parse(`${until}T00:00:00Z`) + DAY_MS);
  return { ...window, from, until: next.toISOString().slice(0, DAY_CHARS) };
}

/** Whether all of a window is of one day. */
export function isOfOneDay(window: Window): boolean {
  const { from, until } = daysOf(window);
  return Date.parse(until) - Date.parse(from) === DAY_MS;
}

/** The condition that rows are of the window's relay chains, and of its chains. */
export const ofRelays = ({ relays, chains }: Pick<Window, 'relays' | 'chains'>): Sql =>
  chains === undefined ? sql`relay_chain IN ${relays}` : sql`relay_chain IN ${relays} AND chain IN ${chains}`;

export interface ChainKey {
  readonly relay_chain: string;
  readonly chain: string;
}

/** The condition that rows are of a chain; always true without one. */
export const ofChain = (place: ChainKey | undefined): Sql =>
  place === undefined ? sql`1` : sql`relay_chain = ${place.relay_chain} AND chain = ${place.chain}`;

/** The dependency of a statement that reads only rows of a pallet. */
export const dependencyOn = (pallet: string) => `pallet ${pallet}`;

/**
 * The condition that rows are of these pallets. Only blocks with one of them invalidate a statement that reads canonical
 * rows with this condition. It must hold for every row that the statement reads.
 */
export const ofPallets = (...pallets: readonly string[]): Sql =>
  new Sql(
    sql`pallet IN (${raw(pallets.map((pallet) => `'${pallet}'`).join(', '))})`.text,
    pallets.map(dependencyOn),
  );

const namesPallets = (tables: ReadonlySet<string>) =>
  [...tables].some((table) => table.startsWith(dependencyOn('')));

/** Gives a statement the dependencies of its condition if that names pallets; else those of all tables that it reads. */
export const invalidatedBy = (where: Sql, statement: Sql): Sql =>
  namesPallets(where.tables) ? new Sql(statement.text, where.tables) : statement;

/** The start of the UTC hour of a time. ClickHouse's own function overflows in 2106. */
export const hourSql = (time: string): Sql =>
  raw(`fromUnixTimestamp64Milli(intDiv(toUnixTimestamp64Milli(${time}), ${HOUR_MS}) * ${HOUR_MS}, 'UTC')`);

/** The condition that a time is in a window. */
export const within = (
  window: Window,
  time = raw('time'),
) => sql`${time} >= toDateTime64(${window.from}, 3, 'UTC')
      AND ${time} < toDateTime64(${window.until}, 3, 'UTC')`;

/**
 * The partitions that can contain rows of a window. Under FINAL the engine does not prune them by time, since it cannot know
 * that versions in other months are already decided. A table without partitions has the partition `all`.
 */
export const ofMonths = ({ from, until }: Pick<Window, 'from' | 'until'>): Sql =>
  sql`(_partition_id = 'all' OR _partition_id BETWEEN ${monthOf(from)} AND ${monthOf(until)})`;

const monthOf = (moment: string) => moment.slice(0, 7).replace('-', '');

/**
 * For hours: the heights of all versions in the window; for days: no condition. Under FINAL the engine reads all parts that
 * may contain a newer version, which is most of a month. A list of heights lets it skip the others.
 */
const heightsOf = (window: Window): Sql =>
  hasHours(window)
    ? sql`(relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${blocks}
      WHERE ${ofRelays(window)} AND ${within(window)})`
    : raw('1');

/**
 * The condition that a row of a window belongs to a block whose load has ended. A load writes its tables one after the
 * other, and waiting for all loads would mean waiting for the longest.
 */
export function hasEndedLoad(window: Window, { upTo, areNoted }: EndedLoads): Sql {
  const sequence = raw(blockSequenceSql('rank'));
  const isUpTo = sql`${sequence} <= toUInt64(${upTo})`;
  if (!areNoted) return isUpTo;
  return sql`(${isUpTo} OR (relay_chain, chain, number, ${sequence}) IN (
    SELECT relay_chain, chain, number, sequence FROM ${loadedBlocks} WHERE (relay_chain, chain, number) IN (
      SELECT relay_chain, chain, number FROM ${blocks}
      WHERE ${ofRelays(window)} AND ${within(window)} AND ${sequence} > toUInt64(${upTo}))))`;
}

/**
 * The canonical blocks of a window, one per height. FINAL selects among the versions of a month, also outside of the window;
 * `replaced_blocks` has the versions that a version in another month replaced.
 */
export function canonicalBlocks(
  window: Window,
  columns: '*' | 'rank' = '*',
  ofHeights = heightsOf(window),
): Sql {
  return sql`(SELECT ${raw(columns)} FROM ${blocks} FINAL
    WHERE ${ofMonths(window)} AND ${ofRelays(window)} AND ${within(window)} AND ${ofHeights} AND rank NOT IN (
      SELECT rank FROM ${replacedBlocks} WHERE ${ofRelays(window)} AND ${within(window)}))`;
}

/**
 * The canonical blocks without a timestamp. They are in the partition of the epoch, since indexes skip nulls. They belong to
 * no day, so their changes are a separate stream.
 */
export function canonicalUntimed(where: Sql): Sql {
  const rows = sql`(SELECT * FROM ${blocks} FINAL
    WHERE _partition_id IN ('all', '197001') AND isNull(time) AND ${where} AND rank NOT IN (
      SELECT rank FROM ${replacedBlocks} WHERE time = toDateTime64(0, 3, 'UTC')))`;
  return new Sql(rows.text, [...rows.tables, UNTIMED]);
}

/**
 * Rows of the canonical blocks of a window or of whole relay chains, for facts that few blocks have: only the heights with
 * such rows are looked up.
 */
export function canonicalFacts(
  table: typeof extrinsics | typeof events | typeof calls,
  of: Window | Pick<Window, 'relays'>,
  where: Sql,
): Sql {
  const window = 'from' in of ? of : null;
  const mine = sql`${ofRelays(of)} AND ${window ? within(window) : raw('1')} AND ${where}`;
  const ofHeights = sql`(relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${table} WHERE ${mine})`;
  const ranks = window
    ? canonicalBlocks(window, 'rank', ofHeights)
    : sql`(SELECT rank FROM ${blocks} FINAL
      WHERE ${ofRelays(of)} AND isNotNull(time) AND ${ofHeights})`;
  return invalidatedBy(where, sql`(SELECT * FROM ${table} WHERE ${mine} AND rank IN ${ranks})`);
}

const canonicalRows =
  (table: typeof extrinsics | typeof events | typeof calls) => (window: Window, where: Sql) => {
    // Few blocks have rows of these pallets.
    if (namesPallets(where.tables)) return canonicalFacts(table, window, where);
    return sql`(SELECT * FROM ${table}
    WHERE ${ofRelays(window)} AND ${within(window)} AND ${where}
      AND rank IN ${canonicalBlocks(window, 'rank')})`;
  };

/** Rows of the canonical blocks of a window. Ranks are unique per load, so no row appears twice. */
export const canonicalExtrinsics = (window: Window, where: Sql = raw('1')) =>
  canonicalRows(extrinsics)(window, where);
export const canonicalEvents = (window: Window, where: Sql = raw('1')) =>
  canonicalRows(events)(window, where);
export const canonicalCalls = (window: Window, where: Sql = raw('1')) => canonicalRows(calls)(window, where);
