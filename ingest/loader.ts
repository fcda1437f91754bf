import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { sql } from '../infra/clickhouse/sql.ts';
import { Lease, Mutex } from '../infra/coordination/lock.ts';
import { ProductError, reasonOf } from '../infra/errors.ts';
import type { Numbers, Runtime, StagedBatch } from '../infra/ports.ts';
import type { Registry } from './chains/registry.ts';
import { type LoadMeasures, loadMeasures } from './load-measures.ts';
import { loadTraced } from './load-trace.ts';
import { LOADING } from './loads-in-progress.ts';
import { type DeadLetter, deadLetterOf, writeDeadLetters } from './log/dead-letters.ts';
import { LOAD_GROUP, type Stream, TOPICS } from './log/topics.ts';
import type { LandingLine } from './prepare-batch.ts';
import { encodeDueAddresses } from './raw/address-encodings.ts';
import { ClosedDays } from './raw/closed-days.ts';
import { readLandingHead } from './raw/landing-lines.ts';
import { type LoadedBlock, noteLoaded, noteReadAgain } from './raw/loaded-blocks.ts';
import { removePartlyStored } from './raw/partly-stored.ts';
import {
  headsOf,
  LANDING_TABLES,
  ReadyBatches,
  type ReadyLines,
  takeStaged,
  type WaitingBatch,
} from './ready-batches.ts';
import { ReplacedMarks } from './replaced-marks.ts';

/** What a loader has done since its start. */
export interface LoadCounters {
  messages: number;
  bytes: number;
  refused: number;
  failures: number;
}

const STREAMS = Object.keys(LANDING_TABLES) as Stream[];
/** What is known before lines are committed. */
interface Attempt extends Pick<ReadyLines, 'stored'> {
  /** The first sequences of earlier commits of these lines, which failed and may have stored some of them. */
  readonly tried: readonly bigint[];
}
type Refuse = (letters: readonly DeadLetter[]) => Promise<void>;
const UNKNOWN: Attempt = { stored: 'some', tried: [] };

/** Waits before a line is tried again that the store cannot load, and does not refuse either. */
const SUSPECT_WAITS_MS = [500, 2000];

/**
 * Consumes the log and inserts raw rows. A batch is staged, committed in one statement, and only then removed: in one
 * process the next one is staged meanwhile. A batch that the store refuses is split in halves until the refused message
 * stands alone and becomes a dead letter.
 */
