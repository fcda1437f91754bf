import { DAY_MS, HOUR_MS, isoDay } from '../../../infra/days.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { SnapshotKind } from '../../decode/snapshot.ts';
import type { SkippedSnapshot, StoredSnapshot } from '../../raw/skipped-snapshots.ts';
import type { Feed, LoadPortion, SourceFault, SourceProgress } from '../../sources/feed.ts';
import type { Subject } from '../../sources/snapshot-line.ts';
import { BlockTimes, type StateMoment } from './block-times.ts';
import { findRenumbering } from './child-bounty-ids.ts';
import type { StateNode } from './state-node.ts';
import { kindsOf, PRUNED, takeState } from './take.ts';

/** First and last UTC day of a chain whose state is wanted. */
interface StateDays {
  readonly from: string;
  readonly to: string;
}

/** What the store has of snapshots, and where it is noted what a node does not give. */
export interface StateTarget {
  storedSnapshots(range: StateDays & { readonly chain: string }): Promise<readonly StoredSnapshot[]>;
  noteSkippedSnapshots(chain: string, skipped: readonly SkippedSnapshot[]): Promise<void>;
}

interface StateBackfillOptions {
  /** For messages. */
  readonly source: string;
  readonly open: () => Promise<StateNode>;
  readonly signal: AbortSignal;
  readonly now?: () => number;
}

/** A chain whose newest final block is that old after the end of its day has made no other on that day. */
const STANDS_STILL_MS = HOUR_MS;

/** Brings the state of a chain at the end of each day of a range, newest first, as far as it is not stored. */
export class StateBackfill implements Feed {
  readonly unit = 'day';
  readonly subject: Subject;
  readonly days: StateDays;
  readonly faults: SourceFault[] = [];
  progress: SourceProgress | null = null;
  hasFailed = false;
  /** Days whose state was read. */
  got = 0;
  /** Snapshots that the node does not give. */
  skipped = 0;
  readonly #source: string;
  readonly #open: () => Promise<StateNode>;
  readonly #signal: AbortSignal;
  readonly #now: () => number;

  constructor(
    subject: Subject,
    days: StateDays,
    { source, open, signal, now = Date.now }: StateBackfillOptions,
  ) {
    this.subject = subject;
    this.days = days;
    this.#source = source;
    this.#open = open;
    this.#signal = signal;
    this.#now = now;
  }

  /** What is to be loaded, a day at a time: the next is asked for when the last one is stored. */
  async *portions(target: StateTarget): AsyncGenerator<LoadPortion> {
    try {
      yield* this.#days(target);
    } catch (error) {
      if (this.#signal.aborted) return;
      if (!(error instanceof ProductError) || error.code.startsWith('store_')) throw error;
      this.faults.push({ source: this.#source, error });
      this.hasFailed = true;
    } finally {
      this.progress = null;
    }
  }

  async *#days(target: StateTarget): AsyncGenerator<LoadPortion> {
    const source = this.#source;
    this.progress = { stage: 'connecting', source, began: performance.now(), done: 0, total: null };
    const node = await this.#open();
    const times = new BlockTimes(node);
    const head = await times.head();
    const missing = await this.missing(target);
    const progress: SourceProgress = {
      ...{ stage: 'fetching', source, began: performance.now(), done: 0, total: missing.size },
    };
    this.progress = progress;
    const time = await times.timeOf(head);
    if (time === null)
      throw new ProductError('source_failed', `${source} does not tell the time of its newest block ${head}`);
    const last = isoDay(time);
    const isStill = this.#now() > Date.parse(last) + DAY_MS + STANDS_STILL_MS && (await times.isInSync());
    for (const [day, kinds] of missing) {
      if (this.#signal.aborted) return;
      // A day that still runs on the chain has no last block yet; where the chain stands still, its head is the last.
      if (day < last || (isStill && day === last))
        yield* this.#day(day, kinds, { node, times, head, target });
      progress.done++;
    }
    yield* this.#renumbering({ node, times, head, target });
  }

  async *#day(
    day: string,
    kinds: readonly SnapshotKind[],
    { node, times, head, target }: Asked,
  ): AsyncGenerator<LoadPortion> {
    const begin = Date.parse(day);
    const end = await times.endOfDay(begin, begin + DAY_MS, head);
    if (end === 'empty') return;
    if (end === 'pruned')
      await this.#note(
        target,
        kinds.map((kind) => ({ day, kind, reason: PRUNED })),
      );
    else {
      yield* this.#take(end, kinds, { node, target });
      this.got++;
    }
  }

  /** Taken as of the block that renumbered, not at the end of its day: other entries may have taken the old ids by then. */
  async *#renumbering({ node, times, head, target }: Asked): AsyncGenerator<LoadPortion> {
    const kind = 'child_bounty_ids';
    const { chain } = this.subject;
    const stored = await target.storedSnapshots({ chain: chain.name, ...this.days });
    if (stored.some((snapshot) => snapshot.kind === kind)) return;
    const range = { from: Date.parse(this.days.from), until: Date.parse(this.days.to) + DAY_MS };
    const moment = await findRenumbering(this.subject, { rpc: node.rpc, times, head, ...range });
    if (moment !== null) yield* this.#take(moment, [kind], { node, target });
  }

  async *#take(
    moment: StateMoment,
    kinds: readonly SnapshotKind[],
    { node, target }: Pick<Asked, 'node' | 'target'>,
  ): AsyncGenerator<LoadPortion> {
    const { lines, skipped } = await takeState(node, moment, this.subject, kinds);
    await this.#note(target, skipped);
    if (lines.length > 0) yield this.#portion(lines);
  }

  async #note(target: StateTarget, skipped: readonly SkippedSnapshot[]): Promise<void> {
    this.skipped += skipped.length;
    if (skipped.length > 0) await target.noteSkippedSnapshots(this.subject.chain.name, skipped);
  }

  #portion(lines: readonly Buffer[]): LoadPortion {
    return { name: this.#source, lines, bytes: lines.reduce((sum, line) => sum + line.length, 0) };
  }

  /** The kinds that are not stored, by day; the newest day first. */
  async missing(target: Pick<StateTarget, 'storedSnapshots'>): Promise<Map<string, SnapshotKind[]>> {
    const { from, to } = this.days;
    const stored = await target.storedSnapshots({ chain: this.subject.chain.name, from, to });
    const known = new Set(stored.map(({ day, kind }) => `${day} ${kind}`));
    const missing = new Map<string, SnapshotKind[]>();
    for (let time = Date.parse(to); time >= Date.parse(from); time -= DAY_MS) {
      const day = isoDay(time);
      const kinds = kindsOf(this.subject, day).filter((kind) => !known.has(`${day} ${kind}`));
      if (kinds.length > 0) missing.set(day, kinds);
    }
    return missing;
  }
}

interface Asked {
  readonly node: StateNode;
  readonly times: BlockTimes;
  readonly head: number;
  readonly target: StateTarget;
}
