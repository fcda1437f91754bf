import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { sql } from '../infra/clickhouse/sql.ts';
import { Lease, Mutex } from '../infra/coordination/lock.ts';
import { lowestOf } from '../infra/coordination/sequence.ts';
import { ProductError, reasonOf } from '../infra/errors.ts';
import type { KeyValue, Numbers, Runtime, StagedBatch } from '../infra/ports.ts';
import type { Registry } from './chains/registry.ts';
import { type LoadMeasures, loadMeasures } from './load-measures.ts';
import { loadTraced } from './load-trace.ts';
import { type DeadLetter, deadLetterOf, writeDeadLetters } from './log/dead-letters.ts';
import { LOAD_GROUP, type Stream, TOPICS } from './log/topics.ts';
import { type LandingLine, type PreparedBatch, prepareBatch } from './prepare-batch.ts';
import { encodeDueAddresses } from './raw/address-encodings.ts';
import { blocksIn } from './raw/block-landing.ts';
import { readLandingHead } from './raw/landing-lines.ts';
import { removePartlyStored } from './raw/partly-stored.ts';
import { type ChainHour, noteReplacedBlocks, storedBefore } from './raw/replaced-hours.ts';
import { ANY_PALLET, dirtyDays, dirtyHours } from './raw/tables.ts';
import { snapshotsIn } from './raw/views/snapshots.ts';

/** Key of the leases of all loads that are in progress. */
const LOADING = 'loading';

/**
 * The numbers below which every load has ended that took its numbers before `upTo` was taken. A load names a number
 * that is lower than all of its own in its lease, before it takes them.
 */
export async function loadedUpTo(keyValue: KeyValue, upTo: bigint): Promise<bigint> {
  const running = (await keyValue.members(LOADING)).map((member) =>
    // A load of an earlier version names no number.
    BigInt(/^(\d+)\|/.exec(member)?.[1] ?? 0),
  );
  return lowestOf(running, upTo);
}

/** Whether a load runs, in whatever process. */
export const isLoading = async (keyValue: KeyValue): Promise<boolean> =>
  (await keyValue.members(LOADING)).length > 0;

/** What a loader has done since its start. */
export interface LoadCounters {
  messages: number;
  bytes: number;
  refused: number;
  failures: number;
}

const LANDING_TABLES = { blocks: blocksIn, snapshots: snapshotsIn } as const;
const STREAMS = Object.keys(LANDING_TABLES) as Stream[];
/** Waits before a line is tried again that the store cannot load, and does not refuse either. */
const SUSPECT_WAITS_MS = [500, 2000];

/**
 * Consumes the log and inserts raw rows. A batch is staged, committed in one statement, and only then removed. A
 * batch that the store refuses is split in halves until the refused message stands alone and becomes a dead letter.
 */
export class Loader {
  readonly #runtime: Runtime;
  readonly #registry: Registry;
  readonly #numbers: Numbers;
  readonly #leaseMs: number;
  readonly counters: LoadCounters = { messages: 0, bytes: 0, refused: 0, failures: 0 };
  /** Batches of all streams are loaded one after the other. */
  readonly #batches = new Mutex();
  readonly #deadLetterBytes: number;
  /** Staged batches whose commit failed: finished before anything newer, so that sequences keep the log's order. */
  readonly #unfinished: StagedBatch[] = [];
  /** Hours that the load in progress replaces blocks of: a retry does not find them in the store any more. */
  readonly #replacedHours = new Map<string, ChainHour>();
  readonly #onLoaded: () => Promise<void>;
  readonly #measures: LoadMeasures;

  constructor(options: {
    runtime: Runtime;
    registry: Registry;
    numbers: Numbers;
    /** Time after which the load of a process that died is no longer waited for. */
    leaseMs: number;
    deadLetterBytes: number;
    /** Called after a batch is durable. */
    onLoaded: () => Promise<void>;
    measures?: LoadMeasures;
  }) {
    this.#runtime = options.runtime;
    this.#registry = options.registry;
    this.#numbers = options.numbers;
    this.#leaseMs = options.leaseMs;
    this.#deadLetterBytes = options.deadLetterBytes;
    this.#onLoaded = options.onLoaded;
    this.#measures = options.measures ?? loadMeasures();
  }

