import { basename } from 'node:path';
import type { FailedJob, Runtime, Store } from '../../infra/ports.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { countDeadLetters } from '../../ingest/dead-letters/dead-letters.ts';
import { readDemoMark } from '../../ingest/demo/mark.ts';
import type { ChainKey } from '../../ingest/raw/canonical.ts';
import { readOutdatedSnapshots } from '../../ingest/raw/decoders.ts';
import { countRefusedFacts } from '../../ingest/raw/refused-facts.ts';
import { type Retention, readRetention } from '../../ingest/raw/retention.ts';
import { chains, deadLetters, prices } from '../../ingest/raw/tables.ts';
import { readUnreadCalls, type UnreadCalls } from '../../ingest/raw/unknown-wrappers.ts';
import {
  countSkippedHeights,
  readSkippedHeights,
  type SkippedHeight,
} from '../../ingest/sources/skipped-heights.ts';
import { dailyUptime } from '../metrics/activity/daily-uptime.ts';
import { blockDays, materializedMetrics } from '../metrics/index.ts';
import type { Aggregator } from '../runner/aggregator.ts';
import { countDirtyDays, palletsOf } from '../runner/dirty-days.ts';
import { type FailedMetric, failuresBehind, readFailedMetrics, readsByMetric } from '../runner/failures.ts';
import { computedWindows, readWatermarks } from '../runner/ledger.ts';
import type { PendingReason } from '../runner/pending.ts';
import { findLowestWatermark } from '../runner/watermarks.ts';
import {
  type ChainHeights,
  type Missing,
  type MissingRow,
  RANGES_MAX,
  readHeights,
  toMissing,
} from './heights.ts';

export interface ChainStatus extends ChainHeights {
  readonly lag_seconds: number | null;
  /** Missing heights that their sources did not serve. */
  readonly skipped_heights: number;
}

export interface SystemStatus {
  /** True if the store holds generated demo data. */
  readonly demo_data: boolean;
  readonly chains: readonly ChainStatus[];
  readonly dead_letters: {
    readonly total: number;
    readonly latest: readonly { received_at: string; file: string; line: number; reason: string }[];
  };
  readonly refused_facts: number;
  readonly unknown_wrappers: UnreadCalls;
  /** Snapshots and prices that another decoder version loaded. */
  readonly outdated_snapshots: number;
  /** Null if no raw rows are deleted. */
  readonly retention: {
    /** Blocks of earlier days are refused. */
    readonly blocks_from: string | null;
    /** Raw rows of earlier days are deleted, or about to be. */
    readonly raw_rows_from: string | null;
  };
  readonly metrics: readonly {
    metric: string;
    version: string;
    computed_at: string | null;
    windows: number;
    /** The earliest day of loaded data that the rows lack, and the reason; null if the rows are complete. */
    pending_from: string | null;
    pending_reason: PendingReason | null;
    /** Its own failure, and failures of metrics that it reads. */
    failures: readonly FailedMetric[];
  }[];
  readonly computing: {
    /** True while a bulk load runs; its days are computed when it ends. */
    readonly held: boolean;
    readonly touched_days_waiting: number;
    readonly jobs_waiting: number;
    readonly windows_done: number;
    readonly windows_total: number;
    readonly failed: readonly FailedJob[];
  };
}

export interface ChainCoverage
  extends Pick<ChainStatus, 'relay_chain' | 'chain' | 'untimed_blocks' | 'missing_blocks'> {
  readonly lowest_block: number;
  readonly highest_block: number;
  readonly first_day: string | null;
  readonly last_day: string | null;
  /** Days between the first and the last day without blocks that are not proven empty. */
  readonly missing_days: Missing<string>;
  /** Days with blocks for which the chain's token has no price. */
  readonly days_without_price: Missing<string> & { readonly token: string };
  /** Missing heights that their sources did not serve; the first of them are listed. */
  readonly skipped_heights: {
    readonly total: number;
    readonly heights: readonly Omit<SkippedHeight, 'relay_chain' | 'chain'>[];
  };
}

const RANGES_SHOWN = 5;
const DEAD_LETTERS_SHOWN = 5;

