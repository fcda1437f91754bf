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
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { ProductError, reasonOf } from '../errors.ts';
import type { Ack, LogRecord, Message } from '../ports.ts';

export interface JournalOptions {
  readonly directory: string;
  /** Forces every append to the disk, against power loss. */
  readonly fsync: boolean;
  /** A segment that is longer than this is followed by a new one. */
  readonly segmentBytes?: number;
  /** Wait before a handler that failed gets its batch again; it doubles up to `retryMsMax`. */
  readonly retryMs?: number;
  readonly retryMsMax?: number;
}

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;
interface Pending {
  readonly messages: readonly Message[];
  readonly kept: PromiseWithResolvers<void>;
}

const HEADER_BYTES = 12;
const BATCH_MESSAGES_MAX = 2000;
const PARTITION = 0;
/** How seldom it is saved what is settled. */
const SAVE_MS = 20;
const syncToDisk = promisify(fdatasync);

/**
 * One topic on disk for one follower: segments of records, and the offset up to which all is settled. Publishers
 * that come at the same time share one write. A record is its lengths, a check sum, the key and the value; what a
 * kill left half written at the end was never acknowledged and is cut off.
 */
export class Journal {
  readonly #options: Required<JournalOptions>;
  readonly #handler: Handler;
  readonly #ready: LogRecord[] = [];
  readonly #pending: Pending[] = [];
  /** First offsets of the segments, oldest first. */
  #segments: number[] = [];
  #file = -1;
  #fileBytes = 0;
  #next = 0;
  #settled = 0;
  #closed = false;
  #stuck = false;
  #saving: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #handing: Promise<void> | undefined;
  #settling: Promise<void> = Promise.resolve();
  #stopWaiting: () => void = () => {};

  private constructor(options: JournalOptions, handler: Handler) {
    this.#options = { segmentBytes: 64 * 2 ** 20, retryMs: 50, retryMsMax: 5000, ...options };
    this.#handler = handler;
  }

  static open(options: JournalOptions, handler: Handler): Journal {
    const journal = new Journal(options, handler);
    journal.#recover();
    journal.#hand();
    return journal;
  }