export class Loader {
  readonly #runtime: Runtime;
  readonly #ready: ReadyBatches;
  readonly #numbers: Numbers;
  readonly #leaseMs: number;
  readonly counters: LoadCounters = { messages: 0, bytes: 0, refused: 0, failures: 0 };
  /** Batches of all streams are loaded one after the other. */
  readonly #batches = new Mutex();
  readonly #deadLetterBytes: number;
  readonly #closedDays: ClosedDays;
  /** Staged batches whose commit failed: finished before anything newer, so that sequences keep the log's order. */
  readonly #unfinished: StagedBatch[] = [];
  /** Whether one of them is being finished: what the store has of its heights is about to change. */
  #isFinishing = false;
  readonly #replaced: ReplacedMarks;
  /** Blocks that the load in progress has committed. */
  readonly #committed: LoadedBlock[] = [];
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
    this.#closedDays = new ClosedDays(options.runtime.store);
    this.#ready = new ReadyBatches(
      options.runtime,
      options.registry,
      () => this.#isFinishing || this.#unfinished.length > 0,
    );
    this.#numbers = options.numbers;
    this.#leaseMs = options.leaseMs;
    this.#deadLetterBytes = options.deadLetterBytes;
    this.#onLoaded = options.onLoaded;
    this.#replaced = new ReplacedMarks(options.runtime, options.numbers);
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
          (batch: WaitingBatch) => this.#loadBatch(stream, batch),
          (messages) => this.#ready.prepare(stream, messages),
        ),
      ),
    );
  }

  async #loadBatch(stream: Stream, batch: WaitingBatch): Promise<void> {
    try {
      await this.#batches.run(() => {
        const end = this.#measures.batchSeconds.startTimer();
        return loadTraced(this.#runtime, stream, batch, () => this.#loadInOrder(stream, batch)).finally(end);
      });
      this.counters.messages += batch.messages;
      this.counters.bytes += batch.bytes;
    } catch (error) {
      this.counters.failures++;
      if (batch.ready?.staged) this.#unfinished.push(batch.ready.staged);
      throw error;
    } finally {
      this.#ready.ended(batch);
    }
  }

  async #loadInOrder(stream: Stream, batch: WaitingBatch): Promise<void> {
    await this.#finishFormer();
    const refused: DeadLetter[] = [];
    const refuse = async (letters: readonly DeadLetter[]) => {
      // A log that redelivers brings the batch until it is loaded: its letters would be written each time.
      if (!this.#runtime.log.redelivers) await this.#writeDeadLetters(letters);
      else for (const letter of letters) refused.push(letter);
    };
    await refuse(batch.deadLetters);
    for await (const ready of this.#ready.ready(stream, batch)) await this.#load(stream, ready, refuse);
    await this.#writeDeadLetters(refused);
  }

  async #finishFormer(): Promise<void> {
    this.#isFinishing = true;
    try {
      for (let former = this.#unfinished.shift(); former; former = this.#unfinished.shift()) {
        const left = this.#unfinished.length;
        try {
          await this.#finish(former);
        } catch (error) {
          // A newly staged copy has taken its place; loaded later, it would replace newer blocks.
          if (this.#unfinished.length > left) await former.discard();
          else this.#unfinished.unshift(former);
          throw error;
        }
      }
    } finally {
      this.#isFinishing = false;
    }
  }

  async #load(stream: Stream, ready: ReadyLines, refuse: Refuse): Promise<void> {
    const { store } = this.#runtime;
    await noteReadAgain(store, ready.readAgain);
    await refuse(ready.deadLetters);
    const lines = await this.#withoutClosed(stream, ready.lines, refuse);
    if (lines.length < ready.lines.length) await takeStaged(ready)?.discard();
    if (lines.length === 0) return;
    this.#committed.length = 0;
    let known: Attempt = { stored: ready.stored, tried: [] };
    await this.#underLease(async () => {
      await this.#stageAndCommit(stream, lines, known, takeStaged(ready));
      await encodeDueAddresses(store);
      known = UNKNOWN;
    });
    // Without the note they are loaded once more when they come again: their load has not failed.
    await noteLoaded(store, this.#committed).catch(() => undefined);
    await this.#onLoaded();
  }

  /**
   * Loads while holding a lease that every process sees: no watermark moves past the days that this load marks as dirty
   * before it ends. When the lease was lost, the same lines are loaded once more under newer sequence numbers.
   */
  async #underLease(load: () => Promise<void>): Promise<void> {
    this.#replaced.clear();
    for (;;) {
      const floor = await this.#numbers.take(1);
      const member = `${floor}|${randomUUID()}`;
      const { keyValue } = this.#runtime;
      const lease = (await Lease.acquire(keyValue, LOADING, this.#leaseMs, 0, member)) as Lease;
      try {
        await this.#replaced.repeat();
        await load();
      } catch (error) {
        await lease.release().catch(() => undefined);
        throw error;
      }
      if (await lease.release()) return;
    }
  }

  async #stageAndCommit(
    stream: Stream,
    lines: readonly LandingLine[],
    attempt: Attempt,
    stagedBefore?: StagedBatch,
  ): Promise<void> {
    const staged = stagedBefore ?? (await this.#ready.stage(stream, lines));
    try {
      await this.#commit(stream, lines, staged, attempt);
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
    { stored, tried }: Attempt,
  ): Promise<void> {
    const isOfBlocks = stream === 'blocks';
    const last = lines.at(-1)?.index ?? 0;
    let known = stored;
    let sequence: bigint | undefined;
    try {
      if (isOfBlocks) await this.#replaced.before(headsOf(lines), stored);
      sequence = await this.#numbers.take(last + 1);
      await staged.commit(sequence);
      for (const line of lines) this.#noteCommitted(line, sequence);
    } catch (error) {
      if (sequence === undefined || !mayBlameLines(error)) throw error;
      const failed: Attempt = { stored: 'some', tried: [...tried, sequence] };
      if (error.code === 'store_refused' && lines.some((line) => line.normalised)) {
        return this.#commitNormalised(stream, lines, failed);
      }
      if (lines.length > 1) {
        const half = lines.length >> 1;
        await this.#stageAndCommit(stream, lines.slice(0, half), failed);
        return this.#stageAndCommit(stream, lines.slice(half), failed);
      }
      if (!(await this.#loadOrSetAside(stream, lines[0] as LandingLine, staged, error, failed.tried))) return;
      known = failed.stored;
    }
    if (isOfBlocks) {
      await this.#replaced.after(headsOf(lines), known, { first: sequence, last: sequence + BigInt(last) });
    }
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
    await this.#replaced.add(await removePartlyStored(store, stream, line.head, at));
    const reason = `${error.message}: ${error.detail ?? ''}`;
    await this.#writeDeadLetters([deadLetterOf(TOPICS[stream], line.head, reason, line.original)]);
    return false;
  }

  /** Parses every line of a refused batch: lines that are no blocks become dead letters, the others are normalised. */
  async #commitNormalised(stream: Stream, lines: readonly LandingLine[], attempt: Attempt): Promise<void> {
    const deadLetters: DeadLetter[] = [];
    const normalised: LandingLine[] = [];
    for (const { normalised: normalise, ...line } of lines) {
      const bytes = normalise?.() ?? line.bytes;
      if ('refused' in bytes) {
        deadLetters.push(deadLetterOf(TOPICS[stream], line.head, bytes.refused, line.original));
      } else normalised.push({ ...line, bytes });
    }
    await this.#writeDeadLetters(deadLetters);
    if (normalised.length > 0) await this.#stageAndCommit(stream, normalised, attempt);
  }

  /** A line that an earlier process staged does not tell its content. */
  #noteCommitted({ index, head, content }: LandingLine, first: bigint): void {
    if (content !== undefined) this.#committed.push({ ...head, sequence: first + BigInt(index), content });
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
      const open = await this.#withoutClosed(stream, lines, (letters) => this.#writeDeadLetters(letters));
      if (open.length > 0) await this.#underLease(() => this.#stageAndCommit(stream, open, UNKNOWN));
    }
    await batch.discard();
  }

  async #withoutClosed(stream: Stream, lines: readonly LandingLine[], refuse: Refuse) {
    if (stream !== 'blocks') return lines;
    const { open, refused } = await this.#closedDays.split(lines);
    await refuse(refused);
    return open;
  }

  async #writeDeadLetters(deadLetters: readonly DeadLetter[]): Promise<void> {
    const { store, clock, log } = this.#runtime;
    await writeDeadLetters(store, deadLetters, clock.now(), this.#deadLetterBytes, log);
    this.counters.refused += deadLetters.length;
  }
}

/** Whether lines may be the cause that a load failed: the store refuses them, or cannot load so much or such a thing. */
const mayBlameLines = (error: unknown): error is ProductError =>
  error instanceof ProductError && (error.code === 'store_refused' || error.code === 'store_exhausted');
