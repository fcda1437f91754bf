/** A chain of the demo and how busy it is. */
export interface DemoChain {
  readonly name: string;
  /** Consecutive blocks of each day. */
  readonly blocks: number;
  /** Transactions of an average day in the middle of the history. */
  readonly transactions: number;
  /** Growth of its transactions over the whole history, as a factor. */
  readonly growth: number;
  /** Height at `HEIGHTS_AT`, about that of the real chain. */
  readonly height: number;
  /** Usual fee in units of its token. */
  readonly fee: number;
  /** Usual transfer in units of its token. */
  readonly transfer: number;
  /** The day of the history on which the chain began, if not the first. */
  readonly begins?: number;
  /** Days of the history without data, counted from 0. */
  readonly missing: readonly number[];
  /** A day on which the chain stalled. */
  readonly stalled?: number;
}

/** Time of the heights in `DEMO_CHAINS`. Heights at other times follow from them at six seconds per block. */
export const HEIGHTS_AT = Date.parse('2026-11-01');

export const DEMO_CHAINS: readonly DemoChain[] = [
  {
    name: 'polkadot',
    ...{ blocks: 16, transactions: 26, growth: 0.8, height: 33_700_000, fee: 0.0158, transfer: 140 },
    missing: [64, 65, 165],
  },
  {
    name: 'asset-hub-polkadot',
    ...{ blocks: 24, transactions: 84, growth: 1.9, height: 13_400_000, fee: 0.0029, transfer: 210 },
    missing: [88],
  },
  {
    name: 'coretime-polkadot',
    ...{ blocks: 6, transactions: 4, growth: 1.2, height: 5_100_000, fee: 0.0018, transfer: 12 },
    missing: [],
  },
  {
    name: 'moonbeam',
    ...{ blocks: 18, transactions: 62, growth: 0.7, height: 18_900_000, fee: 0.011, transfer: 900 },
    missing: [31, 32],
  },
  {
    name: 'hydration',
    ...{ blocks: 18, transactions: 56, growth: 1.5, height: 12_200_000, fee: 1.9, transfer: 5200 },
    missing: [171],
  },
  {
    name: 'people-polkadot',
    ...{ blocks: 6, transactions: 14, growth: 2.4, height: 4_800_000, fee: 0.0021, transfer: 3 },
    ...{ begins: 61, missing: [] },
  },
  {
    name: 'kusama',
    ...{ blocks: 16, transactions: 12, growth: 0.7, height: 31_500_000, fee: 0.00042, transfer: 9 },
    missing: [98],
  },
  {
    name: 'asset-hub-kusama',
    ...{ blocks: 18, transactions: 38, growth: 1.3, height: 14_900_000, fee: 0.00011, transfer: 14 },
    ...{ missing: [20], stalled: 172 },
  },
  {
    name: 'coretime-kusama',
    ...{ blocks: 6, transactions: 4, growth: 1.1, height: 6_000_000, fee: 0.00009, transfer: 1 },
    missing: [],
  },
];
