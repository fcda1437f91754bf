import { randomUUID } from 'node:crypto';
import { SpanKind } from '@opentelemetry/api';
import { Lease, Mutex } from '../../infra/coordination/lock.ts';
import { ignore } from '../../infra/ignore.ts';
import type { Ack, LogRecord, Numbers, Runtime, StagedBatch } from '../../infra/ports.ts';
import { messagingAttributes } from '../../infra/tracing/messages.ts';
import { inSpan } from '../../infra/tracing/spans.ts';
import type { Registry } from '../chains/registry.ts';
import { type DeadLetter, writeDeadLetters } from '../dead-letters/dead-letters.ts';
import { LOAD_GROUP, type Stream, TOPICS } from '../log/topics.ts';
import { encodeDueAddresses } from '../raw/address-encodings.ts';
import { type LoadedBlock, recordLoadedBlocks, recordRereads } from '../raw/loaded-blocks.ts';
import { splitOtherGenesis, splitRepeated, splitStored } from './changed-lines.ts';
import { ClosedDays } from './closed-days.ts';
import {
  headsOf,
  LANDING_TABLES,
  linesOfStore,
  loadLine,
  mayBlameLines,
  normaliseLines,
} from './line-load.ts';
import { describeLoad } from './load-trace.ts';
import { createLoaderMetrics, type LoadCounters, type LoaderMetrics } from './loader-metrics.ts';
import { LOAD_LEASES } from './loads-in-progress.ts';
import { type LandingLine, type PreparedBatch, prepareBatch, type ReadMessage } from './prepare-batch.ts';
import { ReplacedMarks } from './replaced-marks.ts';

interface LoaderOptions {
  readonly runtime: Runtime;
  readonly registry: Registry;
  readonly numbers: Numbers;
  /** Time after which the load of a process that died is no longer waited for. */
  readonly leaseMs: number;
  readonly deadLetterBytes: number;
  /** Called after a batch is durable. */
  readonly onLoaded: () => Promise<void>;
  readonly metrics?: LoaderMetrics;
}

const STREAMS = Object.keys(LANDING_TABLES) as Stream[];

/** One load: a part of a batch on its way into the store. */
interface Load {
  readonly stream: Stream;
  /** Whether the store held nothing of its heights, or between them, before. */
  readonly areNew: boolean;
  /** The first sequences of commits that failed and may have stored some lines. */
  readonly tried: readonly bigint[];
  /** Blocks that were committed. */
  readonly committed: LoadedBlock[];
  readonly letters: DeadLetter[];
}

/**
 * Loads the log into the raw tables, one batch at a time:
 *
 *     read → decode → leave out stored blocks → stage → commit (the views mark the days dirty) → dead letters → ack
 *
 * An offset moves only when each message of its batch is stored or a dead letter: `durable` of `#take` resolves after
 * both. A kill before that leaves the offset where it is, or the staged batch in the store, so every message is loaded
 * at least once; a second load stores the same rows under a newer sequence. While one batch is committed, the next one is
 * decoded; nothing else overlaps.
 */
export class Loader {
  readonly counters: LoadCounters = { messages: 0, bytes: 0, refused: 0, failures: 0 };
  readonly #options: LoaderOptions;
  readonly #metrics: LoaderMetrics;
  /** Batches of all streams load one after the other. */
  readonly #order = new Mutex();
  readonly #closedDays: ClosedDays;
  readonly #replaced: ReplacedMarks;
  /** The last batch of each stream; both resolve whether or not its load succeeds. */
  readonly #last = new Map<Stream, { readonly staged: Promise<unknown>; readonly ended: Promise<unknown> }>();
  /** Called when the engine has the lines of the batch that is loaded now. */
  #onStaged: () => void = () => undefined;
  /** Whether the store may hold batches that were staged and not loaded. */
  #hasUnfinished = true;
  /** Whether most blocks of the last batch were stored already, as those of the next one may be: none is decoded early. */
  #isRepeating = false;

  constructor(options: LoaderOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createLoaderMetrics();
    this.#closedDays = new ClosedDays(options.runtime.store);
    this.#replaced = new ReplacedMarks(options.runtime, options.numbers);
  }

