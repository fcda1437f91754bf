import { DAY_MS, HOUR_MS } from '../../infra/days.ts';
import { raw, Sql, sql } from '../../infra/sql.ts';
import { blockSequenceSql } from './ordering.ts';
import { blocks, calls, events, extrinsics, loadedBlocks, replacedBlocks } from './tables.ts';
import { UNTIMED } from './untimed.ts';

/** A range of UTC time of some relay chains: days (`YYYY-MM-DD`) or hours (`YYYY-MM-DD HH:00:00`). `until` is not in it. */
export interface Window {
  /** At least one, sorted. */
  readonly relays: readonly string[];
  /** Some of their chains, at least one; all of them when absent. */
  readonly chains?: readonly string[];
  readonly from: string;
  readonly until: string;
}

/** Loads that had ended before a window is computed. */
interface EndedLoads {
  /** All up to this number. */
  readonly upTo: string;
  /** Whether one that began before was still running: of later ones, those have ended whose blocks are noted as loaded. */
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

/** The condition that rows are of a chain; of any where none is named. */
export const ofChain = (place: ChainKey | undefined): Sql =>
  place === undefined ? sql`1` : sql`relay_chain = ${place.relay_chain} AND chain = ${place.chain}`;

/** What a statement depends on that reads rows of a pallet only. */
export const dependencyOn = (pallet: string) => `pallet ${pallet}`;

/**
 * The condition that rows are of these pallets. A statement that reads canonical rows under it is invalidated by blocks
 * that hold one of them, and by no others; it must hold for every row that the statement reads.
 */
export const ofPallets = (...pallets: readonly string[]): Sql =>
  new Sql(
    sql`pallet IN (${raw(pallets.map((pallet) => `'${pallet}'`).join(', '))})`.text,
    pallets.map(dependencyOn),
  );

const namesPallets = (tables: ReadonlySet<string>) =>
  [...tables].some((table) => table.startsWith(dependencyOn('')));

/** The statement, depending on what its condition depends on, where that names pallets; else on all it reads. */
export const invalidatedBy = (where: Sql, statement: Sql): Sql =>
  namesPallets(where.tables) ? new Sql(statement.text, where.tables) : statement;

/** The start of the UTC hour of a time: ClickHouse's own function ends in 2106. */
export const hourSql = (time: string): Sql =>
  raw(`fromUnixTimestamp64Milli(intDiv(toUnixTimestamp64Milli(${time}), ${HOUR_MS}) * ${HOUR_MS}, 'UTC')`);

/** The condition that a time is in a window. */
export const within = (
  window: Window,
  time = raw('time'),
) => sql`${time} >= toDateTime64(${window.from}, 3, 'UTC')
      AND ${time} < toDateTime64(${window.until}, 3, 'UTC')`;

/**
 * The parts that can hold rows of a window: the engine does not prune them by time under FINAL, since it cannot know
 * that versions in other months are judged already. A table that is not partitioned has the one partition `all`.
 */
export const ofMonths = ({ from, until }: Pick<Window, 'from' | 'until'>): Sql =>
  sql`(_partition_id = 'all' OR _partition_id BETWEEN ${monthOf(from)} AND ${monthOf(until)})`;

const monthOf = (moment: string) => moment.slice(0, 7).replace('-', '');

/**
 * The heights that any version of a block in these hours has; all for days. Under FINAL the engine reads whatever may
 * hold a newer version, and beside small parts that is most of a month: only heights tell it what cannot.
 */
const heightsOf = (window: Window): Sql =>
  hasHours(window)
    ? sql`(relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${blocks}
      WHERE ${ofRelays(window)} AND ${within(window)})`
    : raw('1');

/**
 * The condition that a row of a window is of a block whose load has ended: a load writes its tables one after the other,
 * and what waits for all loads waits for the longest.
 */
export function isOfEnded(window: Window, { upTo, areNoted }: EndedLoads): Sql {
  const sequence = raw(blockSequenceSql('rank'));
  const isUpTo = sql`${sequence} <= toUInt64(${upTo})`;
  if (!areNoted) return isUpTo;
  return sql`(${isUpTo} OR (relay_chain, chain, number, ${sequence}) IN (
    SELECT relay_chain, chain, number, sequence FROM ${loadedBlocks} WHERE (relay_chain, chain, number) IN (
      SELECT relay_chain, chain, number FROM ${blocks}
      WHERE ${ofRelays(window)} AND ${within(window)} AND ${sequence} > toUInt64(${upTo}))))`;
}

/**
 * The canonical blocks of a window, one per height. FINAL judges the versions within a month, also those outside of the
 * window; versions that lost their height to one of another month are in `replaced_blocks`.
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
 * The canonical blocks without a timestamp: they are in the partition of the epoch, and no index knows a null. Changes of
 * them are a stream of their own, since they are of no day.
 */
export function canonicalUntimed(where: Sql): Sql {
  const rows = sql`(SELECT * FROM ${blocks} FINAL
    WHERE _partition_id IN ('all', '197001') AND isNull(time) AND ${where} AND rank NOT IN (
      SELECT rank FROM ${replacedBlocks} WHERE time = toDateTime64(0, 3, 'UTC')))`;
  return new Sql(rows.text, [...rows.tables, UNTIMED]);
}

/**
 * Rows of all canonical blocks of some relay chains or of a window, for facts that are few against the blocks: only the
 * heights that hold such rows are looked up.
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
    // Rows of few pallets are few against the blocks.
    if (namesPallets(where.tables)) return canonicalFacts(table, window, where);
    return sql`(SELECT * FROM ${table}
    WHERE ${ofRelays(window)} AND ${within(window)} AND ${where}
      AND rank IN ${canonicalBlocks(window, 'rank')})`;
  };

/** Rows of the canonical blocks of a window. Each load has ranks of its own, so no row of them appears twice. */
export const canonicalExtrinsics = (window: Window, where: Sql = raw('1')) =>
  canonicalRows(extrinsics)(window, where);
export const canonicalEvents = (window: Window, where: Sql = raw('1')) =>
  canonicalRows(events)(window, where);
export const canonicalCalls = (window: Window, where: Sql = raw('1')) => canonicalRows(calls)(window, where);
