import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { reasonOf, unwritable } from '../errors.ts';
import type { Pieces } from '../ports.ts';
import type { DamageReport } from './damage.ts';
import { forceToDisk } from './force-to-disk.ts';
import { writeAll } from './write-all.ts';

/** A staged batch on disk. */
export interface SpooledFile {
  readonly file: string;
  /** Name of the landing table. */
  readonly table: string;
}

/** Age and number, the table, and the checksum of the lines, which names of the first version lack. */
const NAME = /^\d+-\d+-(.+?)(?:\.([0-9a-f]{8}))?\.ndjson$/;
const NEWLINE = Buffer.from('\n');

/** The staged batches of a data directory. ClickHouse reads the files itself, so their checksums are in their names. */
export class Spool {
  readonly #directory: string;
  readonly #fsync: boolean;
  readonly #damage: DamageReport;
  #count = 0;

  constructor(dataDirectory: string, fsync: boolean, damage: DamageReport) {
    this.#directory = join(dataDirectory, 'spool');
    this.#fsync = fsync;
    this.#damage = damage;
    mkdirSync(this.#directory, { recursive: true });
    // Before this process writes its own.
    for (const name of readdirSync(this.#directory)) {
      if (name.endsWith('.part')) rmSync(join(this.#directory, name), { force: true });
    }
  }

  /** A file that the next process deletes. */
  temporaryFile(): string {
    return join(this.#directory, `${randomUUID()}.part`);
  }

  /** Writes a file that need not outlive the process. */
  fill(file: string, pieces: readonly Buffer[]): void {
    try {
      withFile(file, (descriptor) => writeAll(descriptor, pieces));
    } catch (error) {
      throw unwritable(reasonOf(error));
    }
  }

  async write(table: string, lines: readonly Pieces[]): Promise<SpooledFile> {
    // Names sort by age.
    const age = `${String(Date.now()).padStart(15, '0')}-${String(++this.#count).padStart(9, '0')}`;
    const part = join(this.#directory, `${age}-${table}.part`);
    let file = part;
    try {
      const sum = writeLines(part, lines, this.#fsync);
      const named = join(this.#directory, `${age}-${table}.${hex(sum)}.ndjson`);
      // Only a complete batch has a name without `.part`.
      await rename(part, named);
      file = named;
      if (this.#fsync) await forceToDisk(this.#directory);
      return { file, table };
    } catch (error) {
      // On a full disk it would take the room that the next attempt needs.
      rmSync(file, { force: true });
      throw unwritable(reasonOf(error));
    }
  }

  /** The batches that an earlier process left, oldest first. One that is not as it was written is set aside. */
  async unfinished(): Promise<SpooledFile[]> {
    const names = readdirSync(this.#directory).sort();
    const files: SpooledFile[] = [];
    for (const name of names) {
      const [, table, sum] = NAME.exec(name) ?? [];
      if (table === undefined) continue;
      const file = { file: join(this.#directory, name), table };
      if (sum === undefined || sum === hex(crc32(await readFile(file.file)))) files.push(file);
      else this.setAside(file, 'its checksum is wrong');
    }
    return files;
  }

  setAside({ file, table }: SpooledFile, reason: string): void {
    const aside = this.#damage.placeFor('spool', file);
    this.#damage.add({
      part: 'spool',
      file,
      lost: `${statSync(file).size} bytes of input for ${table} that were read and not loaded: ${reason}`,
      advice: `ingest the sources again that were loaded when the process ended, or backfill; the file is kept as ${aside}`,
    });
    this.#damage.move(file, aside);
  }
}

const hex = (sum: number) => sum.toString(16).padStart(8, '0');

/** Lines with their ends. */
export const piecesOf = (lines: readonly Pieces[]): Buffer[] =>
  lines.flatMap((line) => (Buffer.isBuffer(line) ? [line, NEWLINE] : [...line, NEWLINE]));

/** Returns the checksum of what it wrote. */
function writeLines(file: string, lines: readonly Pieces[], fsync: boolean): number {
  const pieces = piecesOf(lines);
  withFile(file, (descriptor) => {
    writeAll(descriptor, pieces);
    if (fsync) fsyncSync(descriptor);
  });
  return pieces.reduce((sum, piece) => crc32(piece, sum), 0);
}

function withFile(file: string, write: (descriptor: number) => void): void {
  const descriptor = openSync(file, 'w');
  try {
    write(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
