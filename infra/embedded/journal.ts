import {
  closeSync,
  fdatasync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { Batcher } from '../coordination/batcher.ts';
import { retry } from '../coordination/retry.ts';
import { reasonOf, unwritable } from '../errors.ts';
import type { Ack, LogRecord, Message } from '../ports.ts';

export interface JournalOptions {
  readonly directory: string;
  /** Syncs every append to the disk, so that it survives a power loss. */
  readonly fsync: boolean;
  /** Size of a segment after which a new one is started. */
  readonly segmentBytes?: number;
  /** Wait before a failed batch is delivered again; it doubles up to `retryMsMax`. */
  readonly retryMs?: number;
  readonly retryMsMax?: number;
}

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;

const HEADER_BYTES = 12;
const BATCH_MESSAGES_MAX = 2000;
const PARTITION = 0;
/** Time between two saves of the committed offset. */
const SAVE_MS = 20;
const syncToDisk = promisify(fdatasync);
const SEGMENT = '.log';
/** File that holds the committed offset. */
const COMMITTED_FILE = 'settled';

/**
 * One topic on disk for one consumer: segments of records, and the committed offset, up to which all records are
 * durable elsewhere. Concurrent publishers share one write. A record is its lengths, a checksum, the key and the
 * value. A record that is incomplete at the end after a kill was never acknowledged and is truncated.
 */
export class Journal {
  readonly #options: Required<JournalOptions>;
  readonly #handler: Handler;
  readonly #appends = new Batcher<readonly Message[]>((group) => this.#write(group.flat()));
  /** Records that are not delivered yet. */
  readonly #undelivered: LogRecord[] = [];
  readonly #closing = new AbortController();
  /** First offsets of the segments, oldest first. */
  #segments: number[] = [];
  #file = -1;
  #fileBytes = 0;
  #nextOffset = 0;
  #committed = 0;
  /** A batch did not become durable: no later one is committed, so that the next process receives all of them. */
  #hasFailed = false;
  #saving: NodeJS.Timeout | undefined;
  #delivering: Promise<void> | undefined;
  #committing: Promise<void> = Promise.resolve();

  private constructor(options: JournalOptions, handler: Handler) {
    this.#options = { segmentBytes: 64 * 2 ** 20, retryMs: 50, retryMsMax: 5000, ...options };
    this.#handler = handler;
  }

  static open(options: JournalOptions, handler: Handler): Journal {
    const journal = new Journal(options, handler);
    journal.#recover();
    journal.#deliver();
    return journal;
  }

  /** Resolves when the messages are stored: they survive a kill from then on. */
  append(messages: readonly Message[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('the log is closed'));
    return this.#appends.add(messages);
  }

  /** Resolves when all records that were appended before are committed, or cannot be before the next start. */
  async waitUntilCommitted(): Promise<void> {
    const until = this.#nextOffset;
    while (!this.#isClosed && !this.#hasFailed && this.#committed < until) {
      await this.#delivering;
      await this.#committing;
      await setTimeout(1);
    }
  }

  /** Waits for the running handler and until the delivered batches are durable. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#appends.drain();
    await this.#delivering;
    await this.#committing;
    this.#save();
    if (this.#file >= 0) closeSync(this.#file);
    this.#file = -1;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #write(messages: readonly Message[]): Promise<[]> {
    try {
      await this.#append(Buffer.concat(messages.flatMap(record)));
    } catch (error) {
      throw unwritable(reasonOf(error));
    }
    messages.forEach((message, i) => {
      this.#undelivered.push({ ...message, partition: PARTITION, offset: this.#nextOffset + i });
    });
    this.#nextOffset += messages.length;
    this.#deliver();
    return [];
  }

  async #append(bytes: Buffer): Promise<void> {
    if (this.#fileBytes >= this.#options.segmentBytes) this.#startSegment();
    try {
      let written = 0;
      while (written < bytes.length) {
        written += writeSync(this.#file, bytes, written, bytes.length - written, this.#fileBytes + written);
      }
      if (this.#options.fsync) await syncToDisk(this.#file);
    } catch (error) {
      // Offsets are counted by position, so that nothing of a rejected append may stay.
      ftruncateSync(this.#file, this.#fileBytes);
      throw error;
    }
    this.#fileBytes += bytes.length;
  }

  #startSegment(): void {
    const file = openSync(this.#path(this.#nextOffset), 'w');
    closeSync(this.#file);
    this.#file = file;
    this.#fileBytes = 0;
    this.#segments.push(this.#nextOffset);
  }

  #deliver(): void {
    if (this.#delivering === undefined && this.#undelivered.length > 0 && !this.#isClosed) {
      this.#delivering = this.#deliverAll().finally(() => {
        this.#delivering = undefined;
      });
    }
  }

  async #deliverAll(): Promise<void> {
    const { retryMs: waitMs, retryMsMax: waitMsMax } = this.#options;
    const { signal } = this.#closing;
    while (this.#undelivered.length > 0 && !this.#isClosed) {
      const batch = this.#undelivered.splice(0, BATCH_MESSAGES_MAX);
      // Throws only when the journal is closed; the next process receives the batch.
      const ack = await retry(() => this.#handler(batch), { waitMs, waitMsMax, signal }).catch(() => null);
      if (ack === null) return;
      this.#committing = this.#commitAfter(this.#committing, ack, (batch.at(-1)?.offset ?? 0) + 1);
    }
  }

  async #commitAfter(before: Promise<void>, { durable }: Ack, offset: number): Promise<void> {
    const [, outcome] = await Promise.allSettled([before, durable]);
    if (outcome.status === 'rejected') this.#hasFailed = true;
    if (this.#hasFailed) return;
    this.#committed = offset;
    this.#saving ??= globalThis.setTimeout(() => this.#save(), SAVE_MS);
  }

  /** When a kill or a full disk prevents it, the next process receives the records again. */
  #save(): void {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    const file = join(this.#options.directory, COMMITTED_FILE);
    try {
      writeFileSync(`${file}.part`, String(this.#committed));
      renameSync(`${file}.part`, file);
    } catch {
      return;
    }
    while (this.#segments.length > 1 && (this.#segments[1] as number) <= this.#committed) {
      rmSync(this.#path(this.#segments.shift() as number), { force: true });
    }
  }

  #recover(): void {
    const { directory } = this.#options;
    mkdirSync(directory, { recursive: true });
    const names = readdirSync(directory);
    this.#committed = names.includes(COMMITTED_FILE)
      ? Number(readFileSync(join(directory, COMMITTED_FILE), 'utf8'))
      : 0;
    this.#segments = names
      .filter((name) => name.endsWith(SEGMENT))
      .map((name) => Number(name.slice(0, -SEGMENT.length)))
      .sort((a, b) => a - b);
    this.#nextOffset = this.#committed;
    let end = -1;
    for (const first of this.#segments) {
      const { messages, length } = readRecords(readFileSync(this.#path(first)));
      messages.forEach((message, i) => {
        const offset = first + i;
        if (offset >= this.#committed) this.#undelivered.push({ ...message, partition: PARTITION, offset });
      });
      end = first + messages.length;
      this.#nextOffset = Math.max(this.#nextOffset, end);
      this.#fileBytes = length;
    }
    this.#openSegment(end);
  }

  /** Continues the last segment, whose records end at an offset, or starts one when it ends before the next offset. */
  #openSegment(end: number): void {
    const last = this.#segments.at(-1);
    if (last === undefined || end !== this.#nextOffset) {
      this.#segments.push(this.#nextOffset);
      this.#file = openSync(this.#path(this.#nextOffset), 'w');
      this.#fileBytes = 0;
      return;
    }
    this.#file = openSync(this.#path(last), 'r+');
    ftruncateSync(this.#file, this.#fileBytes);
  }

  #path(first: number): string {
    return join(this.#options.directory, `${String(first).padStart(16, '0')}${SEGMENT}`);
  }
}

function record({ key, value }: Message): [Buffer, Buffer, Buffer] {
  const name = Buffer.from(key);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32LE(name.length, 0);
  header.writeUInt32LE(value.length, 4);
  header.writeUInt32LE(crc32(value, crc32(name)), 8);
  return [header, name, value];
}

/** The complete records at the beginning of a segment, and their length in bytes. */
function readRecords(bytes: Buffer): { messages: Message[]; length: number } {
  const messages: Message[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const nameEnd = at + HEADER_BYTES + bytes.readUInt32LE(at);
    const end = nameEnd + bytes.readUInt32LE(at + 4);
    if (end > bytes.length) break;
    const name = bytes.subarray(at + HEADER_BYTES, nameEnd);
    const value = bytes.subarray(nameEnd, end);
    if (crc32(value, crc32(name)) !== bytes.readUInt32LE(at + 8)) break;
    messages.push({ key: name.toString(), value });
    at = end;
  }
  return { messages, length: at };
}
