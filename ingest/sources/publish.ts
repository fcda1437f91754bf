import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { reasonOf } from '../../infra/errors.ts';
import { markHandled } from '../../infra/ignore.ts';
import { didYouMean } from '../../infra/nearest-name.ts';
import type { Message, Runtime } from '../../infra/ports.ts';
import { publishTraced } from '../../infra/tracing/messages.ts';
import type { Chain } from '../chains/chain.ts';
import { chainOfFile, fileStem } from '../chains/chain-of-file.ts';
import { namesOf, type Registry } from '../chains/registry.ts';
import { type DeadLetter, deadLetterOf, ROW_BYTES, writeDeadLetters } from '../dead-letters/dead-letters.ts';
import {
  type Envelope,
  NO_JSON,
  NO_OBJECT,
  type Origin,
  type ReadResult,
  readLine,
} from '../log/envelope.ts';
import { FirstAddress, type ForeignAddress } from '../log/first-address.ts';
import { TOPICS } from '../log/topics.ts';
import { decompress, readLines } from './lines.ts';
import { PARQUET_BROKEN } from './parquet-error.ts';
import { countRead, type SourceMetrics } from './source-metrics.ts';

/** A file, or a stream of lines. */
interface IngestSource {
  /** File name. Its extensions select the compression, the rest names the chain of bare blocks. */
  readonly name: string;
  /** Chain of bare blocks. Takes precedence over the file name. */
  readonly chain?: string;
  /** Line number of the first line, if the lines are decompressed already. */
  readonly firstLine?: number;
}

export interface RunOptions {
  /** Name of this run in its dead letters and in reports. */
  readonly run?: string | undefined;
  /** Called after each batch with the totals of durable lines. */
  readonly onProgress?: ((soFar: IngestSummary) => void) | undefined;
  /** Called for each source that seems to belong to another chain. */
  readonly onForeignAddress?: ((found: ForeignAddress) => void) | undefined;
}

export interface IngestOptions extends IngestSource, RunOptions {}

export interface OpenSource extends IngestSource {
  readonly bytes: Readable;
}

/** Sources that are opened one at a time. */
export type OpenSources = Iterable<OpenSource> | AsyncIterable<OpenSource>;

export interface IngestSummary {
  lines: number;
  blocks: number;
  snapshots: number;
  refused_lines: number;
}

interface PublishLimits {
  readonly batchBytes: number;
  readonly lineBytes: number;
  /** Name of the setting behind `lineBytes`, for messages. */
  readonly lineSetting: string;
  /** Largest message. A message may be longer than its line. */
  readonly messageBytes: number;
  readonly deadLetterBytes: number;
  readonly metrics: SourceMetrics;
}

/**
 * Publishes the blocks and snapshots of sources to the log, in order. A line that cannot be read becomes a dead letter.
 * Small sources share a batch.
 */
export async function publish(
  runtime: Runtime,
  registry: Registry,
  sources: OpenSources,
  options: RunOptions,
  limits: PublishLimits,
): Promise<IngestSummary> {
  const batches = new Batches(runtime, options, limits);
  try {
    for await (const source of sources) await readSource(batches, registry, source, options, limits);
    await batches.flush();
  } catch (error) {
    await batches.settle();
    throw error;
  }
  await batches.done();
  return batches.summary;
}

async function readSource(
  batches: Batches,
  registry: Registry,
  { bytes, name, chain: chainName, firstLine }: OpenSource,
  { run = '', onForeignAddress }: RunOptions,
  limits: PublishLimits,
): Promise<void> {
  const chain = chainName === undefined ? chainOfFile(registry, name) : registry.find(chainName);
  const originOf = (line: number): Origin => ({ source: 'import', origin: name, line, run });
  const address = new FirstAddress(name, registry);
  let last = 0;
  let bytesOfTurn = 0;
  try {
    for await (const line of readLines(unpack(bytes, { name, firstLine }, limits), limits.lineBytes)) {
      const isFirst = last === 0;
      last = line.number + (firstLine ?? 1) - 1;
      const origin = originOf(last);
      const read = line.tooLong
        ? tooLong(limits.lineBytes, limits)
        : withinMessage(readLine(line.bytes, chain, registry, origin), limits);
      batches.summary.lines++;
      if ('refused' in read) {
        const opens = isFirst && isOpening(line.bytes, read.refused);
        const reason = opens
          ? spreadReason(line.bytes)
          : explain(read.refused, { chain, name: chainName ?? fileStem(name), registry }, line.bytes);
        batches.refuse(origin, reason, line.bytes);
      } else {
        address.inspect(read);
        batches.add(read);
      }
      if (batches.isFull) await batches.flush();
      bytesOfTurn += line.bytes.length;
      if (bytesOfTurn < TURN_BYTES) continue;
      await setImmediate();
      bytesOfTurn = 0;
    }
  } catch (error) {
    // Only errors of zlib and Parquet come from the input.
    if (!isArchiveError(error)) throw error;
    const reason = `the archive is truncated or corrupt: ${reasonOf(error)}`;
    batches.refuse(originOf(last + 1), reason, Buffer.alloc(0));
  }
  if (address.foreign !== null) onForeignAddress?.(address.foreign);
}

/**
 * Bytes that are read in one turn of the event loop, in some milliseconds. Otherwise sources that never wait, such as
 * Parquet, would block requests.
 */
const TURN_BYTES = 2 ** 20;

/**
 * Publishes in batches. The next batch is read while the last one is published. A log that stores messages acknowledges a
 * batch when it is stored; the embedded log acknowledges it when it is loaded.
 */
