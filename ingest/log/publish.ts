import type { Readable } from 'node:stream';
import { reasonOf } from '../../infra/errors.ts';
import type { Message, Runtime } from '../../infra/ports.ts';
import { publishTraced } from '../../infra/tracing/messages.ts';
import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import { bareName, decompressed, readLines } from '../sources/lines.ts';
import { PARQUET_BROKEN } from '../sources/parquet.ts';
import { countRead, type SourceMeasures } from '../sources/source-measures.ts';
import { type DeadLetter, deadLetterOf, ROW_BYTES, writeDeadLetters } from './dead-letters.ts';
import { type Origin, type Read, readLine } from './envelope.ts';
import { TOPICS } from './topics.ts';

export interface IngestOptions {
  /** File name: its extensions name the compression, the rest names the chain of bare blocks. */
  readonly name: string;
  /** Chain of bare blocks, over the file's name. */
  readonly chain?: string;
  /** The number that the first line has in its file, where its lines were unpacked before. */
  readonly firstLine?: number;
  /** Name of this run, by which its result is reported. */
  readonly run?: string;
  /** Called with what is durable so far, batch by batch. */
  readonly onProgress?: (soFar: IngestSummary) => void;
}

export interface IngestSummary {
  lines: number;
  blocks: number;
  snapshots: number;
  refused_lines: number;
}

export interface PublishLimits {
  readonly batchBytes: number;
  readonly lineBytes: number;
  /** The setting that says so. */
  readonly lineSetting: string;
  /** A message holds more than its line, and may be longer. */
  readonly messageBytes: number;
  readonly deadLetterBytes: number;
  readonly measures: SourceMeasures;
}

/** Reads one source line by line and puts blocks and snapshots on the log; what cannot be read becomes a dead letter. */
export async function publish(
  runtime: Runtime,
  registry: Registry,
  bytes: Readable,
  { name, chain: chainName, firstLine, run = '', onProgress }: IngestOptions,
  limits: PublishLimits,
): Promise<IngestSummary> {
  const chain = registry.find(chainName ?? bareName(name));
  const summary: IngestSummary = { lines: 0, blocks: 0, snapshots: 0, refused_lines: 0 };
  const pending = { blocks: [] as Message[], snapshots: [] as Message[] };
  const deadLetters: DeadLetter[] = [];
  let pendingBytes = 0;

  // While one batch is loaded, the next one is prepared and a third one is read.
  const inProgress: Promise<void>[] = [];
  const flush = async () => {
    if (inProgress.length >= IN_PROGRESS_MAX) await inProgress.shift();
    const blocks = pending.blocks.splice(0);
    const snapshots = pending.snapshots.splice(0);
    const refused = deadLetters.splice(0);
    const soFar = { ...summary };
    pendingBytes = 0;
    const before = inProgress.at(-1);
    // Published before anything is awaited: batches stay in the order of their lines.
    const parts = [
      writeDeadLetters(runtime.store, refused, runtime.clock.now(), limits.deadLetterBytes, runtime.log),
      blocks.length > 0 && publishTraced(runtime, TOPICS.blocks, blocks),
      snapshots.length > 0 && publishTraced(runtime, TOPICS.snapshots, snapshots),
      before,
    ];
    const read = { blocks: blocks.length, snapshots: snapshots.length, refused: refused.length };
    const loading = Promise.all(parts).then(() => {
      countRead(limits.measures, read);
      onProgress?.(soFar);
    });
    // A failure is thrown by a later flush; until then it must not count as unhandled.
    loading.catch(() => undefined);
    inProgress.push(loading);
  };
  const refuse = (origin: Origin, reason: string, line: Buffer) => {
    summary.refused_lines++;
    deadLetters.push(deadLetterOf(TOPICS.blocks, origin, reason, line));
    pendingBytes += line.length + ROW_BYTES;
  };

  let last = 0;
  try {
    for await (const line of readLines(unpack(bytes, { name, firstLine }, limits), limits.lineBytes)) {
      last = line.number + (firstLine ?? 1) - 1;
      summary.lines++;
      const origin: Origin = { source: 'import', origin: name, line: last, run };
      const read = line.tooLong
        ? tooLong(limits.lineBytes, limits)
        : withinMessage(readLine(line.bytes, chain, registry, origin), limits);
      if ('refused' in read) {
        refuse(origin, explain(read.refused, chain, chainName ?? bareName(name)), line.bytes);
      } else {
        summary[read.topic]++;
        pending[read.topic].push(read);
        pendingBytes += read.size;
      }
      if (pendingBytes >= limits.batchBytes) await flush();
    }
  } catch (error) {
    // Only the archive itself fails here with a code of zlib; everything else is not the input's fault.
    if (!isArchiveError(error)) {
      await Promise.allSettled(inProgress);
      throw error;
    }
    const origin = { source: 'import', origin: name, line: last + 1, run };
    refuse(origin, `the archive is truncated or corrupt: ${reasonOf(error)}`, Buffer.alloc(0));
  }
  await flush();
  await inProgress.at(-1);
  return summary;
}

const IN_PROGRESS_MAX = 2;

const unpack = (
  bytes: Readable,
  { name, firstLine }: { name: string; firstLine: number | undefined },
  { lineBytes }: PublishLimits,
) => (firstLine === undefined ? decompressed(name, bytes, lineBytes) : bytes);

const tooLong = (bytes: number, { lineSetting }: PublishLimits) => ({
  refused: `longer than ${bytes} bytes (${lineSetting})`,
});

/** Numbers that are written exactly may make a message many times as long as its line. */
function withinMessage(read: Read, limits: PublishLimits): Read {
  const isTooLong = 'size' in read && read.size > limits.messageBytes;
  return isTooLong ? tooLong(limits.messageBytes, limits) : read;
}

function explain(reason: string, chain: Chain | undefined, name: string): string {
  return chain === undefined && reason.startsWith('a bare block')
    ? `chain: unknown ${name}; ${reason}`
    : reason;
}

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
