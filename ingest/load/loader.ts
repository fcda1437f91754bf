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
  /** Lifetime of the lease of a load: other processes wait this long for the load of a process that died. */
  readonly leaseMs: number;
  readonly deadLetterBytes: number;
  /** Called after a batch is durable. */
  readonly onLoaded: () => Promise<void>;
  readonly metrics?: LoaderMetrics;
}

const STREAMS = Object.keys(LANDING_TABLES) as Stream[];

/** The load of a part of a batch. */
interface Load {
  readonly stream: Stream;
  /** Whether the store had no block from the lowest of its heights to the child of the highest. */
  readonly areNew: boolean;
  /** First sequences of the failed commits, which may have stored some of the lines. */
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
 * A batch is acknowledged when each of its messages is stored or a dead letter: `durable` of `#take` resolves then. If the
 * process is killed earlier, Kafka delivers the batch again. The embedded store loads a staged batch at the next start; a
 * batch that was not staged is lost, and its publisher, which got no acknowledgement, reads its source again. A second
 * load stores the same rows with a newer sequence. While a batch is committed the next one is decoded; nothing else
 * overlaps.
 */
export class Loader {
  readonly counters: LoadCounters = { messages: 0, bytes: 0, refused: 0, failures: 0 };
  readonly #options: LoaderOptions;
  readonly #metrics: LoaderMetrics;
  /** Batches of all streams load one after the other. */
  readonly #order = new Mutex();
  readonly #closedDays: ClosedDays;
  readonly #replaced: ReplacedMarks;
  /** The last batch of each stream. Both promises resolve even if the load fails. */
  readonly #last = new Map<Stream, { readonly staged: Promise<unknown>; readonly ended: Promise<unknown> }>();
  /** Called when the lines of the current batch are staged. One field suffices, since `#order` runs one load at a time. */
  #onStaged: () => void = () => undefined;
  /** Whether the store may have staged batches that are not loaded. */
  #hasUnfinished = true;
  /** Whether most blocks of the last batch were stored already. If so, the next batch is not decoded in advance. */
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

  /** Returns when the previous batch is loaded, so at most one decoded batch waits. */
  async #take(stream: Stream, messages: readonly LogRecord[]): Promise<Ack> {
    const last = this.#last.get(stream);
    // Decoding would block the thread that stages the previous batch.
    await last?.staged;
    const batch = await prepareBatch(stream, messages, this.#options.registry, this.#isRepeating);
    await last?.ended;
    const staged = Promise.withResolvers<void>();
    const durable = this.#loadBatch(stream, batch, staged.resolve);
    // The log gets a failure through the ack. The next batch only waits for the end of this one.
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

  /** Loads in a span that is linked to the spans that published the messages. */
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
    // Before this batch, so that sequences follow the order of the log.
    if (this.#hasUnfinished) await this.#finishStaged();
    const letters = [...batch.deadLetters];
    // One after the other: the first part decides which blocks of the second are stored already.
    const parts = stream === 'blocks' ? splitRepeated(batch.lines) : [batch.lines];
    for (const lines of parts) letters.push(...(await this.#loadPart(stream, lines)));
    // Last: after a failed load the same messages arrive again, and each write would count an attempt.
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
    // The load is valid even if this fails. Then the same blocks are loaded once more if they arrive again.
    await recordLoadedBlocks(store, load.committed).catch(ignore('load.note'));
    if (lines.length > 0) await this.#options.onLoaded();
    return letters;
  }

  /** Loads the lines of open days. `kept` is their staged batch, if an earlier process staged them. */
  async #loadOpen(load: Load, lines: readonly LandingLine[], kept?: StagedBatch): Promise<void> {
    const { open, refused } =
      load.stream === 'blocks' ? await this.#closedDays.split(lines) : { open: lines, refused: [] };
    load.letters.push(...refused);
    if (open.length > 0) await this.#underLease(load, open, refused.length === 0 ? kept : undefined);
  }

  /**
   * Loads under a lease that all processes see, so that until the load ends no watermark passes the days that it marks
   * dirty. If the lease was lost, loads the same lines again with newer sequences.
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
      // Loads no line of a damaged file, since damaged lines may still parse.
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