  /** Finishes the batches that a killed process had staged, then consumes the log. */
  async start(): Promise<void> {
    await this.#finishStaged();
    const { log } = this.#options.runtime;
    await Promise.all(
      STREAMS.map((stream) => log.consume(TOPICS[stream], LOAD_GROUP, (batch) => this.#take(stream, batch))),
    );
  }

  /** Returns when the batch before is loaded, so at most one decoded batch waits. */
  async #take(stream: Stream, messages: readonly LogRecord[]): Promise<Ack> {
    const last = this.#last.get(stream);
    // Decoding takes the thread that stages, and the engine would wait for both.
    await last?.staged;
    const batch = await prepareBatch(stream, messages, this.#options.registry, this.#isRepeating);
    await last?.ended;
    const staged = Promise.withResolvers<void>();
    const durable = this.#loadBatch(stream, batch, staged.resolve);
    // The log gets its failure with the ack; the next batch only waits for its end.
    const ended = Promise.allSettled([durable]);
    this.#last.set(stream, { staged: Promise.race([staged.promise, ended]), ended });
    return { durable };
  }

  async #loadBatch(stream: Stream, batch: PreparedBatch, onStaged: () => void): Promise<void> {
    try {
      await this.#order.run(() => {
        this.#onStaged = onStaged;
        const end = this.#metrics.batchSeconds.startTimer();
        return this.#loadTraced(stream, batch).finally(end);
      });
      this.counters.messages += batch.messages;
      this.counters.bytes += batch.bytes;
    } catch (error) {
      this.counters.failures++;
      this.#hasUnfinished = true;
      throw error;
    }
  }

  /** As a span that follows from the spans that published its messages. */
  #loadTraced(stream: Stream, batch: PreparedBatch): Promise<void> {
    const topic = TOPICS[stream];
    const attributes = messagingAttributes(this.#options.runtime, 'process', topic, batch.messages);
    const options = { kind: SpanKind.CONSUMER, causes: batch.causes, attributes };
    return inSpan(`process ${topic}`, options, (span) => {
      describeLoad(span, batch.lines);
      return this.#load(stream, batch);
    });
  }

  async #load(stream: Stream, batch: PreparedBatch): Promise<void> {
    // Before anything newer, so that sequences keep the order of the log.
    if (this.#hasUnfinished) await this.#finishStaged();
    const letters = [...batch.deadLetters];
    // What the store has of the second part depends on the first.
    const parts = stream === 'blocks' ? splitRepeated(batch.lines) : [batch.lines];
    for (const lines of parts) letters.push(...(await this.#loadPart(stream, lines)));
    // Last, because a batch that fails is delivered again with its letters.
    await this.#writeDeadLetters(letters);
  }

  /** Returns the dead letters of the part. */
  async #loadPart(stream: Stream, read: readonly ReadMessage[]): Promise<DeadLetter[]> {
    const { store } = this.#options.runtime;
    const { changed, same, areNew } = await splitStored(store, stream, read);
    this.#isRepeating = same.length > changed.length;
    await recordRereads(store, headsOf(same));
    const landings = changed.map((line) => line.landing());
    const letters = landings.flatMap((landing) => ('refused' in landing ? [landing.refused] : []));
    const landed = landings.flatMap((landing) => ('refused' in landing ? [] : [landing]));
    const { kept: lines, refused } = await splitOtherGenesis(this.#options, stream, landed);
    letters.push(...refused);
    const load: Load = { stream, areNew, tried: [], committed: [], letters };
    await this.#loadOpen(load, lines);
    // Without the note they are loaded once more when they come again: their load has not failed.
    await recordLoadedBlocks(store, load.committed).catch(ignore('load.note'));
    if (lines.length > 0) await this.#options.onLoaded();
    return letters;
  }

  /** Loads the lines of days that are not closed; `kept` holds the lines where they are staged already. */
  async #loadOpen(load: Load, lines: readonly LandingLine[], kept?: StagedBatch): Promise<void> {
    const { open, refused } =
      load.stream === 'blocks' ? await this.#closedDays.split(lines) : { open: lines, refused: [] };
    load.letters.push(...refused);
    if (open.length > 0) await this.#underLease(load, open, refused.length === 0 ? kept : undefined);
  }

  /**
   * Loads while holding a lease that every process sees: no watermark moves past the days that this load marks as dirty
   * before it ends. When the lease was lost, the same lines are loaded once more under newer sequence numbers.
   */
  async #underLease(load: Load, lines: readonly LandingLine[], kept?: StagedBatch): Promise<void> {
    const { runtime, numbers, leaseMs } = this.#options;
    const letters = load.letters.length;
    this.#replaced.clear();
    for (let attempt = load; ; attempt = { ...load, areNew: false }) {
      const member = `${await numbers.take(1)}|${randomUUID()}`;
      const lease = (await Lease.acquire(runtime.keyValue, LOAD_LEASES, leaseMs, 0, member)) as Lease;
      try {
        load.committed.length = 0;
        load.letters.length = letters;
        await this.#replaced.markAgain();
        await this.#stageAndCommit(attempt, lines, attempt === load ? kept : undefined);
        await encodeDueAddresses(runtime.store);
      } catch (error) {
        await lease.release();
        throw error;
      }
      if (await lease.release()) return;
    }
  }

  async #stageAndCommit(load: Load, lines: readonly LandingLine[], kept?: StagedBatch): Promise<void> {
    if (lines.length === 0) return;
    const bytes = lines.map((line) => line.bytes);
    const staged = kept ?? (await this.#options.runtime.store.stage(LANDING_TABLES[load.stream], bytes));
    this.#onStaged();
    await this.#commit(load, lines, staged);
    await staged.discard();
  }

  async #commit(load: Load, lines: readonly LandingLine[], staged: StagedBatch): Promise<void> {
    const isOfBlocks = load.stream === 'blocks';
    const last = lines.at(-1)?.index ?? 0;
    if (isOfBlocks) await this.#replaced.markBeforeLoad(headsOf(lines), load.areNew);
    let sequence = await this.#options.numbers.take(last + 1);
    let { areNew } = load;
    try {
      await staged.commit(sequence);
    } catch (error) {
      if (!mayBlameLines(error)) throw error;
      const failed: Load = { ...load, areNew: false, tried: [...load.tried, sequence] };
      const again = error.code === 'store_refused' ? normaliseLines(load.stream, lines) : null;
      if (again) {
        load.letters.push(...again.letters);
        return this.#stageAndCommit(failed, again.lines);
      }
      if (lines.length > 1) {
        const half = lines.length >> 1;
        await this.#stageAndCommit(failed, lines.slice(0, half));
        return this.#stageAndCommit(failed, lines.slice(half));
      }
      const line = lines[0] as LandingLine;
      const outcome = await loadLine({ ...this.#options, ...failed, line, staged, failure: error });
      await this.#replaced.add(outcome.touched);
      if (outcome.letter) return void load.letters.push(outcome.letter);
      sequence = outcome.sequence;
      areNew = false;
    }
    for (const { index, head, content } of lines) {
      if (content !== undefined)
        load.committed.push({ ...head, sequence: sequence + BigInt(index), content });
    }
    const numbers = { first: sequence, last: sequence + BigInt(last) };
    if (isOfBlocks) await this.#replaced.markAfterLoad(headsOf(lines), areNew, numbers);
  }

  async #finishStaged(): Promise<void> {
    for (const staged of await this.#options.runtime.store.unfinished()) await this.#finish(staged);
    this.#hasUnfinished = false;
  }

  async #finish(staged: StagedBatch): Promise<void> {
    const stream = STREAMS.find((name) => LANDING_TABLES[name].name === staged.table);
    if (!stream) return staged.discard();
    let lines: LandingLine[];
    try {
      lines = await linesOfStore(staged);
    } catch {
      // Nothing of a damaged file is loaded: what is wrong in one line may be wrong in another, and look right.
      return staged.setAside();
    }
    const load: Load = { stream, areNew: false, tried: [], committed: [], letters: [] };
    await this.#loadOpen(load, lines, staged);
    await this.#writeDeadLetters(load.letters);
    await staged.discard();
  }

  async #writeDeadLetters(letters: readonly DeadLetter[]): Promise<void> {
    const { store, clock, log } = this.#options.runtime;
    await writeDeadLetters(store, letters, clock.now(), this.#options.deadLetterBytes, log);
    this.counters.refused += letters.length;
  }
}
