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
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Batcher } from '../coordination/batcher.ts';
import { retry } from '../coordination/retry.ts';
import { reasonOf, unwritable } from '../errors.ts';
import type { Ack, LogRecord, Message } from '../ports.ts';
import { plural } from '../words.ts';
import type { DamageReport } from './damage.ts';
import { forceToDisk } from './force-to-disk.ts';
import {
  type DamagedBytes,
  emptyRecord,
  readSegment,
  recordBytes,
  type SegmentContent,
} from './journal-records.ts';
import { writeAll } from './write-all.ts';

export interface JournalOptions {
  readonly directory: string;
  /** Syncs every append to the disk, so that it survives a power loss. */
  readonly fsync: boolean;
  /** Where damage is reported that is found in the directory. */
  readonly damage: DamageReport;
  /** Forces a file to the disk; the system's call when absent. */
  readonly sync?: (descriptor: number) => Promise<void>;
  /** Size of a segment after which a new one is started. */
  readonly segmentBytes?: number;
  /** Wait before a failed batch is delivered again; it doubles up to `retryMsMax`. */
  readonly retryMs?: number;
  readonly retryMsMax?: number;
}

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;

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
 * durable elsewhere. Concurrent publishers share one write. A record that is incomplete at the end after a kill was never
 * acknowledged and is truncated; anything else that is no record is damage: it is reported, the segment is set aside, and
 * all its records that can be read are delivered.
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
  /** Whether its name is forced to the disk. */
  #hasName = false;
  #nextOffset = 0;
  /** Behind the last record; offsets between it and the next one were skipped. */
  #endOffset = 0;
  #committed = 0;
  /** A batch did not become durable: no later one is committed, so that the next process receives all of them. */
  #hasFailed = false;
  #saving: NodeJS.Timeout | undefined;
  #delivering: Promise<void> | undefined;
  #committing: Promise<void> = Promise.resolve();

  private constructor(options: JournalOptions, handler: Handler) {
    this.#options = {
      segmentBytes: 64 * 2 ** 20,
      retryMs: 50,
      retryMsMax: 5000,
      sync: syncToDisk,
      ...options,
    };
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
  async waitUntilConsumed(_group?: string): Promise<void> {
    const until = this.#endOffset;
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
      await this.#append(messages.flatMap((message, i) => recordBytes(message, this.#nextOffset + i)));
    } catch (error) {
      throw unwritable(reasonOf(error));
    }
    messages.forEach((message, i) => {
      this.#undelivered.push({ ...message, partition: PARTITION, offset: this.#nextOffset + i });
    });
    this.#nextOffset += messages.length;
    this.#endOffset = this.#nextOffset;
    this.#deliver();
    return [];
  }

  async #append(pieces: readonly Buffer[]): Promise<void> {
    if (this.#fileBytes >= this.#options.segmentBytes) this.#startSegment();
    try {
      writeAll(this.#file, pieces, this.#fileBytes);
      if (this.#options.fsync) await this.#force();
    } catch (error) {
      // Offsets are counted by position, so that nothing of a rejected append may stay.
      ftruncateSync(this.#file, this.#fileBytes);
      throw error;
    }
    this.#fileBytes += pieces.reduce((sum, { length }) => sum + length, 0);
  }

  async #force(): Promise<void> {
    await this.#options.sync(this.#file);
    if (this.#hasName) return;
    const { directory } = this.#options;
    for (const holder of [directory, dirname(directory)]) await forceToDisk(holder);
    this.#hasName = true;
  }

  #startSegment(): void {
    const file = openSync(this.#path(this.#nextOffset), 'w');
    closeSync(this.#file);
    this.#file = file;
    this.#fileBytes = 0;
    this.#hasName = false;
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
    this.#segments = names
      .filter((name) => name.endsWith(SEGMENT))
      .map((name) => Number(name.slice(0, -SEGMENT.length)))
      .sort((a, b) => a - b);
    this.#committed = names.includes(COMMITTED_FILE) ? this.#readCommitted() : 0;
    this.#nextOffset = this.#committed;
    this.#endOffset = this.#committed;
    let end = -1;
    for (const first of this.#segments) {
      if (end >= 0 && first > Math.max(end, this.#committed)) this.#reportMissing(end, first);
      const content = readSegment(readFileSync(this.#path(first)), first);
      for (const { offset, message } of content.records) {
        if (offset < this.#committed) continue;
        this.#undelivered.push({ ...message, partition: PARTITION, offset });
        this.#endOffset = offset + 1;
      }
      this.#fileBytes = content.damaged.length > 0 ? this.#setAside(first, content) : content.length;
      end = content.nextOffset;
      this.#nextOffset = Math.max(this.#nextOffset, end);
    }
    this.#openSegment(end);
  }

  /** A file that cannot be read costs work and nothing else: a consumer recognizes what it was given before. */
  #readCommitted(): number {
    const file = join(this.#options.directory, COMMITTED_FILE);
    const text = readFileSync(file, 'utf8');
    if (/^\d{1,15}$/.test(text)) return Number(text);
    const { damage } = this.#options;
    const aside = damage.placeFor('log', file);
    damage.copy(file, aside);
    damage.add({
      part: 'log',
      file,
      lost: 'up to where the log was processed; nothing else: what it still holds is processed again',
      advice: `look at ${aside}, and check the disk`,
    });
    return this.#segments[0] ?? 0;
  }

  #reportMissing(from: number, until: number): void {
    this.#options.damage.add({
      part: 'log',
      file: this.#path(from),
      lost: `the segment is missing, with the records ${Math.max(from, this.#committed)} to ${until - 1}, which were acknowledged`,
      advice:
        'restore the file from a backup while the server is stopped, or let their senders send them again',
    });
  }

  /** Replaces a damaged segment by one of the records that can be read; returns its length. */
  #setAside(first: number, { records, damaged, nextOffset }: SegmentContent): number {
    const { damage } = this.#options;
    const path = this.#path(first);
    const aside = damage.placeFor('log', path);
    damage.copy(path, aside);
    for (const part of damaged) {
      damage.add({ part: 'log', file: path, lost: this.#lostWords(part), advice: adviceOf(aside) });
    }
    const bytes = Buffer.concat([
      ...records.flatMap(({ message, offset }) => recordBytes(message, offset)),
      emptyRecord(nextOffset - 1),
    ]);
    writeFileSync(`${path}.part`, bytes, { flush: true });
    renameSync(`${path}.part`, path);
    return bytes.length;
  }

  #lostWords({ at, bytes, firstOffset, nextOffset }: DamagedBytes): string {
    const where = `${bytes} bytes from byte ${at} on are no record`;
    if (nextOffset <= this.#committed) return `${where}; nothing is lost: they were processed before`;
    const count = nextOffset - Math.max(firstOffset, this.#committed);
    return `${where}; with them up to ${plural(count, 'message')} from offset ${Math.max(firstOffset, this.#committed)} on`;
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

const adviceOf = (aside: string) =>
  `the segment is kept as ${aside}; let the senders of that time send again, and check the disk`;
