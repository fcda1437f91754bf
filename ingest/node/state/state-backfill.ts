import { DAY_MS, HOUR_MS, isoDay } from '../../../infra/days.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { SnapshotKind } from '../../decode/snapshot.ts';
import type { SkippedSnapshot, StoredSnapshot } from '../../raw/skipped-snapshots.ts';
import type { Feed, LoadPortion, SourceFault, SourceProgress } from '../../sources/feed.ts';
import type { Subject } from '../../sources/snapshot-line.ts';
import { BlockTimes, type StateMoment } from './block-times.ts';
import { findRenumbering } from './child-bounty-ids.ts';
import type { StateNode } from './state-node.ts';
import { kindsOf, PRUNED, takeState } from './take-state.ts';

/** First and last UTC day. */
interface StateDays {
  readonly from: string;
  readonly to: string;
}

/** The stored snapshots, and the record of skipped ones. */
export interface StateTarget {
  storedSnapshots(range: StateDays & { readonly chain: string }): Promise<readonly StoredSnapshot[]>;
  noteSkippedSnapshots(chain: string, skipped: readonly SkippedSnapshot[]): Promise<void>;
}

interface StateBackfillOptions {
  /** Name of the source in messages. */
  readonly source: string;
  readonly open: () => Promise<StateNode>;
  readonly signal: AbortSignal;
  readonly now?: () => number;
}

/** If the day of the newest block ended this long ago, the chain is stalled, and the block is the last of that day. */
const STALLED_MS = HOUR_MS;

/** Loads the missing state of a chain at the end of each day of a range, newest first. */
export class StateBackfill implements Feed {
  readonly unit = 'day';
  readonly subject: Subject;
  readonly days: StateDays;
  readonly faults: SourceFault[] = [];
  progress: SourceProgress | null = null;
  hasFailed = false;
  /** Days whose state was read. */
  fetchedCount = 0;
  /** Snapshots that the node failed to serve. */
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

  /** Yields the lines to load, a day at a time. The caller requests the next day when the last one is stored. */
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
      throw new ProductError('source_failed', `${source} has no time for its newest block ${head}`);
    const last = isoDay(time);
    const isStalled = this.#now() > Date.parse(last) + DAY_MS + STALLED_MS && (await times.isInSync());
    for (const [day, kinds] of missing) {
      if (this.#signal.aborted) return;
      // The current day has no last block yet, unless the chain is stalled.
      if (day < last || (isStalled && day === last))
        yield* this.#day(day, kinds, { node, times, head, target });
      progress.done++;
    }
    yield* this.#renumbering({ node, times, head, target });
  }

  async *#day(
    day: string,
    kinds: readonly SnapshotKind[],
    { node, times, head, target }: NodeContext,
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
      this.fetchedCount++;
    }
  }

  /** Takes the ids at the block that renumbered, because at the end of the day other bounties may have the old ids. */
  async *#renumbering({ node, times, head, target }: NodeContext): AsyncGenerator<LoadPortion> {
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
    { node, target }: Pick<NodeContext, 'node' | 'target'>,
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

  /** The missing kinds by day, newest day first. */
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

interface NodeContext {
  readonly node: StateNode;
  readonly times: BlockTimes;
  readonly head: number;
  readonly target: StateTarget;
}