  /** Returns when the messages are kept: from then on they survive a kill. */
  append(messages: readonly Message[]): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('the log is closed'));
    const kept = Promise.withResolvers<void>();
    this.#pending.push({ messages, kept });
    this.#writing ??= this.#write();
    return kept.promise;
  }

  /** Resolves when all that was appended before is settled, or will not be before the next start. */
  async settled(): Promise<void> {
    const until = this.#next;
    while (!this.#closed && !this.#stuck && this.#settled < until) {
      await this.#handing;
      await this.#settling;
      await pause(1);
    }
  }

  /** Waits for the handler that runs and for what it was given to settle. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopWaiting();
    await this.#writing;
    await this.#handing;
    await this.#settling;
    this.#save();
    if (this.#file >= 0) closeSync(this.#file);
    this.#file = -1;
  }

  async #write(): Promise<void> {
    // Publishers of the same moment get into the same write.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const group = this.#pending.splice(0);
      try {
        const first = this.#next;
        const messages = group.flatMap(({ messages }) => messages);
        this.#append(messages.flatMap(record));
        if (this.#options.fsync) await syncToDisk(this.#file);
        messages.forEach((message, i) => {
          this.#ready.push({ ...message, partition: PARTITION, offset: first + i });
        });
        this.#next = first + messages.length;
        for (const { kept } of group) kept.resolve();
        this.#hand();
      } catch (error) {
        const failure = new ProductError('store_unwritable', UNWRITABLE, reasonOf(error));
        for (const { kept } of group) kept.reject(failure);
      }
    }
    this.#writing = undefined;
  }

  #append(pieces: readonly Buffer[]): void {
    if (this.#fileBytes >= this.#options.segmentBytes) this.#roll();
    const bytes = Buffer.concat(pieces);
    try {
      let written = 0;
      while (written < bytes.length) {
        written += writeSync(this.#file, bytes, written, bytes.length - written, this.#fileBytes + written);
      }
    } catch (error) {
      ftruncateSync(this.#file, this.#fileBytes);
      throw error;
    }
    this.#fileBytes += bytes.length;
  }

  #roll(): void {
    const file = openSync(this.#path(this.#next), 'w');
    closeSync(this.#file);
    this.#file = file;
    this.#fileBytes = 0;
    this.#segments.push(this.#next);
  }

  #hand(): void {
    if (this.#handing === undefined && this.#ready.length > 0 && !this.#closed) {
      this.#handing = this.#handAll().finally(() => {
        this.#handing = undefined;
      });
    }
  }

  async #handAll(): Promise<void> {
    while (this.#ready.length > 0 && !this.#closed) {
      const batch = this.#ready.splice(0, BATCH_MESSAGES_MAX);
      const handed = await this.#handOver(batch);
      if (handed === null) return;
      this.#settling = this.#settleAfter(this.#settling, handed, (batch.at(-1)?.offset ?? 0) + 1);
    }
  }

  async #handOver(batch: readonly LogRecord[]): Promise<Ack | null> {
    for (let waitMs = this.#options.retryMs; !this.#closed; ) {
      try {
        return await this.#handler(batch);
      } catch {
        await new Promise<void>((resume) => {
          const timer = setTimeout(resume, waitMs);
          this.#stopWaiting = () => {
            clearTimeout(timer);
            resume();
          };
        });
        waitMs = Math.min(waitMs * 2, this.#options.retryMsMax);
      }
    }
    return null;
  }

  /** Batches settle in order: behind one that failed nothing does, so that it is handed over again. */
  async #settleAfter(before: Promise<void>, { durable }: Ack, offset: number): Promise<void> {
    const [, fate] = await Promise.allSettled([before, durable]);
    if (fate.status === 'rejected') this.#stuck = true;
    if (!this.#stuck) this.#settle(offset);
  }

  #settle(offset: number): void {
    this.#settled = offset;
    this.#saving ??= setTimeout(() => this.#save(), SAVE_MS);
  }

  /** What a kill or a full disk keeps from being saved is only handed over again. */
  #save(): void {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    const file = join(this.#options.directory, 'settled');
    try {
      writeFileSync(`${file}.part`, String(this.#settled));
      renameSync(`${file}.part`, file);
    } catch {
      return;
    }
    while (this.#segments.length > 1 && (this.#segments[1] as number) <= this.#settled) {
      rmSync(this.#path(this.#segments.shift() as number), { force: true });
    }
  }

  #recover(): void {
    const { directory } = this.#options;
    mkdirSync(directory, { recursive: true });
    const names = readdirSync(directory);
    this.#settled = names.includes('settled') ? Number(readFileSync(join(directory, 'settled'), 'utf8')) : 0;
    this.#segments = names
      .filter((name) => name.endsWith(SEGMENT))
      .map((name) => Number(name.slice(0, -SEGMENT.length)))
      .sort((a, b) => a - b);
    this.#next = this.#settled;
    let end = -1;
    for (const first of this.#segments) {
      const bytes = readFileSync(this.#path(first));
      const { messages, length } = readRecords(bytes);
      messages.forEach((message, i) => {
        const offset = first + i;
        if (offset >= this.#settled) this.#ready.push({ ...message, partition: PARTITION, offset });
      });
      end = first + messages.length;
      this.#next = Math.max(this.#next, end);
      this.#fileBytes = length;
    }
    const last = this.#segments.at(-1);
    if (last === undefined || end !== this.#next) {
      // Nothing is there, or less than was settled: new records get a file of their own.
      this.#segments.push(this.#next);
      this.#file = openSync(this.#path(this.#next), 'w');
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

const SEGMENT = '.log';
const UNWRITABLE = 'the disk is full or cannot be written: nothing more is taken in';

function record({ key, value }: Message): [Buffer, Buffer, Buffer] {
  const name = Buffer.from(key);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt32LE(name.length, 0);
  header.writeUInt32LE(value.length, 4);
  header.writeUInt32LE(crc32(value, crc32(name)), 8);
  return [header, name, value];
}

/** The whole records at the beginning of a segment, and how many bytes they take. */
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
