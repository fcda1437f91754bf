/** The state of a chart in the URL. Server and browser share this code, so a URL always shows the same chart. */

import type { Unit } from '../../../aggregate/units.ts';

export const PERIODS = ['day', 'week', 'month'] as const;
export type Period = (typeof PERIODS)[number];

/** Drawing styles: lines, stacked areas, or shares of the sum. */
const STYLES = ['lines', 'stacked', 'share'] as const;
export type ChartStyle = (typeof STYLES)[number];

/** Ranges that end today; `all` starts with the first stored day. */
export const RANGES = ['30d', '90d', '180d', '365d', 'all'] as const;
export type Range = (typeof RANGES)[number];

/** Currencies of columns that have a counterpart in USD. */
const MONEY = ['native', 'usd'] as const;
export type Money = (typeof MONEY)[number];

/** Maximum number of series in a chart. */
export const SERIES_MAX = 10;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export interface ChartState {
  /** A preset, or custom days, both inclusive. */
  readonly range: Range | { readonly from: string; readonly until: string };
  readonly per: Period;
  readonly style: ChartStyle;
  readonly money: Money;
  /** Whether each series is divided by its first value, times 100. */
  readonly isIndexed: boolean;
  readonly isLogarithmic: boolean;
  /** Whether each value is the mean of the seven days that end with its own. */
  readonly isSmoothed: boolean;
}

export const DEFAULT_STATE: ChartState = {
  range: '180d',
  per: 'day',
  style: 'lines',
  money: 'native',
  isIndexed: false,
  isLogarithmic: false,
  isSmoothed: false,
};

const one = <T extends string>(values: readonly T[], text: string | null, otherwise: T): T =>
  values.find((value) => value === text) ?? otherwise;

/** Parses the state of a URL. Absent and invalid parameters get their defaults. */
export function chartStateOf(query: URLSearchParams, defaults: ChartState = DEFAULT_STATE): ChartState {
  const [from, until] = [query.get('from') ?? '', query.get('until') ?? ''];
  const hasDays = isDay(from) && isDay(until) && from <= until;
  const preset = typeof defaults.range === 'string' ? defaults.range : '180d';
  return {
    range: hasDays ? { from, until } : one(RANGES, query.get('range'), preset),
    per: one(PERIODS, query.get('per'), defaults.per),
    style: one(STYLES, query.get('style'), defaults.style),
    money: one(MONEY, query.get('money'), defaults.money),
    isIndexed: query.get('indexed') === '1',
    isLogarithmic: query.get('log') === '1',
    isSmoothed: query.get('mean') === '7',
  };
}

/** The query string of a state, without defaults. */
export function chartQuery(state: ChartState, defaults: ChartState = DEFAULT_STATE): URLSearchParams {
  const query = new URLSearchParams();
  if (typeof state.range === 'object') {
    query.set('from', state.range.from);
    query.set('until', state.range.until);
  } else if (state.range !== defaults.range) query.set('range', state.range);
  if (state.per !== defaults.per) query.set('per', state.per);
  if (state.style !== defaults.style) query.set('style', state.style);
  if (state.money !== defaults.money) query.set('money', state.money);
  if (state.isIndexed) query.set('indexed', '1');
  if (state.isLogarithmic) query.set('log', '1');
  if (state.isSmoothed) query.set('mean', '7');
  return query;
}

/** Parameter for the id of a hidden series. */
export const HIDDEN = 'hide';
export const hiddenIn = (query: URLSearchParams): ReadonlySet<string> => new Set(query.getAll(HIDDEN));

function isDay(text: string): boolean {
  return DAY.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;
}

/** The response of `/api/series`. Columnar, so that ten years of ten series are only kilobytes. */
export interface SeriesAnswer {
  readonly per: Period;
  /** First day of the first period. */
  readonly start: string;
  /** Number of consecutive periods. */
  readonly periods: number;
  /** First day of the first period that is not over. */
  readonly provisional_from: string | null;
  readonly series: readonly SeriesData[];
  /** Palette index of each series. Pages set it; the default is the index of the series. */
  readonly colours?: readonly number[];
}

export const seriesColour = ({ colours }: Pick<SeriesAnswer, 'colours'>, series: number): number =>
  colours?.[series] ?? series;

export interface SeriesData {
  /** `METRIC.COLUMN@RELAY/CHAIN`, as `daily-tps.num_blocks@polkadot/moonbeam`, and `:PART` if it has parts. */
  readonly id: string;
  readonly title: string;
  readonly relay_chain: string;
  readonly chain: string;
  /** Distinguishes several lines of a chain, such as kinds of votes. Most metrics have one line and no parts. */
  readonly parts: readonly string[];
  readonly unit: Unit;
  /** Symbol of the native token, if that is the unit. */
  readonly token: string | null;
  /** One value per period; null if unknown. */
  readonly values: readonly (number | null)[];
  /** Ranges of missing days, as indexes of the first and last period. */
  readonly gaps: readonly (readonly [number, number])[];
}
