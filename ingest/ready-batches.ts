import type { Message, Runtime, StagedBatch } from '../infra/ports.ts';
import type { Registry } from './chains/registry.ts';
import { apartFromRepeated, changedLines } from './changed-lines.ts';
import { HeightsAhead, rangesOf, type Turn } from './heights-ahead.ts';
import type { DeadLetter } from './log/dead-letters.ts';
import type { Stream } from './log/topics.ts';
import { type LandingLine, type PreparedBatch, prepareBatch, type ReadMessage } from './prepare-batch.ts';
import { blocksIn } from './raw/block-landing.ts';
import type { StoredOf } from './raw/heights.ts';
import { readStoredHeights } from './raw/loaded-blocks.ts';
import { snapshotsIn } from './raw/views/snapshots.ts';

export const LANDING_TABLES = { blocks: blocksIn, snapshots: snapshotsIn } as const;

/** Lines that can be committed. */
export interface ReadyLines {
  readonly lines: readonly LandingLine[];
  readonly deadLetters: readonly DeadLetter[];
  /** Blocks that are stored already. */
  readonly readAgain: readonly ReadMessage['head'][];
  /** What may be stored of the heights of these lines. */
  readonly stored: StoredOf;
  /** Present while they are staged, and neither committed nor discarded. */
  staged?: StagedBatch | undefined;
}

export interface WaitingBatch extends PreparedBatch {
  readonly turn?: Turn;
  /** Absent where what the store has of their heights depends on the batches before. */
  readonly ready?: ReadyLines | undefined;
}

/**
 * Makes batches ready to be committed: the messages are read and decoded, blocks that are stored already are left out,
 * and the others are staged. Where no batch before one holds heights of it, all of that is done while those are loaded.
 */
export class ReadyBatches {
  readonly #runtime: Pick<Runtime, 'store' | 'log'>;
  readonly #registry: Registry;
  readonly #hasUnfinished: () => boolean;
  readonly #ahead = new HeightsAhead();
  /** Whether most blocks of the last batch were stored already, as those of the next will be. */
  #isRepeating = false;

  /** `hasUnfinished` tells whether batches wait of which the heights are not known. */
  constructor(runtime: Pick<Runtime, 'store' | 'log'>, registry: Registry, hasUnfinished: () => boolean) {
    this.#runtime = runtime;
    this.#registry = registry;
    this.#hasUnfinished = hasUnfinished;
  }

  /** Called in the order of the log. The batch is ahead of the later ones until it has ended. */
  async prepare(stream: Stream, messages: readonly Message[]): Promise<WaitingBatch> {
    const turn = stream === 'blocks' ? this.#ahead.take() : undefined;
    try {
      const batch = await prepareBatch(stream, messages, this.#registry, this.#isRepeating);
      if (turn === undefined) return batch;
      turn.ranges = rangesOf(headsOf(batch.lines));
      return { ...batch, turn, ready: await this.#readyEarly(batch.lines, turn) };
    } catch (error) {
      if (turn) this.#ahead.end(turn);
      throw error;
    }
  }

  ended({ turn }: WaitingBatch): void {
    if (turn) this.#ahead.end(turn);
  }

  /** The parts of a batch, each ready when it is asked for: what the store has of the second depends on the first. */
  async *ready(stream: Stream, { lines, ready }: WaitingBatch): AsyncGenerator<ReadyLines> {
    if (ready) yield ready;
    else if (stream !== 'blocks') yield { ...decoded(lines), readAgain: [], stored: 'some' };
    else for (const some of apartFromRepeated(lines)) yield await this.#changed(some);
  }

  stage(stream: Stream, lines: readonly LandingLine[]): Promise<StagedBatch> {
    return this.#runtime.store.stage(
      LANDING_TABLES[stream],
      lines.map((line) => line.bytes),
    );
  }

  /** A log that redelivers may bring the batch to another process instead. */
  async #readyEarly(lines: readonly ReadMessage[], turn: Turn): Promise<ReadyLines | undefined> {
    if (this.#runtime.log.redelivers || this.#hasUnfinished() || !this.#ahead.isApart(turn)) return undefined;
    const [some = [], ...others] = apartFromRepeated(lines);
    if (others.length > 0) return undefined;
    try {
      const ready = await this.#changed(some);
      if (ready.lines.length > 0) ready.staged = await this.stage('blocks', ready.lines);
      return ready;
    } catch {
      // It is tried once more when its turn comes: a failure is told to the publisher then.
      return undefined;
    }
  }

  /** The blocks whose heights do not hold the same content already. */
  async #changed(lines: readonly ReadMessage[]): Promise<ReadyLines> {
    const { stored, contents } = await readStoredHeights(this.#runtime.store, headsOf(lines));
    const changed = new Set(changedLines(lines, contents));
    const same = lines.filter((line) => !changed.has(line));
    this.#isRepeating = same.length > changed.size;
    return { ...decoded([...changed]), readAgain: headsOf(same), stored };
  }
}

/** Takes what is staged of lines, to commit or discard it. */
export function takeStaged(ready: ReadyLines): StagedBatch | undefined {
  const { staged } = ready;
  ready.staged = undefined;
  return staged;
}

export const headsOf = <Line extends Pick<ReadMessage, 'head'>>(lines: readonly Line[]) =>
  lines.map(({ head }) => head);

/** Decodes lines. Those that cannot be decoded become dead letters. */
function decoded(read: readonly ReadMessage[]): Pick<ReadyLines, 'lines' | 'deadLetters'> {
  const landings = read.map((line) => line.landing());
  return {
    lines: landings.flatMap((line) => ('refused' in line ? [] : [line])),
    deadLetters: landings.flatMap((line) => ('refused' in line ? [line.refused] : [])),
  };
}
