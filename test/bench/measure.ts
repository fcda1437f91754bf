import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';

/** One line of the table: what the product did, against whom, and how that compares with the goal. */
export interface Figure {
  readonly work: string;
  readonly peer: string;
  /** What was measured, in its own unit. */
  readonly figure: string;
  /** Product against peer; how to read it says the goal. Absent where there is no peer. */
  readonly ratio?: number;
  readonly goal: string;
  readonly met: boolean;
  /** Where the time goes, for whoever wants to make it less. */
  readonly details?: readonly string[];
}

export interface Sizes {
  readonly megabytes: number;
  readonly extrinsics: number;
  readonly rounds: number;
  /** Directory with a history that an earlier bench left; made when absent. */
  readonly history: string | undefined;
  /** File of blocks to ingest, named after its chain, instead of generated ones. */
  readonly blocks: string | undefined;
}

export function readSizes(): Sizes {
  const { values } = parseArgs({
    options: {
      full: { type: 'boolean', default: false },
      megabytes: { type: 'string' },
      extrinsics: { type: 'string' },
      rounds: { type: 'string' },
      history: { type: 'string' },
      blocks: { type: 'string' },
    },
  });
  return {
    megabytes: Number(values.megabytes ?? (values.full ? 1000 : 160)),
    extrinsics: Number(values.extrinsics ?? (values.full ? 10_000_000 : 4_000_000)),
    rounds: Number(values.rounds ?? 5),
    history: values.history,
    blocks: values.blocks,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export interface Compared {
  readonly product: number;
  readonly peer: number;
  /** Median of product / peer of each round. */
  readonly ratio: number;
}

/**
 * Measures product and peer in turn: whatever else the machine does falls on both. The first round warms up and
 * does not count; which of them goes first changes from round to round.
 */
export async function compare(
  rounds: number,
  product: (round: number) => Promise<number>,
  peer: (round: number) => Promise<number>,
): Promise<Compared> {
  const measured: { product: number; peer: number }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const first = round % 2 === 0 ? await peer(round) : undefined;
    const own = await product(round);
    measured.push({ product: own, peer: first ?? (await peer(round)) });
  }
  const counted = measured.slice(1);
  return {
    product: median(counted.map((one) => one.product)),
    peer: median(counted.map((one) => one.peer)),
    ratio: median(counted.map((one) => one.product / one.peer)),
  };
}

/** Hands the figures to `run.ts`, or prints them when the script was started by itself. */
export function report(figures: readonly Figure[]): void {
  if (process.send) process.send(figures);
  else printFigures(figures);
}

export function printFigures(figures: readonly Figure[]): void {
  const rows = figures.map(({ work, peer, figure, ratio, goal, met }) => [
    work,
    peer,
    figure,
    ratio === undefined ? '' : ratio.toFixed(2),
    goal,
    met ? 'met' : 'not met',
  ]);
  const table = [['work', 'peer', 'figure', 'ratio', 'goal', ''], ...rows];
  const widths =
    table[0]?.map((_, column) => Math.max(...table.map((row) => (row[column] as string).length))) ?? [];
  for (const row of table)
    console.log(row.map((cell, column) => cell.padEnd(widths[column] as number)).join('  '));
  for (const { work, details = [] } of figures) {
    if (details.length > 0) console.log(`\n${work}\n${details.map((line) => `  ${line}`).join('\n')}`);
  }
}

export const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

/** What was just written is merged once; what follows should not be charged for it. */
export async function mergesEnd(store: Store): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    await pause(1000);
    const [row] = await store.rows<{ running: number }>(sql`SELECT count() AS running FROM system.merges`);
    quiet = row?.running === 0 ? quiet + 1 : 0;
  }
}
