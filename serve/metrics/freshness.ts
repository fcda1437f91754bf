import type { Metric } from '../../aggregate/metric.ts';
import { blockDays } from '../../aggregate/metrics/index.ts';
import type { Aggregator } from '../../aggregate/runner/aggregator.ts';
import type { ChainAsOf } from '../../aggregate/runner/chains-as-of.ts';
import {
  PENDING_REASONS,
  type Pending,
  type PendingByMetric,
  type PendingReason,
} from '../../aggregate/runner/pending.ts';
import { DAY_MS, isoDay } from '../../infra/days.ts';
import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { ECOSYSTEM } from '../../ingest/chains/ecosystem.ts';
import type { Query } from './parameters.ts';
import { sourceTables } from './source-tables.ts';

/** A chain that has blocks with a timestamp. */
export interface ChainFacts {
  readonly relay_chain: string;
  readonly chain: string;
  /** First and last day with a block. */
  readonly days: readonly [string, string];
  readonly newest: number;
  /** The newest block that the rows include; null until the first computation ends. */
  readonly computed: Pick<ChainAsOf, 'as_of' | 'lagging'> | null;
  /** Ordered pairs of days between which heights are missing; both are the same day if the gap is within it. */
  readonly gaps: readonly (readonly [string, string])[];
}

/** The aggregator's view of loaded data that are not yet computed. */
type Computation = Pick<Aggregator, 'dataToken' | 'pending' | 'chainsAsOf'>;

/** Headers, and the time range in milliseconds in which they are valid. */
interface TimedHeaders {
  readonly headers: Record<string, string>;
  readonly from: number;
  readonly until: number;
}

/**
 * Freshness and completeness of the data behind an answer. Read them before the rows of the answer, so that headers
 * never claim more than the rows include. They are read from the store again only if `dataToken` has changed.
 */
export class Freshness {
  readonly #store: Pick<Store, 'rows'>;
  readonly #computation: Computation;
  #dataToken = '';
  #pending: PendingByMetric = new Map();
  #chains: readonly ChainFacts[] = [];
  #reading: Promise<void> | null = null;
  #headers = new WeakMap<Query, TimedHeaders>();

  constructor({ store, computation }: { store: Pick<Store, 'rows'>; computation: Computation }) {
    this.#store = store;
    this.#computation = computation;
  }

  /** The chains as of the last refresh. */
  get chains(): readonly ChainFacts[] {
    return this.#chains;
  }

  /** False after a load or a computation, and every two seconds in case a signal was missed. */
  get isCurrent(): boolean {
    return this.#dataToken === this.#computation.dataToken;
  }

  /** Reads the data again, unless they are current. */
  async refresh(): Promise<void> {
    // A running read may have started before the change.
    if (!this.isCurrent) await this.#reading;
    if (this.isCurrent) return;
    this.#reading ??= this.#read(this.#computation.dataToken).finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  /** Headers for an answer; `now` in milliseconds. They are cached, because they change at most once a second. */
  headers(metric: Metric, query: Query, now: number): Record<string, string> {
    const cached = this.#headers.get(query);
    if (cached && cached.from <= now && now < cached.until) return cached.headers;
    const timed = this.#make(metric, query, now);
    this.#headers.set(query, timed);
    return timed.headers;
  }

  #make(metric: Metric, query: Query, now: number): TimedHeaders {
    const chains = this.#chains.filter(
      (facts) =>
        (query.relay_chain === undefined || facts.relay_chain === query.relay_chain) &&
        (query.chain === undefined || query.chain === ECOSYSTEM || facts.chain === query.chain),
    );
    const today = isoDay(now);
    const pending = pendingIn(this.#pending, metric, query);
    const isPartial =
      chains.some((facts) => facts.gaps.some(([from, to]) => from <= query.end && to >= query.start)) ||
      // `x-provisional-from` already says that today's rows may change.
      pending.some(({ since }) => since < today);
    const newest = newestOf(sourceTables(metric), chains, pending);
    const headers = {
      ...(chains.length > 0 || isPartial ? { 'x-coverage': isPartial ? 'partial' : 'complete' } : {}),
      ...pendingHeaders(pending),
    };
    const midnight = Date.parse(today) + DAY_MS;
    if (newest === null) return { headers, from: now, until: midnight };
    const lagSeconds = Math.max(0, Math.floor((now - newest) / 1000));
    const withAge = {
      'x-data-as-of': new Date(newest).toISOString(),
      'x-data-lag-seconds': String(lagSeconds),
      ...headers,
      ...(isoDay(newest) >= today ? { 'x-provisional-from': today } : {}),
    };
    return { headers: withAge, from: now, until: Math.min(midnight, newest + (lagSeconds + 1) * 1000) };
  }

