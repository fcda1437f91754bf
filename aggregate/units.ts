/**
 * The unit of a number. Pages, the OpenAPI document, the catalogue, exports and dashboards read it from the column.
 *
 * - `count`: things, such as blocks or accounts
 * - `native`: tokens of the chain
 * - `planck`: the smallest unit of the token, as a decimal string
 * - `usd`: US dollars
 * - `ratio`: a share; 0.6 is shown as 60 %
 * - `percent`: a share times 100; 60 is shown as 60 %
 * - `seconds`, `bytes`
 * - `per_second`: things in a second
 * - `height`: the number of a block
 * - `identifier`: a number that names something, such as a core or a referendum
 * - `weight`: computation, in Substrate's `ref_time` or in gas
 * - `number`: any other number, such as coins of another asset or a multiplier; the title names the unit
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
 * How the values of days combine into a week or month, and the values of chains into a total. Distinct counts do not
 * combine: an account that is active on two days is one account.
 */
export const MERGES = ['sum', 'mean', 'last', 'max', 'min', 'none'] as const;
export type Merge = (typeof MERGES)[number];

export interface ColumnDisplay {
  /** A short noun phrase without the unit. */
  readonly title: string;
  /** Null for values that are not numbers. */
  readonly unit: Unit | null;
  readonly overTime: Merge;
  readonly overChains: Merge;
  /** True if charts offer the column. */
  readonly isDrawn: boolean;
}

/** Defaults by unit, which a column can override. Tokens of different chains do not add up. */
export const DISPLAY_BY_UNIT: Readonly<Record<Unit, Omit<ColumnDisplay, 'title' | 'unit'>>> = {
  count: { overTime: 'sum', overChains: 'sum', isDrawn: true },
  native: { overTime: 'sum', overChains: 'none', isDrawn: true },
  // Charts draw the native column instead.
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
