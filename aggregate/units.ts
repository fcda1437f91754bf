/**
 * What a number counts or measures. Pages, the OpenAPI document, the catalogue, exports and dashboards read it from the
 * declaration of the column.
 *
 * - `count`: things, as blocks or accounts
 * - `native`: tokens of the chain
 * - `planck`: the smallest unit of these, as a decimal string
 * - `usd`: US dollars
 * - `ratio`: a share; 0.6 is shown as 60 %
 * - `percent`: a share times 100; 60 is shown as 60 %
 * - `seconds`, `bytes`
 * - `per_second`: things in a second
 * - `height`: the number of a block
 * - `identifier`: a number that names something, as a core or a referendum
 * - `weight`: computation, in Substrate's `ref_time` or in gas
 * - `number`: none of these, as coins of another asset or a multiplier; the title says what it is
 */
export const UNITS = [
  'count',
  'native',
  'planck',
  'usd',
  'ratio',
  'percent',
  'seconds',
  'bytes',
  'per_second',
  'height',
  'identifier',
  'weight',
  'number',
] as const;
export type Unit = (typeof UNITS)[number];

/**
 * How the values of days make the value of a week or a month, and those of chains that of all of them. Distinct counts
 * make none: accounts that are active on two days are one account.
 */
export const MERGES = ['sum', 'mean', 'last', 'max', 'min', 'none'] as const;
export type Merge = (typeof MERGES)[number];

/** How a column is shown. */
export interface Shown {
  /** What heads it: a noun in a few words, without its unit. */
  readonly title: string;
  /** Null for what is no number. */
  readonly unit: Unit | null;
  readonly overTime: Merge;
  readonly overChains: Merge;
  /** Whether it says something on a chart. */
  readonly isDrawn: boolean;
}

/** How columns of a unit are shown, unless a column says otherwise. Tokens of different chains do not add up. */
export const SHOWN_BY_UNIT: Readonly<Record<Unit, Omit<Shown, 'title' | 'unit'>>> = {
  count: { overTime: 'sum', overChains: 'sum', isDrawn: true },
  native: { overTime: 'sum', overChains: 'none', isDrawn: true },
  // The exact twin of a native column.
  planck: { overTime: 'sum', overChains: 'none', isDrawn: false },
  usd: { overTime: 'sum', overChains: 'sum', isDrawn: true },
  ratio: { overTime: 'mean', overChains: 'none', isDrawn: true },
  percent: { overTime: 'mean', overChains: 'none', isDrawn: true },
  seconds: { overTime: 'mean', overChains: 'none', isDrawn: true },
  bytes: { overTime: 'sum', overChains: 'sum', isDrawn: true },
  per_second: { overTime: 'mean', overChains: 'sum', isDrawn: true },
  height: { overTime: 'none', overChains: 'none', isDrawn: false },
  identifier: { overTime: 'none', overChains: 'none', isDrawn: false },
  weight: { overTime: 'sum', overChains: 'sum', isDrawn: false },
  number: { overTime: 'none', overChains: 'none', isDrawn: false },
};