/** Reads the heights of every chain, the refused input, and the state of the computation. */
export async function readStatus(
  { store, clock }: Pick<Runtime, 'clock'> & { readonly store: Pick<Store, 'rows'> },
  aggregator: Pick<Aggregator, 'progress' | 'isPaused' | 'jobs' | 'version' | 'pending'>,
): Promise<SystemStatus> {
  const { progress, isPaused } = aggregator;
  const [
    demoMark,
    heights,
    skipped,
    deadLetterCount,
    latest,
    refused_facts,
    unknown_wrappers,
    outdated_snapshots,
    retention,
    metrics,
    daysWaiting,
    jobs,
  ] = await Promise.all([
    readDemoMark(store),
    readHeights(store),
    countSkippedHeights(store),
    countDeadLetters(store),
    store.rows<{ received_at: string; origin: string; line: number; reason: string }>(
      sql`SELECT received_at, origin, line, reason FROM ${deadLetters} FINAL
        ORDER BY received_at DESC, origin, line LIMIT ${DEAD_LETTERS_SHOWN}`,
    ),
    countRefusedFacts(store),
    readUnreadCalls(store),
    readOutdatedSnapshots(store),
    readRetention(store),
    readMetricVersions(store, aggregator),
    readDaysWaiting(store),
    aggregator.jobs(),
  ]);
  const now = clock.now();
  return {
    demo_data: demoMark !== null,
    chains: heights.map((chain) => ({
      ...chain,
      lag_seconds:
        chain.newest_block_at === null
          ? null
          : Math.max(0, Math.floor((now - Date.parse(chain.newest_block_at)) / 1000)),
      skipped_heights: skipped.find((row) => isSameChain(row, chain))?.heights ?? 0,
      missing_blocks: { ...chain.missing_blocks, ranges: chain.missing_blocks.ranges.slice(0, RANGES_SHOWN) },
    })),
    // File names are public, directories are not.
    dead_letters: {
      total: deadLetterCount,
      latest: latest.map(({ origin, ...deadLetter }) => ({ ...deadLetter, file: basename(origin) })),
    },
    refused_facts,
    unknown_wrappers,
    outdated_snapshots,
    retention: boundsOf(retention),
    metrics,
    computing: {
      held: isPaused,
      touched_days_waiting: daysWaiting,
      jobs_waiting: jobs.waiting,
      windows_done: progress.done,
      windows_total: progress.total,
      failed: jobs.failed,
    },
  };
}

const boundsOf = ({ closed, frozen }: Retention): SystemStatus['retention'] => ({
  blocks_from: closed.at === 0 ? null : closed.before,
  raw_rows_from: frozen.at === 0 ? null : frozen.before,
});

/** Reads the missing heights, days and prices of every chain. */
export async function readCoverage(
  store: Pick<Store, 'rows'>,
  registry: Registry,
  filter: { relay_chain?: string; chain?: string } = {},
): Promise<readonly ChainCoverage[]> {
  const where = raw(
    [
      '1',
      filter.relay_chain === undefined ? '' : sql`relay_chain = ${filter.relay_chain}`.text,
      filter.chain === undefined ? '' : sql`chain = ${filter.chain}`.text,
    ]
      .filter((condition) => condition !== '')
      .join(' AND '),
  );
  const [heights, skippedCounts, skipped, days, unpriced] = await Promise.all([
    readHeights(store),
    countSkippedHeights(store),
    readSkippedHeights(store, undefined, RANGES_MAX),
    store.rows<ChainKey & { first_day: string; last_day: string } & MissingRow>(sql`
      SELECT relay_chain, chain, toString(min(date)) AS first_day, toString(max(date)) AS last_day,
        sum(gap) AS total, countIf(gap > 0) AS ranges_total,
        arrayMap(r -> (toString(r.1), toString(r.2)), groupArraySortedIf(${raw(String(RANGES_MAX))})((previous + 1, date - 1), gap > 0)) AS ranges
      FROM (
        SELECT relay_chain, chain, date, lagInFrame(date, 1, date - 1) OVER (
            PARTITION BY relay_chain, chain ORDER BY date ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous,
          toUInt32(date - previous - 1) AS gap
        FROM ${dailyUptime.table} FINAL WHERE ${where}
      ) GROUP BY relay_chain, chain`),
    readDaysWithoutPrice(store, where),
  ]);
  return heights
    .filter((chain) => filter.relay_chain === undefined || chain.relay_chain === filter.relay_chain)
    .filter((chain) => filter.chain === undefined || chain.chain === filter.chain)
    .map(({ relay_chain, chain, lowest_block, highest_block, untimed_blocks, missing_blocks }) => {
      const isOfChain = (row: ChainKey) => isSameChain(row, { relay_chain, chain });
      const day = days.find(isOfChain);
      const price = unpriced.find(isOfChain);
      const token = price?.token ?? registry.find(chain, relay_chain)?.token ?? '';
      return {
        relay_chain,
        chain,
        lowest_block,
        highest_block,
        first_day: day?.first_day ?? null,
        last_day: day?.last_day ?? null,
        untimed_blocks,
        missing_blocks,
        missing_days: toMissing(day),
        days_without_price: { token, ...toMissing(price) },
        skipped_heights: {
          total: skippedCounts.find(isOfChain)?.heights ?? 0,
          heights: skipped
            .filter(isOfChain)
            .map(({ relay_chain: _relay, chain: _chain, ...height }) => height),
        },
      };
    });
}

