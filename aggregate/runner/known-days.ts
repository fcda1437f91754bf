import { join, type Sql, sql } from '../../infra/clickhouse/sql.ts';
import {
  KeptPartitions,
  readPartitions,
  type StoredPartition,
} from '../../infra/clickhouse/stored-partitions.ts';
import type { Store } from '../../infra/ports.ts';
import { blocks, dirtyDays } from '../../ingest/raw/tables.ts';
import { chainDay } from '../metrics/activity/chain-day.ts';
import {
  type Calendar,
  type CalendarRow,
  daysByKey,
  frozenIn,
  limitsOf,
  ofBlocks,
  ofRetention,
  readCalendar,
} from '../planner/calendar.ts';

type DaysByKey = readonly (readonly [key: string, days: readonly number[]])[];

/** What a partition of the dirty days holds. */
interface DirtyPartition {
  /** Of the last load that changed one of them. */
  readonly newest: bigint;
  /** Days with blocks, of one relay chain each. */
  readonly count: number;
  readonly snapshots: DaysByKey;
}

/** The days as of one moment. */
export interface DaysAsOf {
  /** The partitions that may hold dirty days of loads after this one; null where any may. */
  changedAfter(sequence: bigint): readonly string[] | null;
  /** The rows of a statement that reads the dirty days alone. */
  dirtyRows<Row>(statement: Sql): Promise<readonly Row[]>;
  calendar(): Promise<Calendar>;
}

/**
 * What rounds know of the days of all years. Where no other process writes, only partitions are read again that loads and
 * rounds have changed: replicas of a store have the same parts at different times, and which of them answers is not known.
 */
export class KnownDays {
  readonly #store: Pick<Store, 'rows'>;
  readonly #isShared: boolean;
  readonly #dirty = new KeptPartitions<DirtyPartition>();
  readonly #computed = new KeptPartitions<DaysByKey>();
  /** Of the statement that read the dirty days last. */
  #rows: { readonly key: string; readonly rows: Promise<readonly unknown[]> } | undefined;

  constructor({ store, isShared }: { readonly store: Pick<Store, 'rows'>; readonly isShared: boolean }) {
    this.#store = store;
    this.#isShared = isShared;
  }

  /** Looks at what is stored now. Marks that are read before are no newer. */
  async refresh(): Promise<DaysAsOf> {
    if (this.#isShared)
      return {
        changedAfter: () => null,
        dirtyRows: (statement) => this.#store.rows(statement),
        calendar: () => readCalendar(this.#store),
      };
    const stored = await readPartitions(this.#store, [dirtyDays, chainDay.table, blocks]);
    const of = ({ name }: { readonly name: string }) => stored.filter(({ table }) => table === name);
    const dirty = of(dirtyDays);
    const parts = dirty.map(({ partition, parts }) => `${partition} ${parts}`).sort();
    return {
      changedAfter: (sequence) =>
        dirty
          .filter((one) => (this.#dirty.of(one)?.newest ?? sequence + 1n) > sequence)
          .map(({ partition }) => partition),
      dirtyRows: (statement) => this.#dirtyRows(statement, parts.join()),
      calendar: () => this.#calendar(dirty, of(chainDay.table), of(blocks)),
    };
  }

  /** A round of the other lane, or of nothing new, asks the same again. */
  #dirtyRows<Row>(statement: Sql, parts: string): Promise<readonly Row[]> {
    const key = `${parts} ${statement.text}`;
    if (this.#rows?.key !== key) {
      const rows = this.#store.rows<Row>(statement);
      this.#rows = { key, rows };
      rows.catch(() => {
        if (this.#rows?.rows === rows) this.#rows = undefined;
      });
    }
    return this.#rows.rows as Promise<readonly Row[]>;
  }

  async #calendar(
    ofDirty: readonly StoredPartition[],
    ofComputed: readonly StoredPartition[],
    stored: readonly StoredPartition[],
  ): Promise<Calendar> {
    const known = { dirty: this.#dirty.known(ofDirty), computed: this.#computed.known(ofComputed) };
    const changedDirty = changed(ofDirty, known.dirty);
    const changedComputed = changed(ofComputed, known.computed);
    const among = (partitions: readonly string[]) => sql`_partition_id IN ${partitions}`;
    const rows = await this.#store.rows<CalendarRow>(
      join(
        [
          ofRetention,
          ...(changedComputed.length > 0 ? [ofBlocks(among(changedComputed))] : []),
          ...(changedDirty.length > 0 ? [ofPartitions(among(changedDirty))] : []),
        ],
        ' UNION ALL ',
      ),
    );
    const read = {
      dirty: contentsOf(rows, 'snapshots', dirtyOfRows),
      computed: contentsOf(rows, 'blocks', daysOfRows),
    };
    const dirty = this.#dirty.keep(ofDirty, new Map([...known.dirty, ...read.dirty]));
    const computed = this.#computed.keep(ofComputed, new Map([...known.computed, ...read.computed]));
    const frozenBefore = frozenIn(rows);
    return {
      days: daysByKey(computed.flat()),
      snapshotDays: daysByKey(dirty.flatMap(({ snapshots }) => snapshots)),
      ...limitsOf(sumOf(stored.map((one) => one.rows)), sumOf(dirty.map(({ count }) => count))),
      ...(frozenBefore === undefined ? {} : { frozenBefore }),
    };
  }
}

const changed = (stored: readonly StoredPartition[], known: ReadonlyMap<string, unknown>): string[] =>
  stored.map(({ partition }) => partition).filter((partition) => !known.has(partition));

/** What partitions of the dirty days hold: the days with snapshots, the newest load, and how many days have blocks. */
const ofPartitions = (
  where: Sql,
) => sql`SELECT 'snapshots' AS what, _partition_id AS partition, relay_chain AS key,
    arraySort(groupUniqArrayIf(toUInt16(dirty.day), stream = 'snapshots' AND pallet = '')) AS days,
    toString(max(dirty.sequence)) AS before, [0, uniqExactIf(dirty.day, stream = 'blocks' AND pallet = '')] AS size
  FROM ${dirtyDays} AS dirty WHERE ${where} GROUP BY partition, relay_chain`;

/** By partition, what its rows say. */
const contentsOf = <Content>(
  rows: readonly CalendarRow[],
  what: CalendarRow['what'],
  contentOf: (own: readonly CalendarRow[]) => Content,
): ReadonlyMap<string, Content> =>
  new Map(
    [
      ...Map.groupBy(
        rows.filter((row) => row.what === what),
        ({ partition }) => partition,
      ),
    ].map(([partition, own]) => [partition, contentOf(own)]),
  );

const daysOfRows = (rows: readonly CalendarRow[]): DaysByKey => rows.map(({ key, days }) => [key, days]);

const dirtyOfRows = (rows: readonly CalendarRow[]): DirtyPartition => ({
  newest: rows.map(({ before }) => BigInt(before)).sort((a, b) => (a > b ? -1 : 1))[0] ?? 0n,
  count: sumOf(rows.map(({ size }) => size[1])),
  snapshots: daysOfRows(rows.filter(({ days }) => days.length > 0)),
});

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