  /** Finishes the batches that a killed process had staged, then consumes the log. */
  async start(): Promise<void> {
    for (const batch of await this.#runtime.store.unfinished()) await this.#finish(batch);
    await Promise.all(
      STREAMS.map((stream) =>
        this.#runtime.log.subscribe(
          TOPICS[stream],
          LOAD_GROUP,
          (batch: PreparedBatch) => this.#loadBatch(stream, batch),
          (messages) => prepareBatch(stream, messages, this.#registry),
        ),
      ),
    );
  }

  async #loadBatch(stream: Stream, batch: PreparedBatch): Promise<void> {
    try {
      await this.#batches.run(() => {
        const end = this.#measures.batchSeconds.startTimer();
        return loadTraced(this.#runtime, stream, batch, () => this.#loadInOrder(stream, batch)).finally(end);
      });
      this.counters.messages += batch.messages;
      this.counters.bytes += batch.bytes;
    } catch (error) {
      this.counters.failures++;
      throw error;
    }
  }

  async #loadInOrder(stream: Stream, { lines, deadLetters }: PreparedBatch): Promise<void> {
    for (let batch = this.#unfinished.shift(); batch; batch = this.#unfinished.shift()) {
      await this.#finish(batch);
    }
    await this.#writeDeadLetters(deadLetters);
    await this.#underLease(async () => {
      for (const some of stream === 'blocks' ? apartFromRepeated(lines) : [lines])
        if (some.length > 0) await this.#stageAndCommit(stream, some);
      await encodeDueAddresses(this.#runtime.store);
    });
    await this.#onLoaded();
  }

  /**
   * Loads while holding a lease that every process sees: no watermark moves past the days that this load marks as dirty
   * before it ends. When the lease was lost, the same lines are loaded once more under newer sequence numbers.
   */
  async #underLease(load: () => Promise<void>): Promise<void> {
    this.#replacedHours.clear();
    for (;;) {
      const floor = await this.#numbers.take(1);
      const member = `${floor}|${randomUUID()}`;
      const { keyValue } = this.#runtime;
      const lease = (await Lease.acquire(keyValue, LOADING, this.#leaseMs, 0, member)) as Lease;
      try {
        await this.#markDirty([...this.#replacedHours.values()]);
        await load();
      } catch (error) {
        await lease.release().catch(() => undefined);
        throw error;
      }
      if (await lease.release()) return;
    }
  }

  /** `tried` are the first sequences of earlier commits of these lines, which failed and may have stored some of them. */
  async #stageAndCommit(
    stream: Stream,
    lines: readonly LandingLine[],
    tried: readonly bigint[] = [],
  ): Promise<void> {
    const staged = await this.#runtime.store.stage(
      LANDING_TABLES[stream],
      lines.map((line) => line.bytes),
    );
    try {
      await this.#commit(stream, lines, staged, tried);
    } catch (error) {
      // A log that redelivers brings the batch again; a later commit of this copy would overwrite newer rows.
      if (this.#runtime.log.redelivers) await staged.discard();
      else this.#unfinished.push(staged);
      throw error;
    }
    await staged.discard();
  }

  async #commit(
    stream: Stream,
    lines: readonly LandingLine[],
    staged: StagedBatch,
    tried: readonly bigint[],
  ): Promise<void> {
    let mayReplace = false;
    let sequence: bigint | undefined;
    try {
      if (stream === 'blocks') mayReplace = await this.#markReplacedHours(lines);
      sequence = await this.#numbers.take((lines.at(-1)?.index ?? 0) + 1);
      await staged.commit(sequence);
    } catch (error) {
      if (sequence === undefined || !mayBlameLines(error)) throw error;
      const failed = [...tried, sequence];
      if (error.code === 'store_refused' && lines.some((line) => line.normalised)) {
        return this.#commitNormalised(stream, lines, failed);
      }
      if (lines.length > 1) {
        const half = lines.length >> 1;
        await this.#stageAndCommit(stream, lines.slice(0, half), failed);
        return this.#stageAndCommit(stream, lines.slice(half), failed);
      }
      if (!(await this.#loadOrSetAside(stream, lines[0] as LandingLine, staged, error, failed))) return;
    }
    if (mayReplace) await this.#markReplaced(await noteReplacedBlocks(this.#runtime.store, headsOf(lines)));
  }

  /**
   * Makes a dead letter of a line that the store cannot load. Where it does not refuse the line but fails with it, the
   * store may be the one to blame: the line is tried again, and then the same views without any line. Returns whether
   * the line is loaded after all.
   */
  async #loadOrSetAside(
    stream: Stream,
    line: LandingLine,
    staged: StagedBatch,
    failure: ProductError,
    failed: readonly bigint[],
  ): Promise<boolean> {
    const { store } = this.#runtime;
    const sequences = [...failed];
    let error = failure;
    for (const waitMs of failure.code === 'store_refused' ? [] : SUSPECT_WAITS_MS) {
      await setTimeout(waitMs);
      const sequence = await this.#numbers.take(line.index + 1);
      sequences.push(sequence);
      try {
        await staged.commit(sequence);
        return true;
      } catch (again) {
        if (!mayBlameLines(again)) throw again;
        error = again;
      }
    }
    const landing = LANDING_TABLES[stream];
    if (error.code !== 'store_refused') await store.run(sql`INSERT INTO ${landing} SELECT * FROM ${landing}`);
    const at = sequences.map((first) => first + BigInt(line.index));
    await this.#markDirty(await removePartlyStored(store, stream, line.head, at));
    const reason = `${error.message}: ${error.detail ?? ''}`;
    await this.#writeDeadLetters([deadLetterOf(TOPICS[stream], line.head, reason, line.original)]);
    return false;
  }

  /** Parses every line of a refused batch: lines that are no blocks become dead letters, the others are normalised. */
  async #commitNormalised(
    stream: Stream,
    lines: readonly LandingLine[],
    tried: readonly bigint[],
  ): Promise<void> {
    const deadLetters: DeadLetter[] = [];
    const normalised: LandingLine[] = [];
    for (const { normalised: normalise, ...line } of lines) {
      const bytes = normalise?.() ?? line.bytes;
      if ('refused' in bytes) {
        deadLetters.push(deadLetterOf(TOPICS[stream], line.head, bytes.refused, line.original));
      } else normalised.push({ ...line, bytes });
    }
    await this.#writeDeadLetters(deadLetters);
    if (normalised.length > 0) await this.#stageAndCommit(stream, normalised, tried);
  }

  /**
   * Marks hours that lose a block because its height is loaded again, before a merge can remove the old row. Returns
   * whether any version may be replaced: another process may store the same heights at this moment.
   */
  async #markReplacedHours(lines: readonly LandingLine[]): Promise<boolean> {
    const { isAny, hours } = await storedBefore(this.#runtime.store, headsOf(lines));
    await this.#markReplaced(hours);
    return isAny || this.#runtime.isShared;
  }

  /** Marks the hours that this load has not marked yet. */
  async #markReplaced(hours: readonly ChainHour[]): Promise<void> {
    const unmarked = new Map(hours.map((hour) => [JSON.stringify(hour), hour]));
    for (const key of this.#replacedHours.keys()) unmarked.delete(key);
    for (const [key, hour] of unmarked) this.#replacedHours.set(key, hour);
    await this.#markDirty([...unmarked.values()]);
  }

  async #markDirty(hours: readonly ChainHour[]): Promise<void> {
    if (hours.length === 0) return;
    const { store } = this.#runtime;
    const sequence = String(await this.#numbers.take(1));
    const days = new Map(
      hours.map(({ hour, ...chain }) => {
        const day = { ...chain, day: hour.slice(0, DAY_CHARS) };
        return [JSON.stringify(day), day];
      }),
    );
    const mark = { pallet: ANY_PALLET, sequence };
    await store.insert(
      dirtyHours,
      hours.map((hour) => ({ ...mark, ...hour })),
    );
    await store.insert(
      dirtyDays,
      [...days.values()].map((day) => ({ stream: 'blocks', ...mark, ...day })),
    );
  }

  async #finish(batch: StagedBatch): Promise<void> {
    const stream = STREAMS.find((name) => LANDING_TABLES[name].name === batch.table);
    if (stream) {
      let lines: LandingLine[];
      try {
        lines = (await batch.lines()).map((bytes) => {
          const { index, ...head } = readLandingHead(bytes);
          const origin = { source: 'spool', origin: 'spool', line: index };
          return { index, bytes, head: { ...head, ...origin }, original: bytes };
        });
      } catch (error) {
        // Nothing of a damaged file is loaded: what is wrong in one line may be wrong in another, and look right.
        return batch.setAside(reasonOf(error));
      }
      if (lines.length > 0) await this.#underLease(() => this.#stageAndCommit(stream, lines));
    }
    await batch.discard();
  }

  #writeDeadLetters(deadLetters: readonly DeadLetter[]): Promise<void> {
    this.counters.refused += deadLetters.length;
    const { store, clock, log } = this.#runtime;
    return writeDeadLetters(store, deadLetters, clock.now(), this.#deadLetterBytes, log);
  }
}

const DAY_CHARS = 'YYYY-MM-DD'.length;

const headsOf = (lines: readonly LandingLine[]) => lines.map(({ head }) => head);

/**
 * The lines with the first block of each height, then the others. A statement becomes visible in parts: what is computed
 * meanwhile of the first block of a height is told as replaced only when that block is stored before the second.
 */
function apartFromRepeated(lines: readonly LandingLine[]): (readonly LandingLine[])[] {
  const heights = new Set<string>();
  const isRepeated = ({ head }: LandingLine) => {
    const height = `${head.relay_chain} ${head.chain} ${head.number}`;
    return heights.size === heights.add(height).size;
  };
  const repeated = new Set(lines.filter(isRepeated));
  return repeated.size === 0 ? [lines] : [lines.filter((line) => !repeated.has(line)), [...repeated]];
}

/** Whether lines may be the cause that a load failed: the store refuses them, or cannot load so much or such a thing. */
const mayBlameLines = (error: unknown): error is ProductError =>
  error instanceof ProductError && (error.code === 'store_refused' || error.code === 'store_exhausted');