/** Reads the days with blocks but without a price of the chain's token, for the chains that match `where`. */
export const readDaysWithoutPrice = (
  store: Pick<Store, 'rows'>,
  where: Sql,
): Promise<readonly (ChainKey & { readonly token: string } & MissingRow)[]> =>
  store.rows(sql`
    SELECT relay_chain, chain, any(own_token) AS token, sum(days) AS total, count() AS ranges_total,
      arrayMap(r -> (toString(r.1), toString(r.2)), groupArraySorted(${raw(String(RANGES_MAX))})((first, last))) AS ranges
    FROM (
      SELECT relay_chain, chain, any(token) AS own_token, min(date) AS first, max(date) AS last, count() AS days
      FROM (
        SELECT relay_chain, chain, date, token,
          date - row_number() OVER (PARTITION BY relay_chain, chain ORDER BY date) AS island
        FROM (SELECT relay_chain, chain, date FROM ${blockDays} FINAL WHERE ${where}) AS days
        INNER JOIN (SELECT relay_chain, chain, token FROM ${chains} FINAL) AS registry USING (relay_chain, chain)
        WHERE (token, date) NOT IN (SELECT symbol, toDate(as_of) FROM ${prices} FINAL)
      ) GROUP BY relay_chain, chain, island
    ) GROUP BY relay_chain, chain`);

const isSameChain = (a: ChainKey, b: ChainKey) => a.relay_chain === b.relay_chain && a.chain === b.chain;

async function readMetricVersions(
  store: Pick<Store, 'rows'>,
  aggregator: Pick<Aggregator, 'version' | 'pending'>,
): Promise<SystemStatus['metrics']> {
  const rows = await store.rows<{ metric: string; computed_at: string; windows: number }>(
    sql`SELECT metric, max(computed_at) AS computed_at, count() AS windows FROM ${computedWindows} FINAL GROUP BY metric`,
  );
  const pending = await aggregator.pending(store);
  const failures = await readFailedMetrics(store);
  const reads = readsByMetric(materializedMetrics);
  return materializedMetrics.map(({ name }) => {
    const row = rows.find(({ metric }) => metric === name);
    const waiting = pending.get(name) ?? [];
    const [since] = waiting.map((one) => one.since).sort();
    return {
      metric: name,
      version: aggregator.version(name),
      computed_at: row?.computed_at ?? null,
      windows: row?.windows ?? 0,
      pending_from: since ?? null,
      pending_reason: (waiting.find(({ reason }) => reason === 'failed') ?? waiting[0])?.reason ?? null,
      failures: failuresBehind(name, failures, reads),
    };
  });
}

/** Counts the days that some metric lacks. */
async function readDaysWaiting(store: Pick<Store, 'rows'>): Promise<number> {
  const after = findLowestWatermark(materializedMetrics, await readWatermarks(store));
  return countDirtyDays(store, { after, pallets: palletsOf(materializedMetrics) });
}
