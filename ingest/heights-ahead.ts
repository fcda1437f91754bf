import type { Head } from './raw/heights.ts';

/** The lowest and the highest height of a chain. */
type Range = readonly [from: bigint, to: bigint];

/** The place of a batch in the order of the log. */
export interface Turn {
  /** Of each chain; absent until the batch is read. */
  ranges?: ReadonlyMap<string, Range>;
}

/** The heights of the batches that are loaded, or wait for it, in the order of the log. */
export class HeightsAhead {
  readonly #turns = new Set<Turn>();

  take(): Turn {
    const turn: Turn = {};
    this.#turns.add(turn);
    return turn;
  }

  end(turn: Turn): void {
    this.#turns.delete(turn);
  }

  /**
   * Whether no batch before this one holds a height between the lowest of a chain and the child of its highest: what the
   * store has of them is the same before these batches are loaded and afterwards.
   */
  isApart(turn: Turn): boolean {
    for (const before of this.#turns) {
      if (before === turn) return true;
      if (before.ranges === undefined || meets(turn.ranges, before.ranges)) return false;
    }
    return false;
  }
}

export function rangesOf(heads: readonly Head[]): ReadonlyMap<string, Range> {
  const ranges = new Map<string, Range>();
  for (const { relay_chain, chain, number } of heads) {
    const key = `${relay_chain} ${chain}`;
    const height = BigInt(number);
    const [from, to] = ranges.get(key) ?? [height, height];
    ranges.set(key, [height < from ? height : from, height > to ? height : to]);
  }
  return ranges;
}

function meets(mine: Turn['ranges'], others: ReadonlyMap<string, Range>): boolean {
  for (const [chain, [from, to]] of mine ?? []) {
    const other = others.get(chain);
    if (other && other[0] <= to + 1n && other[1] >= from) return true;
  }
  return false;
}
