import { DAY_MS, isoDay } from '../../../infra/days.ts';
import type { SnapshotKind } from '../../decode/snapshot.ts';
import type { SkippedSnapshot } from '../../raw/skipped-snapshots.ts';
import type { Subject } from '../../sources/snapshot-line.ts';
import { BlockTimes, type StateMoment } from './block-times.ts';
import type { StateNode } from './state-node.ts';
import { kindsOf, PRUNED, takeState } from './take.ts';

interface DayCollectorOptions extends Subject {
  /** The kinds of snapshot that are stored of a day. */
  readonly storedKinds: (day: string) => Promise<readonly SnapshotKind[]>;
  /** Called with what the node does not give, before the lines of that day are returned. */
  readonly onSkipped: (skipped: readonly SkippedSnapshot[]) => Promise<void>;
}

/**
 * Takes the state of a followed chain: after the last block of each UTC day, and once at the start, so that the running
 * day is not empty. The end of the day before the start is made up for while the node has it.
 */
export class DayCollector {
  readonly #node: StateNode;
  readonly #times: BlockTimes;
  readonly #options: DayCollectorOptions;
  /** The day up to which all is taken, which is still running. */
  #day = '';

  constructor(node: StateNode, options: DayCollectorOptions) {
    this.#node = node;
    this.#times = new BlockTimes(node.rpc);
    this.#options = options;
  }

  /** Snapshots that are due at a finalized height, as lines. */
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
    const stored = mayBeStored ? await this.#options.storedKinds(day) : [];
    const kinds = kindsOf(this.#options, day).filter((kind) => !stored.includes(kind));
    if (kinds.length === 0) return [];
    const end = await this.#times.endOfDay(begin, begin + DAY_MS, head);
    if (end === 'empty') return [];
    if (end !== 'pruned') return this.#take(end, kinds);
    await this.#options.onSkipped(kinds.map((kind) => ({ day, kind, reason: PRUNED })));
    return [];
  }

  async #take(
    moment: StateMoment,
    kinds: readonly SnapshotKind[] = kindsOf(this.#options, isoDay(moment.time)),
  ): Promise<readonly Buffer[]> {
    const { lines, skipped } = await takeState(this.#node, moment, this.#options, kinds);
    if (skipped.length > 0) await this.#options.onSkipped(skipped);
    return lines;
  }
}
