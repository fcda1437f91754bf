/**
 * What a number counts or measures. Pages, the OpenAPI document, the catalogue, exports and dashboards read it from the
 * declaration of the column.
 *
 * - `count`: things, as blocks or accounts
 * - `native`: tokens of the chain
 * - `planck`: the smallest unit of these, as a decimal string
 * - `usd`: US dollars
 * - `ratio`: a share; 0.6 is shown as 60 %
 * - `seconds`, `bytes`
 * - `per_second`: things in a second
 * - `height`: the number of a block
 * - `identifier`: a number that names something, as a core or a referendum
 * - `weight`: computation, in Substrate's `ref_time` or `proof_size`
 */
export const UNITS = [
  'count',
  'native',
  'planck',
  'usd',
  'ratio',
  'seconds',
  'bytes',
  'per_second',
  'height',
  'identifier',
  'weight',
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
