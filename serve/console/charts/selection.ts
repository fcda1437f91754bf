import { type Column, totalOf } from '../../../aggregate/columns.ts';
import { didYouMean } from '../../../infra/nearest-name.ts';
import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import type { QueryStore } from '../../http/readers.ts';
import { type ChartState, type Money, SERIES_MAX, type SeriesAnswer } from '../model/chart-state.ts';
import { addDays } from '../model/periods.ts';
import { type ChartColumn, type ChartMetric, type Line, lineId } from '../series/chart-metrics.ts';
import { DAYS_MAX, type Days, type SeriesReader } from '../series/series.ts';
import { assignColours } from './colours.ts';

/** Number of lines of a chart without a selection. */
const LINES_USUAL = 6;

/** A chain of a metric, `RELAY/CHAIN`. */
export type ChainId = `${string}/${string}`;

/** The selection in a URL: chains, as `RELAY/CHAIN` or `CHAIN`, and parts. */
interface Named {
  readonly chains: readonly string[];
  readonly parts: readonly string[];
}

export const namedIn = (query: URLSearchParams): Named => ({
  chains: query.getAll('chain'),
  parts: query.getAll('part'),
});

/** The selected lines of a metric, with their values. */
export interface Selection {
  readonly metric: ChartMetric;
  readonly column: ChartColumn;
  readonly days: Days;
  /** All chains with rows, and all of their parts. */
  readonly chains: readonly ChainId[];
  readonly parts: readonly string[];
  readonly chosen: Named;
  /** Warnings about selected lines without rows. */
  readonly unknown: readonly string[];
  /** Set if only the largest lines are drawn. */
  readonly notice: string | null;
  readonly lines: readonly Line[];
  readonly answer: SeriesAnswer;
}

/** Reads the lines of a metric that a URL selects. Lines without rows become warnings. */
export async function select(
  series: SeriesReader,
  store: QueryStore,
  request: {
    readonly metric: ChartMetric;
    readonly column: ChartColumn;
    readonly state: ChartState;
    readonly named: Named;
  },
): Promise<Selection> {
  const { metric, state, named } = request;
  const column = inMoney(metric, request.column, state.money);
  const known = await series.linesOf(store, metric);
  const days = daysOf(
    state,
    series,
    known.map(({ first }) => first),
  );
  const all = known.map(
    ({ relay_chain, chain, parts }): Line => ({ metric, column, relay_chain, chain, parts }),
  );
  const chains = unique(all.map(chainOf));
  const parts = unique(all.map(partOf)).filter((part) => part !== '');
  const isChain = (id: ChainId) => (name: string) => id === name || id.endsWith(`/${name}`);
  const wanted = {
    chains: chains.filter((id) => named.chains.some(isChain(id))),
    parts: parts.filter((part) => named.parts.includes(part)),
  };
  const isChosen = wanted.chains.length + wanted.parts.length > 0;
  const matching = all.filter(
    (line) =>
      (wanted.chains.length === 0 || wanted.chains.includes(chainOf(line))) &&
      (wanted.parts.length === 0 ? !isTotal(line) : wanted.parts.includes(partOf(line))),
  );
  const answer = await series.read(store, matching, state.per, days);
  const isFew = isChosen && matching.length <= SERIES_MAX;
  const candidates = isFew ? matching : largestFirst(answer, matching, isChosen);
  const lines = isFew ? matching : candidates.slice(0, isChosen ? SERIES_MAX : LINES_USUAL);
  const drawn = new Map(answer.series.map((one) => [one.id, one]));
  const ranks = new Map(all.map((line, rank) => [lineId(line), rank]));
  return {
    ...{ metric, column, days, chains, parts, lines },
    chosen: { chains: unique(lines.map(chainOf)), parts: unique(lines.map(partOf)) },
    unknown: [
      ...missing(named.chains, chains, isChain).map((name) => notDrawn('chain', name, chains)),
      ...missing(named.parts, parts, (part) => (name) => part === name).map((name) =>
        notDrawn('part', name, parts),
      ),
    ].slice(0, SERIES_MAX),
    notice:
      candidates.length > lines.length
        ? `The ${lines.length} largest of ${candidates.length} are drawn.`
        : null,
    answer: {
      ...answer,
      series: lines.flatMap((line) => drawn.get(lineId(line)) ?? []),
      colours: assignColours(lines.map(lineId), (id) => ranks.get(id) ?? 0),
    },
  };
}

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
const chainOf = ({ relay_chain, chain }: Line): ChainId => `${relay_chain}/${chain}`;
const partOf = ({ parts }: Line): string => parts.join('/');

/** Whether a line is the total of the other parts of its chain. It is drawn beside them only if selected. */
const isTotal = ({ metric, parts }: Line): boolean =>
  metric.parts.some((name, i) => totalOf(metric.metric.columns[name] as Column) === parts[i]);

const missing = <T extends string>(
  names: readonly string[],
  known: readonly T[],
  isNamed: (one: T) => (name: string) => boolean,
) => unique(names).filter((name) => !known.some((one) => isNamed(one)(name)));

const NAME_CHARS_SHOWN = 60;

function notDrawn(kind: string, name: string, known: readonly string[]): string {
  const isWhole = kind === 'part' || name.includes('/');
  const near = didYouMean(name, isWhole ? known : known.map((id) => id.split('/')[1] as string));
  return `There are no rows of a ${kind} called ${name.slice(0, NAME_CHARS_SHOWN)}.${near && ` D${near.slice(1)}`}`;
}

/** The column in the chosen currency, if it has a counterpart. */
function inMoney({ columns }: ChartMetric, column: ChartColumn, money: Money): ChartColumn {
  const name = column.name.replace(/_usd$/, '');
  return columns.find((other) => other.name === (money === 'usd' ? `${name}_usd` : name)) ?? column;
}

/** The days of a chart. `all` starts with the first row. */
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

/** Lines with values, the largest sum first. The ecosystem, which is the sum of its chains, is included only if selected. */
function largestFirst({ series }: SeriesAnswer, lines: readonly Line[], isChosen: boolean): readonly Line[] {
  return series
    .map(({ values, chain }, i) => ({
      line: lines[i] as Line,
      chain,
      sum: values.reduce<number>((sum, value) => sum + (value ?? 0), 0),
      isEmpty: values.every((value) => value === null),
    }))
    .filter(({ chain, isEmpty }) => (isChosen || chain !== ECOSYSTEM) && !isEmpty)
    .sort((one, other) => other.sum - one.sum)
    .map(({ line }) => line);
}
