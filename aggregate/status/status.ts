import { basename } from 'node:path';
import { raw, sql } from '../../infra/clickhouse/sql.ts';
import type { FailedJob, Runtime, Store } from '../../infra/ports.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { blocks, chains, deadLetters, dirtyDays, prices, refusedFacts } from '../../ingest/raw/tables.ts';
import { chainDay } from '../metrics/activity/chain-day.ts';
import { uptimeDay } from '../metrics/activity/uptime-day.ts';
import { materializedMetrics } from '../metrics/index.ts';
import type { Aggregator } from '../runner/aggregator.ts';
import { computedWindows, watermarks } from '../runner/ledger.ts';
import {
  type ChainHeights,
  type Missing,
  type MissingRow,
  missing,
  RANGES_MAX,
  readHeights,
} from './heights.ts';

export interface ChainStatus extends ChainHeights {
  readonly lag_seconds: number | null;
}

export interface SystemStatus {
  readonly chains: readonly ChainStatus[];
  readonly dead_letters: {
    readonly total: number;
    readonly latest: readonly { received_at: string; file: string; line: number; reason: string }[];
  };
  readonly refused_facts: number;
  readonly metrics: readonly {
    metric: string;
    version: string;
    computed_at: string | null;
    windows: number;
  }[];
  readonly computing: {
    /** A bulk load is under way: its days are computed when it ends. */
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
  /** Days between the first and the last that have no block and are not proven to be empty. */
  readonly missing_days: Missing<string>;
  /** Days with blocks for which the chain's token has no price. */
  readonly days_without_price: Missing<string> & { readonly token: string };
}

const RANGES_SHOWN = 5;
const LETTERS_SHOWN = 5;

/** How far every chain has come, what was refused, and what is computed or waits for it. */
export async function readStatus(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  aggregator: Pick<Aggregator, 'progress' | 'isPaused' | 'jobs' | 'version'>,
): Promise<SystemStatus> {
  const { progress, isPaused } = aggregator;
  const [heights, letters, latest, refused_facts, metrics, waiting, jobs] = await Promise.all([
    readHeights(store),
    store.rows<{ total: number }>(sql`SELECT count() AS total FROM ${deadLetters} FINAL`),
    store.rows<{ received_at: string; origin: string; line: number; reason: string }>(
      sql`SELECT received_at, origin, line, reason FROM ${deadLetters} FINAL
        ORDER BY received_at DESC, origin, line LIMIT ${LETTERS_SHOWN}`,
    ),
    readRefusedFacts(store),
    readMetrics(store, aggregator),
    readDaysWaiting(store),
    aggregator.jobs(),
  ]);
  const now = clock.now();
  return {
    chains: heights.map((chain) => ({
      ...chain,
      lag_seconds:
        chain.newest_block_at === null
          ? null
          : Math.max(0, Math.floor((now - Date.parse(chain.newest_block_at)) / 1000)),
      missing_blocks: { ...chain.missing_blocks, ranges: chain.missing_blocks.ranges.slice(0, RANGES_SHOWN) },
    })),
    // Readers learn which file it was, not where the operator keeps it.
    dead_letters: {
      total: letters[0]?.total ?? 0,
      latest: latest.map(({ origin, ...letter }) => ({ ...letter, file: basename(origin) })),
    },
    refused_facts,
    metrics,
    computing: {
      held: isPaused,
      touched_days_waiting: waiting,
      jobs_waiting: jobs.waiting,
      windows_done: progress.done,
      windows_total: progress.total,
      failed: jobs.failed,
    },
  };
}

/** What is missing of every chain, by height, by day and by price. */
export async function readCoverage(
  store: Store,
  registry: Registry,
  of: { relay_chain?: string; chain?: string } = {},
): Promise<readonly ChainCoverage[]> {
  const where = raw(
    [
      '1',
      of.relay_chain === undefined ? '' : sql`relay_chain = ${of.relay_chain}`.text,
      of.chain === undefined ? '' : sql`chain = ${of.chain}`.text,
    ]
      .filter((condition) => condition !== '')
      .join(' AND '),
  );
  const [heights, days, unpriced] = await Promise.all([
    readHeights(store),
    store.rows<ChainOf & { first_day: string; last_day: string } & MissingRow>(sql`
      SELECT relay_chain, chain, toString(min(date)) AS first_day, toString(max(date)) AS last_day,
        sum(gap) AS total, countIf(gap > 0) AS ranges_total,
        arrayMap(r -> (toString(r.1), toString(r.2)), groupArraySortedIf(${raw(String(RANGES_MAX))})((previous + 1, date - 1), gap > 0)) AS ranges
      FROM (
        SELECT relay_chain, chain, date, lagInFrame(date, 1, date - 1) OVER (
            PARTITION BY relay_chain, chain ORDER BY date ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous,
          toUInt32(date - previous - 1) AS gap
        FROM ${uptimeDay.table} FINAL WHERE ${where}
      ) GROUP BY relay_chain, chain`),
    store.rows<ChainOf & { token: string } & MissingRow>(sql`
      SELECT relay_chain, chain, any(own_token) AS token, sum(days) AS total, count() AS ranges_total,
        arrayMap(r -> (toString(r.1), toString(r.2)), groupArraySorted(${raw(String(RANGES_MAX))})((first, last))) AS ranges
      FROM (
        SELECT relay_chain, chain, any(token) AS own_token, min(date) AS first, max(date) AS last, count() AS days
        FROM (
          SELECT relay_chain, chain, date, token,
            date - row_number() OVER (PARTITION BY relay_chain, chain ORDER BY date) AS island
          FROM (SELECT relay_chain, chain, date FROM ${chainDay.table} FINAL WHERE ${where}) AS days
          INNER JOIN (SELECT relay_chain, chain, token FROM ${chains} FINAL) AS registry USING (relay_chain, chain)
          WHERE (token, date) NOT IN (SELECT symbol, toDate(as_of) FROM ${prices} FINAL)
        ) GROUP BY relay_chain, chain, island
      ) GROUP BY relay_chain, chain`),
  ]);
  return heights
    .filter((chain) => of.relay_chain === undefined || chain.relay_chain === of.relay_chain)
    .filter((chain) => of.chain === undefined || chain.chain === of.chain)
    .map(({ relay_chain, chain, lowest_block, highest_block, untimed_blocks, missing_blocks }) => {
      const isOfChain = (row: ChainOf) => row.relay_chain === relay_chain && row.chain === chain;
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
        missing_days: missing(day),
        days_without_price: { token, ...missing(price) },
      };
    });
}