class Batches {
  readonly summary: IngestSummary = { lines: 0, blocks: 0, snapshots: 0, refused_lines: 0 };
  readonly #runtime: Runtime;
  readonly #options: RunOptions;
  readonly #limits: PublishLimits;
  readonly #pending = { blocks: [] as Message[], snapshots: [] as Message[] };
  readonly #deadLetters: DeadLetter[] = [];
  readonly #inProgress: Promise<void>[] = [];
  #pendingBytes = 0;
  /** Batches that the log has not acknowledged yet. */
  #publishing = 0;

  constructor(runtime: Runtime, options: RunOptions, limits: PublishLimits) {
    this.#runtime = runtime;
    this.#options = options;
    this.#limits = limits;
  }

  /** Batches are smaller while none is being published, so that the store is not idle. */
  get isFull(): boolean {
    const { batchBytes } = this.#limits;
    return (
      this.#pendingBytes >= (this.#publishing > 0 ? batchBytes : Math.min(batchBytes, FIRST_BATCH_BYTES))
    );
  }

  add(read: Envelope): void {
    this.summary[read.topic]++;
    this.#pending[read.topic].push(read);
    this.#pendingBytes += read.size;
  }

  refuse(origin: Origin, reason: string, line: Buffer): void {
    this.summary.refused_lines++;
    this.#deadLetters.push(deadLetterOf(TOPICS.blocks, origin, reason, line));
    this.#pendingBytes += line.length + ROW_BYTES;
  }

  async flush(): Promise<void> {
    const [runtime, limits] = [this.#runtime, this.#limits];
    const blocks = this.#pending.blocks.splice(0);
    const snapshots = this.#pending.snapshots.splice(0);
    const refused = this.#deadLetters.splice(0);
    const soFar = { ...this.summary };
    this.#pendingBytes = 0;
    const before = this.#inProgress.at(-1);
    // Publishes before the first `await`, so that batches stay in the order of their lines.
    const parts = [
      writeDeadLetters(runtime.store, refused, runtime.clock.now(), limits.deadLetterBytes, runtime.log),
      blocks.length > 0 && publishTraced(runtime, TOPICS.blocks, blocks),
      snapshots.length > 0 && publishTraced(runtime, TOPICS.snapshots, snapshots),
      before,
    ];
    const read = { blocks: blocks.length, snapshots: snapshots.length, refused: refused.length };
    const published = Promise.all(parts).then(() => {
      countRead(limits.metrics, read);
      this.#options.onProgress?.(soFar);
    });
    this.#publishing++;
    // A later `flush`, or `done`, throws the error.
    markHandled(published.finally(() => this.#publishing--));
    this.#inProgress.push(published);
    if (this.#inProgress.length >= IN_PROGRESS_MAX) await this.#inProgress.shift();
  }

  /** Resolves when the log has acknowledged all batches. */
  async done(): Promise<void> {
    await this.#inProgress.at(-1);
  }

  /** Resolves when nothing is in progress, also after an error. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#inProgress);
  }
}

const IN_PROGRESS_MAX = 2;
/** Loading a batch of this size takes about as long as reading the next one. */
const FIRST_BATCH_BYTES = 16 * 2 ** 20;

const unpack = (
  bytes: Readable,
  { name, firstLine }: { name: string; firstLine: number | undefined },
  { lineBytes }: PublishLimits,
) => (firstLine === undefined ? decompress(name, bytes, lineBytes) : bytes);

const tooLong = (bytes: number, { lineSetting }: PublishLimits) => ({
  refused: `longer than ${bytes} bytes (${lineSetting})`,
});

/** Exact numbers can make a message many times longer than its line. */
function withinMessage(read: ReadResult, limits: PublishLimits): ReadResult {
  const isTooLong = 'size' in read && read.size > limits.messageBytes;
  return isTooLong ? tooLong(limits.messageBytes, limits) : read;
}

/** Whether a line begins a document that spans several lines. */
const isOpening = (line: Buffer, refused: string) =>
  (refused === NO_JSON && line[0] === LIST) ||
  (line.length <= OPENING_BYTES_MAX && /^[[{\s]+$/.test(line.toString('latin1')));
const OPENING_BYTES_MAX = 64;
const OPENS_LIST = /^\s*\[/;

const spreadReason = (line: Buffer) =>
  `${NO_JSON}: a document spans several lines, but each line must be one document; ${adviceFor(line)}`;

const adviceFor = (line: Buffer) =>
  OPENS_LIST.test(line.toString('latin1', 0, OPENING_BYTES_MAX))
    ? "convert the list with `jq -c '.[]' FILE`"
    : 'convert the file with `jq -c . FILE`';

function explain(
  reason: string,
  {
    chain,
    name,
    registry,
  }: { readonly chain: Chain | undefined; readonly name: string; readonly registry: Registry },
  line: Buffer,
): string {
  if (reason === NO_OBJECT && line[0] === LIST)
    return `${NO_OBJECT}: each line must be one document; ${adviceFor(line)}`;
  if (chain !== undefined || !reason.startsWith('a bare block')) return reason;
  const near = didYouMean(name, namesOf(registry));
  return `chain: unknown ${name}; ${near && `${near} `}${reason}`;
}

const LIST = 0x5b;

function isArchiveError(error: unknown): boolean {
  const { code } = error as { code?: string };
  return (
    typeof code === 'string' &&
    (code === PARQUET_BROKEN ||
      code.startsWith('Z_') ||
      code.startsWith('ZSTD_') ||
      code === 'ERR_STREAM_PREMATURE_CLOSE')
  );
}
