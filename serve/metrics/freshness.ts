import { chainDay } from '../../aggregate/metrics/activity/chain-day.ts';
import { sql } from '../../infra/clickhouse/sql.ts';
import type { QueryStore } from '../http/readers.ts';
import type { TableVersions } from './answers.ts';
import type { Query } from './parameters.ts';

interface ChainFacts {
  readonly relay_chain: string;
  readonly chain: string;
  readonly newest: number;
  /** Pairs of days between which heights are missing. */
  readonly gaps: readonly (readonly [string, string])[];
}

/** Headers with the time, in milliseconds, that they are true for. */
interface MadeHeaders {
  readonly headers: Record<string, string>;
  readonly from: number;
  readonly until: number;
}

/** How fresh and how complete the data behind an answer are; read from the store only after a computation. */
export class Freshness {
  readonly #store: QueryStore;
  readonly #versions: TableVersions;
  #version = '';
  #chains: readonly ChainFacts[] = [];
  #reading: Promise<void> | null = null;
  #made = new WeakMap<Query, MadeHeaders>();

  constructor({ store, versions }: { store: QueryStore; versions: TableVersions }) {
    this.#store = store;
    this.#versions = versions;
  }

  /** Reads again when days were computed since the last time. */
  async refresh(): Promise<void> {
    const version = this.#versions.version(chainDay.name);
    if (version === this.#version) return;
    this.#reading ??= this.#read(version).finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  /** Headers for an answer; `now` in milliseconds. They are cached, since they stay the same within a second. */
  headers(query: Query, now: number): Record<string, string> {
    const known = this.#made.get(query);
    if (known && known.from <= now && now < known.until) return known.headers;
    const made = this.#make(query, now);
    this.#made.set(query, made);
    return made.headers;
  }

  #make(query: Query, now: number): MadeHeaders {
    const chains = this.#chains.filter(
      (facts) =>
        (query.relay_chain === undefined || facts.relay_chain === query.relay_chain) &&
        (query.chain === undefined || query.chain === 'ecosystem' || facts.chain === query.chain),
    );
    if (chains.length === 0) return { headers: {}, from: now, until: Number.POSITIVE_INFINITY };
    const newest = Math.max(...chains.map((facts) => facts.newest));
    const lagSeconds = Math.max(0, Math.floor((now - newest) / 1000));
    const today = new Date(now).toISOString().slice(0, 10);
    const isPartial = chains.some((facts) =>
      facts.gaps.some(([from, to]) => from <= query.end && to >= query.start),
    );
    const headers = {
      'x-data-as-of': new Date(newest).toISOString(),
      'x-data-lag-seconds': String(lagSeconds),
      'x-coverage': isPartial ? 'partial' : 'complete',
      ...(new Date(newest).toISOString().slice(0, 10) >= today ? { 'x-provisional-from': today } : {}),
    };
    const midnight = Date.parse(today) + 86_400_000;
    return { headers, from: now, until: Math.min(midnight, newest + (lagSeconds + 1) * 1000) };
  }

  async #read(version: string): Promise<void> {
    const rows = await this.#store.rows<{
      relay_chain: string;
      chain: string;
      newest: number;
      gaps: [string, string][];
    }>(sql`
      SELECT relay_chain, chain, toUnixTimestamp64Milli(max(last_time)) AS newest,
        groupArrayIf((toString(previous_date), toString(date)), is_gap) AS gaps
      FROM (
        SELECT relay_chain, chain, date, last_time,
          lagInFrame(last_block) OVER before AS previous_block,
          if(previous_block = 0, date, lagInFrame(date) OVER before) AS previous_date,
          num_blocks < last_block - first_block + 1 OR (previous_block > 0 AND first_block > previous_block + 1) AS is_gap
        FROM ${chainDay.table} FINAL
        WINDOW before AS (PARTITION BY relay_chain, chain ORDER BY date ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
      ) GROUP BY relay_chain, chain`);
    this.#chains = rows;
    this.#made = new WeakMap();
    this.#version = version;
  }
}
