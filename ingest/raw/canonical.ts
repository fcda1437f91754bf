import { DAY_MS, HOUR_MS } from '../../infra/days.ts';
import { raw, Sql, sql } from '../../infra/sql.ts';
import { blockSequenceSql } from './ordering.ts';
import { blocks, calls, events, extrinsics, loadedBlocks, replacedBlocks } from './tables.ts';
import { UNTIMED } from './untimed.ts';

/** A range of UTC time of some relay chains, in days (`YYYY-MM-DD`) or hours (`YYYY-MM-DD HH:00:00`). `until` is exclusive. */
export interface Window {
  /** At least one, sorted. */
  readonly relays: readonly string[];
  /** At least one of their chains; absent: all chains. */
  readonly chains?: readonly string[];
  readonly from: string;
  readonly until: string;
}

/** The loads that ended before a window is computed. */
interface EndedLoads {
  /** All loads up to this number. */
  readonly upTo: string;
  /** Whether blocks of later loads count too, if `loaded_blocks` records them: a long load before them may still run. */
  readonly areNoted: boolean;
}

/** The relay chain of a window with only one. */
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

/** Whether a window is within one day. */
export function isOfOneDay(window: Window): boolean {
  const { from, until } = daysOf(window);
  return Date.parse(until) - Date.parse(from) === DAY_MS;
}

/** The condition that rows belong to the relay chains and the chains of a window. */
export const ofRelays = ({ relays, chains }: Pick<Window, 'relays' | 'chains'>): Sql =>
  chains === undefined ? sql`relay_chain IN ${relays}` : sql`relay_chain IN ${relays} AND chain IN ${chains}`;

export interface ChainKey {
  readonly relay_chain: string;
  readonly chain: string;
}

/** The condition that rows belong to a chain; always true if no chain is given. */
export const ofChain = (place: ChainKey | undefined): Sql =>
  place === undefined ? sql`1` : sql`relay_chain = ${place.relay_chain} AND chain = ${place.chain}`;

/** The dependency of a statement that reads only rows of a pallet. */
export const dependencyOn = (pallet: string) => `pallet ${pallet}`;

/**
 * The condition that rows belong to these pallets. A statement that reads canonical rows only with this condition depends
 * on these pallets: no other block invalidates its result.
 */
export const ofPallets = (...pallets: readonly string[]): Sql =>
  new Sql(
    sql`pallet IN (${raw(pallets.map((pallet) => `'${pallet}'`).join(', '))})`.text,
    pallets.map(dependencyOn),
  );

const namesPallets = (tables: ReadonlySet<string>) =>
  [...tables].some((table) => table.startsWith(dependencyOn('')));

/** If the condition names pallets, the statement depends on them; else on all tables that it reads. */
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
 * The partitions that can contain rows of a window. The engine does not prune partitions by time under FINAL, since a newer
 * version could be in any month; `replaced_blocks` handles that case. A table without partitions has the partition `all`.
 */
export const ofMonths = ({ from, until }: Pick<Window, 'from' | 'until'>): Sql =>
  sql`(_partition_id = 'all' OR _partition_id BETWEEN ${monthOf(from)} AND ${monthOf(until)})`;

const monthOf = (moment: string) => moment.slice(0, 7).replace('-', '');

/**
 * For a window of hours: the heights of all versions in it. For days: no condition. Under FINAL the engine reads all parts
 * that may contain a newer version, which is most of a month. With a list of heights it can skip most of them.
 */
const heightsOf = (window: Window): Sql =>
  hasHours(window)
    ? sql`(relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${blocks}
      WHERE ${ofRelays(window)} AND ${within(window)})`
    : raw('1');

/**
 * The condition that a row of a window belongs to a block whose load has ended. A load writes its tables one after the
 * other, so blocks of a running load are incomplete.
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
 * The canonical blocks without a timestamp. Reads the partition of the epoch, since an index on time cannot find nulls.
 * These blocks belong to no day, so their changes are a separate stream of `dirty_days`.
 */
export function canonicalUntimed(where: Sql): Sql {
  const rows = sql`(SELECT * FROM ${blocks} FINAL
    WHERE _partition_id IN ('all', '197001') AND isNull(time) AND ${where} AND rank NOT IN (
      SELECT rank FROM ${replacedBlocks} WHERE time = toDateTime64(0, 3, 'UTC')))`;
  return new Sql(rows.text, [...rows.tables, UNTIMED]);
}

/**
 * Rows of the canonical blocks of a window, or of whole relay chains. For facts that few blocks have: selects the canonical
 * version only at heights with such rows.
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