  async #read(dataToken: string): Promise<void> {
    const computed = await this.#computation.chainsAsOf(this.#store);
    const chains = await readChainFacts(this.#store, computed);
    const pending = await this.#computation.pending(this.#store);
    this.#chains = chains;
    this.#pending = pending;
    this.#headers = new WeakMap();
    this.#dataToken = dataToken;
  }
}

/** Time of the newest block that the rows include; null if they include none, or only part of the loaded data. */
function newestOf(
  tables: readonly string[],
  chains: readonly ChainFacts[],
  pending: readonly Pending[],
): number | null {
  if (pending.some(({ hasRows }) => !hasRows)) return null;
  const known = chains.flatMap(({ newest, computed }) => {
    if (!computed) return pending.length > 0 ? [] : [newest];
    const times = tables.map((table) => {
      const lagging = computed.lagging.get(table);
      return lagging === undefined ? computed.as_of : lagging;
    });
    return times.includes(null) ? [] : [Math.min(...(times as number[]))];
  });
  return known.length === 0 ? null : Math.max(...known);
}

/** The pending computations that will change rows of a query. */
const pendingIn = (
  pending: PendingByMetric,
  metric: Metric,
  { relay_chain, start, end }: Pick<Query, 'relay_chain' | 'start' | 'end'>,
): Pending[] =>
  sourceTables(metric)
    .flatMap((table) => pending.get(table) ?? [])
    .filter((one) => relay_chain === undefined || one.relay_chain === relay_chain)
    .filter((one) => one.from <= end && one.until > start);

/** The earliest loaded day that the rows do not include, and why. */
interface PendingRows {
  readonly from: string;
  readonly reason: PendingReason;
}

/** The pending days of a query; null if its rows include all loaded data. */
export const pendingRows = (pending: PendingByMetric, metric: Metric, query: Query): PendingRows | null =>
  summaryOf(pendingIn(pending, metric, query));

function summaryOf(pending: readonly Pending[]): PendingRows | null {
  const [from] = pending.map(({ since }) => since).sort();
  const reason = PENDING_REASONS.findLast((one) => pending.some((other) => other.reason === one));
  return from === undefined || reason === undefined ? null : { from, reason };
}

function pendingHeaders(pending: readonly Pending[]): Record<string, string> {
  const rows = summaryOf(pending);
  return rows === null ? {} : { 'x-pending-from': rows.from, 'x-pending-reason': rows.reason };
}

async function readChainFacts(
  store: Pick<Store, 'rows'>,
  computed: readonly ChainAsOf[],
): Promise<readonly ChainFacts[]> {
  const chains = await store.rows<Omit<ChainFacts, 'computed'>>(sql`
    SELECT relay_chain, chain, (toString(min(date)), toString(max(date))) AS days,
      toUnixTimestamp64Milli(max(last_time)) AS newest,
      arraySort(groupArrayIf((toString(if(is_after_gap, previous_date, date)), toString(date)), is_after_gap OR has_gap)) AS gaps
    FROM (
      SELECT relay_chain, chain, date, last_time,
        lagInFrame(last_block) OVER before AS previous_block, lagInFrame(date) OVER before AS previous_date,
        previous_block > 0 AND first_block > previous_block + 1 AS is_after_gap,
        num_blocks < last_block - first_block + 1 AS has_gap
      FROM ${blockDays} FINAL
      WINDOW before AS (PARTITION BY relay_chain, chain ORDER BY date ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    ) GROUP BY relay_chain, chain ORDER BY relay_chain, chain`);
  const key = (row: { relay_chain: string; chain: string }) => `${row.relay_chain}/${row.chain}`;
  const asOf = new Map(computed.map((row) => [key(row), row]));
  return chains.map((facts) => ({ ...facts, computed: asOf.get(key(facts)) ?? null }));
}
