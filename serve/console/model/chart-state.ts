/**
 * The state of a chart, as it is written in the address of a page. The server and the script in the browser read and
 * write it with the same code, so that an address always shows the same chart.
 */

import type { Unit } from '../../../aggregate/units.ts';

export const PERIODS = ['day', 'week', 'month'] as const;
export type Period = (typeof PERIODS)[number];

/** How several series are drawn: as lines, on top of each other, or as shares of their sum. */
export const STYLES = ['lines', 'stacked', 'share'] as const;
export type ChartStyle = (typeof STYLES)[number];

/** Days up to today; `all` is every day that is stored. */
export const RANGES = ['30d', '90d', '180d', '365d', 'all'] as const;
export type Range = (typeof RANGES)[number];

/** Of native tokens and USD, where a column has a twin in USD. */
const MONEY = ['native', 'usd'] as const;
export type Money = (typeof MONEY)[number];

/** Most series of one chart. */
export const SERIES_MAX = 10;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export interface ChartState {
  /** A preset, or the first and last day, both inclusive. */
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

/** What an address says; what it does not say, or says wrongly, is the default. */
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

/** The parameters of a state; a default is not written. */
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

/** A series that is switched off. */
export const HIDDEN = 'hide';
export const hiddenIn = (query: URLSearchParams): ReadonlySet<string> => new Set(query.getAll(HIDDEN));

function isDay(text: string): boolean {
  return DAY.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;
}

/** The answer of `/api/series`: columns, so that ten years of ten series are some kilobytes. */
export interface SeriesAnswer {
  readonly per: Period;
  /** First day of the first period, and number of periods: they follow each other without a hole. */
  readonly start: string;
  readonly periods: number;
  /** First period that is not over. */
  readonly provisional_from: string | null;
  readonly series: readonly SeriesData[];
  /** Of each series the place of its colour, as its page gives it; without a page they follow each other. */
  readonly colours?: readonly number[];
}

export const seriesColour = ({ colours }: Pick<SeriesAnswer, 'colours'>, series: number): number =>
  colours?.[series] ?? series;

export interface SeriesData {
  /** `METRIC.COLUMN@RELAY/CHAIN`, as `daily-tps.num_blocks@polkadot/moonbeam`; `:PART` follows where it has parts. */
  readonly id: string;
  readonly title: string;
  readonly relay_chain: string;
  readonly chain: string;
  /** What tells the lines of a chain apart, as the kind of a vote; most metrics have one line and no parts. */
  readonly parts: readonly string[];
  readonly unit: Unit;
  /** Symbol of the native token, where the unit is that. */
  readonly token: string | null;
  /** One value for each period, null where there is none. */
  readonly values: readonly (number | null)[];
  /** First and last period, by their place, in which days are missing. */
  readonly gaps: readonly (readonly [number, number])[];
}
