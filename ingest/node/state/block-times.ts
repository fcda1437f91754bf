import { z } from 'zod';
import { ProductError } from '../../../infra/errors.ts';
import { timeOf } from '../../decode/block-time.ts';
import { isPruned } from '../map-pages.ts';
import { NodeRefusal } from '../rpc-errors.ts';
import { RequestFailure } from '../transport.ts';
import type { StateNode } from './state-node.ts';
import { itemPrefix } from './storage.ts';

/** A block whose state is read. `time` is its timestamp in milliseconds. */
export interface StateMoment {
  readonly height: number;
  readonly hash: string;
  readonly time: number;
}

/** The last block of a day. `empty`: the day has no block. `pruned`: the node no longer has its state. */
type DayEnd = StateMoment | 'empty' | 'pruned';

const NOW = itemPrefix('Timestamp', 'Now');
const hash = z.string().regex(/^0x[0-9a-f]{64}$/);
const health = z.object({ isSyncing: z.boolean() });
const header = z.object({ number: z.string().regex(/^0x[0-9a-f]+$/) });

/** Reads the timestamps of a chain's blocks. */
export class BlockTimes {
  readonly #node: Pick<StateNode, 'rpc' | 'block'>;
  /** Times by height; null if the node lacks the time. A search adds about twenty entries. */
  readonly #known = new Map<number, number | null>();

  constructor(node: Pick<StateNode, 'rpc' | 'block'>) {
    this.#node = node;
  }

  /** Height of the newest block that is final. */
  async head(): Promise<number> {
    const finalized = await this.#node.rpc.call('chain_getFinalizedHead', []);
    return Number(header.parse(await this.#node.rpc.call('chain_getHeader', [finalized])).number);
  }

  /** Whether the node has finished syncing. */
  async isInSync(): Promise<boolean> {
    try {
      const found = health.safeParse(await this.#node.rpc.call('system_health', []));
      return found.success && !found.data.isSyncing;
    } catch (error) {
      // Public nodes may refuse the call. Then a day is taken only after the next one has begun.
      if (error instanceof NodeRefusal) return false;
      throw error;
    }
  }

  async hashOf(height: number): Promise<string> {
    return hash.parse(await this.#node.rpc.call('chain_getBlockHash', [height]));
  }

  /** The time of a block; null if the node lacks the block or its state. */
  async timeOf(height: number): Promise<number | null> {
    const known = this.#known.get(height);
    if (known !== undefined) return known;
    const time = await this.#read(height);
    if (this.#known.size >= TIMES_MAX) this.#known.clear();
    this.#known.set(height, time);
    return time;
  }

  async #read(height: number): Promise<number | null> {
    try {
      const found = hash.safeParse(await this.#node.rpc.call('chain_getBlockHash', [height]));
      if (!found.success) return null;
      // Some chains have no `Timestamp.Now`, but a timestamp in each block.
      return (await this.#stored(height, found.data)) ?? timeOf(await this.#node.block(found.data));
    } catch (error) {
      if (
        error instanceof ProductError &&
        error.code === 'source_failed' &&
        !(error instanceof RequestFailure)
      )
        return null;
      throw error;
    }
  }

  async #stored(height: number, hash: string): Promise<number | null> {
    try {
      const stored = z
        .string()
        .nullable()
        .parse(await this.#node.rpc.call('state_getStorage', [NOW, hash]));
      if (stored !== null) return Number(Buffer.from(stored.slice(2), 'hex').readBigUInt64LE());
      // The genesis block has no timestamp.
      return height === 0 ? 0 : null;
    } catch (error) {
      if (error instanceof NodeRefusal && !isPruned(error)) return null;
      throw error;
    }
  }

  /** The last block between two times. `until` is exclusive, and before the time of the head. */
  async endOfDay(begin: number, until: number, head: number): Promise<DayEnd> {
    const height = await this.lastBefore(until, head);
    if (height < 0) return 'empty';
    const time = await this.timeOf(height);
    if (time === null) return 'pruned';
    if (time < begin) return 'empty';
    return { height, hash: await this.hashOf(height), time };
  }

  /**
   * The height of the highest block before a time; -1 if there is none. Searches between known times, by interpolation and
   * bisection in turn.
   */
  async lastBefore(until: number, head: number): Promise<number> {
    let [low, high] = this.#around(until, head);
    for (let turn = 0; high - low > 1; turn++) {
      const guess = turn % 2 === 0 ? this.#interpolated(low, high, until) : null;
      const height = guess ?? Math.floor((low + high) / 2);
      const time = await this.timeOf(height);
      // Pruned blocks are older.
      if (time === null || time < until) low = height;
      else high = height;
    }
    return low;
  }

  #around(until: number, head: number): [low: number, high: number] {
    let [low, high] = [-1, head + 1];
    for (const [height, time] of this.#known) {
      if (time === null || time < until) low = height <= head ? Math.max(low, height) : low;
      else high = Math.min(high, height);
    }
    return [low, high];
  }

  #interpolated(low: number, high: number, until: number): number | null {
    const [from, to] = [this.#known.get(low), this.#known.get(high)];
    if (!from || !to) return null;
    const height = low + Math.floor(((until - from) / (to - from)) * (high - low));
    return Math.min(high - 1, Math.max(low + 1, height));
  }
}

const TIMES_MAX = 1000;
