import { DAY_MS, isoDay } from '../../../infra/days.ts';
import type { SnapshotKind } from '../../decode/snapshot.ts';
import type { SkippedSnapshot } from '../../raw/skipped-snapshots.ts';
import type { Subject } from '../../sources/snapshot-line.ts';
import { BlockTimes, type StateMoment } from './block-times.ts';
import type { StateTarget } from './state-backfill.ts';
import type { StateNode } from './state-node.ts';
import { kindsOf, PRUNED, takeState } from './take-state.ts';

interface DayCollectorOptions extends Subject {
  readonly target: StateTarget;
  readonly say: (text: string) => void;
}

/**
 * Takes the state of a followed chain after the last block of each UTC day, and once at the start, so that the current
 * day is not empty. Also takes the end of yesterday if it is missing and the node still has it.
 */
export class DayCollector {
  readonly #node: StateNode;
  readonly #times: BlockTimes;
  readonly #options: DayCollectorOptions;
  /** The current day. All earlier days are done. */
  #day = '';
  /** Kinds and reasons that were reported. */
  readonly #reported = new Set<string>();

  constructor(node: StateNode, options: DayCollectorOptions) {
    this.#node = node;
    this.#times = new BlockTimes(node);
    this.#options = options;
  }

  /** Returns the snapshots that are due at a finalized height, as lines. */
  async collect(height: number): Promise<Buffer[]> {
    const hash = await this.#times.hashOf(height);
    const time = await this.#times.timeOf(height);
    if (time === null || isoDay(time) === this.#day) return [];
    const isFirst = this.#day === '';
    const lines: Buffer[] = [];
    const today = Date.parse(isoDay(time));
    for (let day = isFirst ? today - DAY_MS : Date.parse(this.#day); day < today; day += DAY_MS)
      lines.push(...(await this.#endOf(day, height, isFirst)));
    if (isFirst) lines.push(...(await this.#take({ height, hash, time })));
    this.#day = isoDay(time);
    return lines;
  }

  async #endOf(begin: number, head: number, mayBeStored: boolean): Promise<readonly Buffer[]> {
    const day = isoDay(begin);
    const { target, chain } = this.#options;
    const range = { chain: chain.name, from: day, to: day };
    const stored = mayBeStored ? await target.storedSnapshots(range) : [];
    const kinds = kindsOf(this.#options, day).filter(
      (kind) => !stored.some((snapshot) => snapshot.kind === kind),
    );
    if (kinds.length === 0) return [];
    const end = await this.#times.endOfDay(begin, begin + DAY_MS, head);
    if (end === 'empty') return [];
    if (end !== 'pruned') return this.#take(end, kinds);
    await this.#note(kinds.map((kind) => ({ day, kind, reason: PRUNED })));
    return [];
  }

  async #take(
    moment: StateMoment,
    kinds: readonly SnapshotKind[] = kindsOf(this.#options, isoDay(moment.time)),
  ): Promise<readonly Buffer[]> {
    const { lines, skipped } = await takeState(this.#node, moment, this.#options, kinds);
    await this.#note(skipped);
    return lines;
  }

  async #note(skipped: readonly SkippedSnapshot[]): Promise<void> {
    if (skipped.length === 0) return;
    const { target, chain, say } = this.#options;
    await target.noteSkippedSnapshots(chain.name, skipped);
    for (const { day, kind, reason } of skipped) {
      // Reported once, because it repeats every day; `gaps` lists all.
      if (!this.#reported.has(kind + reason)) say(`no ${kind} of ${day}: ${reason}`);
      this.#reported.add(kind + reason);
    }
  }
}
