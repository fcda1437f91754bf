import { didYouMean } from '../../../infra/nearest-name.ts';
import type { QueryStore } from '../../http/readers.ts';
import { type ChartState, type Money, SERIES_MAX, type SeriesAnswer } from '../chart-state.ts';
import { addDays } from '../periods.ts';
import { type DrawnColumn, type DrawnMetric, type Line, lineId } from '../series/drawn.ts';
import { DAYS_MAX, type Days, type SeriesReader } from '../series/series.ts';

/** Lines that are drawn when a visitor has chosen none. */
const LINES_USUAL = 6;

/** A chain of a metric, `RELAY/CHAIN`. */
export type ChainId = `${string}/${string}`;

/** What a chart of a metric shows. */
export interface Selection {
  readonly metric: DrawnMetric;
  readonly column: DrawnColumn;
  readonly days: Days;
  /** Every chain that has rows. */
  readonly chains: readonly ChainId[];
  readonly chosen: readonly ChainId[];
  /** What the address names that is no chain with rows, in sentences. */
  readonly unknown: readonly string[];
  readonly lines: readonly Line[];
  readonly answer: SeriesAnswer;
}

/** Reads the lines of a metric that an address names; of what is no chain with rows it draws none, and says so. */
export async function select(
  series: SeriesReader,
  store: QueryStore,
  of: {
    readonly metric: DrawnMetric;
    readonly column: DrawnColumn;
    readonly state: ChartState;
    readonly wanted: readonly string[];
  },
): Promise<Selection> {
  const { metric, state } = of;
  const column = inMoney(metric, of.column, state.money);
  const chains = await series.chainsOf(store, metric);
  const days = daysOf(
    state,
    series,
    chains.map(({ first }) => first),
  );
  const ids = chains.map(({ relay_chain, chain }): ChainId => `${relay_chain}/${chain}`);
  const isNamed = (id: ChainId, name: string) => id === name || id.endsWith(`/${name}`);
  const wanted = ids.filter((id) => of.wanted.some((name) => isNamed(id, name))).slice(0, SERIES_MAX);
  const unknown = [...new Set(of.wanted)].filter((name) => !ids.some((id) => isNamed(id, name)));
  const lineOf = (id: ChainId): Line => {
    const [relay_chain = '', chain = ''] = id.split('/');
    return { metric, column, relay_chain, chain };
  };
  const asked = (wanted.length > 0 ? wanted : ids).map(lineOf);
  const answer = await series.read(store, asked, state.per, days);
  const largest = wanted.length > 0 ? wanted : largestOf(answer, ids);
  const lines = largest.map(lineOf);
  const drawn = new Map(answer.series.map((one) => [one.id, one]));
  return {
    ...{ metric, column, days, chains: ids, chosen: largest, lines },
    unknown: unknown.slice(0, SERIES_MAX).map((name) => notDrawn(name, ids)),
    answer: { ...answer, series: lines.flatMap((line) => drawn.get(lineId(line)) ?? []) },
  };
}

const NAME_CHARS_SHOWN = 60;

function notDrawn(name: string, ids: readonly ChainId[]): string {
  const near = didYouMean(name, name.includes('/') ? ids : ids.map((id) => id.split('/')[1] as string));
  return `There are no rows of a chain called ${name.slice(0, NAME_CHARS_SHOWN)}.${near && ` D${near.slice(1)}`}`;
}

/** The twin of a column in USD, where there is one and it is wanted. */
function inMoney({ columns }: DrawnMetric, column: DrawnColumn, money: Money): DrawnColumn {
  const name = column.name.replace(/_usd$/, '');
  return columns.find((other) => other.name === (money === 'usd' ? `${name}_usd` : name)) ?? column;
}

/** The days that a chart covers; `all` begins with the first row. */
export function daysOf({ range }: ChartState, { today }: SeriesReader, firstDays: readonly string[]): Days {
  if (typeof range === 'object') {
    const earliest = addDays(range.until, 1 - DAYS_MAX);
    return range.from < earliest ? { from: earliest, until: range.until } : range;
  }
  const [first = addDays(today, -30)] = [...firstDays].sort();
  const from = range === 'all' ? first : addDays(today, 1 - Number.parseInt(range, 10));
  const earliest = addDays(today, 1 - DAYS_MAX);
  return { from: from < earliest ? earliest : from > today ? today : from, until: today };
}

/** Chains with the largest sums; the ecosystem is the sum of its chains and stands beside them only when asked for. */
function largestOf({ series }: SeriesAnswer, ids: readonly ChainId[]): ChainId[] {
  const sums = series.map(({ values, chain }, i) => ({
    id: ids[i] as ChainId,
    chain,
    sum: values.reduce<number>((sum, value) => sum + (value ?? 0), 0),
    isEmpty: values.every((value) => value === null),
  }));
  return sums
    .filter(({ chain, isEmpty }) => chain !== 'ecosystem' && !isEmpty)
    .sort((one, other) => other.sum - one.sum)
    .slice(0, LINES_USUAL)
    .map(({ id }) => id);
}