interface ChainOf {
  readonly relay_chain: string;
  readonly chain: string;
}

/** Facts that the living blocks hold and no decoder takes; those of replaced blocks are gone with them. */
async function readRefusedFacts(store: Store): Promise<number> {
  const [row] = await store.rows<{ total: number }>(sql`
    SELECT count() AS total FROM ${refusedFacts} FINAL WHERE rank IN (
      SELECT rank FROM ${blocks} FINAL
      WHERE (relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${refusedFacts}))`);
  return row?.total ?? 0;
}

async function readMetrics(
  store: Store,
  aggregator: Pick<Aggregator, 'version'>,
): Promise<SystemStatus['metrics']> {
  const rows = await store.rows<{ metric: string; computed_at: string; windows: number }>(
    sql`SELECT metric, max(computed_at) AS computed_at, count() AS windows FROM ${computedWindows} FINAL GROUP BY metric`,
  );
  return materializedMetrics.map(({ name }) => {
    const row = rows.find(({ metric }) => metric === name);
    return {
      metric: name,
      version: aggregator.version(name),
      computed_at: row?.computed_at ?? null,
      windows: row?.windows ?? 0,
    };
  });
}

/** Days of chains that were touched after what the slowest metric has settled. */
async function readDaysWaiting(store: Store): Promise<number> {
  const names = materializedMetrics.map((metric) => metric.name);
  const [row] = await store.rows<{ days: number }>(sql`
    WITH (SELECT if(uniqExact(metric) < ${names.length}, 0, min(newest)) FROM (
      SELECT metric, max(sequence) AS newest FROM ${watermarks} WHERE metric IN ${names} GROUP BY metric)) AS settled_up_to
    SELECT uniqExact(relay_chain, chain, day) AS days FROM ${dirtyDays} WHERE sequence > settled_up_to`);
  return row?.days ?? 0;
}
