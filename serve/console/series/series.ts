import { SERVED_RELAYS } from '../../../aggregate/metric.ts';
import { isoDay } from '../../../infra/days.ts';
import type { Clock, Format } from '../../../infra/ports.ts';
import { ident, sql } from '../../../infra/sql.ts';
import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { QueryStore } from '../../http/readers.ts';
import type { ChainFacts, Freshness } from '../../metrics/freshness.ts';
import type { Period, SeriesAnswer, SeriesData } from '../model/chart-state.ts';
import { addDays, dayAt, type Periods, periodsOf, placeOf } from '../model/periods.ts';
import { type ChartMetric, type Line, lineId } from './chart-metrics.ts';
import { partsSql, readSeries, rowsStatement, statementsOf } from './read-series.ts';

/** A range of days, both inclusive. */
export interface Days {
  readonly from: string;
  readonly until: string;
}

interface SeriesSources {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly freshness: Freshness;
}

/** Limit for the lines of a metric to choose from: a hundred chains with a few parts each. */
const LINES_MAX = 1000;
/** Longest range: about twenty years. */
export const DAYS_MAX = 7320;

/** A line of a metric: a chain, or a part of a chain. */
interface MetricLine {
  readonly relay_chain: string;
  readonly chain: string;
  readonly parts: readonly string[];
  /** Day of its first row. */
  readonly first: string;
}

/** Reads lines of charts. */
export class SeriesReader {
  readonly #sources: SeriesSources;

  constructor(sources: SeriesSources) {
    this.#sources = sources;
  }

  /** The current UTC day. */
  get today(): string {
    return isoDay(this.#sources.clock.now());
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.#sources.clock.now();
  }

  /** Reads lines over the same periods. If any metric is monthly, `per` is `month`. */
  async read(store: QueryStore, lines: readonly Line[], per: Period, days: Days): Promise<SeriesAnswer> {
    const { registry, freshness } = this.#sources;
    await freshness.refresh();
    const { today } = this;
    const periods = periodsOf(perOf(lines, per), days.from, days.until);
    const read = statementsOf(lines).map((some) => readSeries(store, some, { periods, today }));
    const values = new Map((await Promise.all(read)).flatMap((found) => [...found]));
    const provisional = placeOf(periods, today);
    return {
      ...{ per: periods.per, start: periods.start, periods: periods.count },
      provisional_from: provisional >= 0 && provisional < periods.count ? dayAt(periods, provisional) : null,
      series: lines.map((line): SeriesData => {
        const { column, relay_chain, chain, parts } = line;
        const { unit, title } = column.shown;
        const token = unit === 'native' ? (registry.find(chain, relay_chain)?.token ?? null) : null;
        return {
          ...{ id: lineId(line), title, relay_chain, chain, parts, unit, token },
          values: values.get(lineId(line)) ?? [],
          gaps: gapsOf(freshness.chains, line, periods),
        };
      }),
    };
  }

  /** All lines of a metric, the ecosystem last. */
  linesOf(store: QueryStore, { metric, dayColumn, parts }: ChartMetric): Promise<readonly MetricLine[]> {
    return store.rows<MetricLine>(
      sql`SELECT relay_chain, chain, ${partsSql(parts)} AS parts, toString(min(toDate(${ident(dayColumn)}))) AS first
        FROM ${metric.table} FINAL WHERE relay_chain IN ${SERVED_RELAYS} GROUP BY relay_chain, chain, parts
        ORDER BY chain = ${ECOSYSTEM}, indexOf(${SERVED_RELAYS}, relay_chain), chain, parts LIMIT ${LINES_MAX}`,
    );
  }

  /** The same values as a file with one row per value. */
  async file(
    store: QueryStore,
    lines: readonly Line[],
    per: Period,
    { days: { from, until }, format }: { readonly days: Days; readonly format: Format },
  ): Promise<Buffer> {
    const periods = periodsOf(perOf(lines, per), from, until);
    return store.bytes(rowsStatement(lines, { periods, today: this.today }), format);
  }
}

const perOf = (lines: readonly Line[], per: Period): Period =>
  lines.some(({ metric }) => metric.isMonthly) ? 'month' : per;

/** Periods with missing heights of the chain; for the ecosystem, of any of its chains. */
function gapsOf(chains: readonly ChainFacts[], line: Line, periods: Periods): (readonly [number, number])[] {
  const days = chains
    .filter(
      ({ relay_chain, chain }) =>
        relay_chain === line.relay_chain && (line.chain === ECOSYSTEM || chain === line.chain),
    )
    .flatMap(({ gaps }) => gaps);
  const until = addDays(dayAt(periods, periods.count), -1);
  const places = days
    .filter(([from, to]) => from <= until && to >= periods.start)
    .map(
      ([from, to]) =>
        [Math.max(0, placeOf(periods, from)), Math.min(periods.count - 1, placeOf(periods, to))] as const,
    )
    .sort(([a], [b]) => a - b);
  const united: [number, number][] = [];
  for (const [from, to] of places) {
    const last = united.at(-1);
    if (last === undefined || from > last[1] + 1) united.push([from, to]);
    else last[1] = Math.max(last[1], to);
  }
  return united;
}
