import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spoolPath } from '../data-directory.ts';
import { reasonOf, unwritable } from '../errors.ts';
import { joinLines } from '../lines.ts';
import type { Pieces } from '../ports.ts';
import { fsyncPath } from './fsync.ts';

/** A staged batch on disk. */
export interface SpooledFile {
  readonly file: string;
  /** Name of the landing table. */
  readonly table: string;
}

/** Name of a staged batch: time, number and table. */
const NAME = /^\d+-\d+-(.+)\.ndjson$/;

/** The staged batches of a data directory, in files that ClickHouse reads itself. */
export class Spool {
  readonly #directory: string;
  readonly #fsync: boolean;
  #count = 0;

  constructor(dataDirectory: string, fsync: boolean) {
    this.#directory = spoolPath(dataDirectory);
    this.#fsync = fsync;
    mkdirSync(this.#directory, { recursive: true });
    // Files of an earlier process.
    for (const name of readdirSync(this.#directory)) {
      if (name.endsWith('.part')) rmSync(join(this.#directory, name), { force: true });
    }
  }

  /** Path of a temporary file. If it is left behind, the next process deletes it. */
  temporaryFile(): string {
    return join(this.#directory, `${randomUUID()}.part`);
  }

  /** Writes a file that need not outlive the process. */
  async fill(file: string, bytes: Buffer): Promise<void> {
    await writeFile(file, bytes).catch(refuse);
  }

  async write(table: string, lines: readonly Pieces[]): Promise<SpooledFile> {
    // Names sort by age.
    const age = `${String(Date.now()).padStart(15, '0')}-${String(++this.#count).padStart(9, '0')}`;
    const part = this.temporaryFile();
    const file = join(this.#directory, `${age}-${table}.ndjson`);
    try {
      await writeFile(part, joinLines(lines), { flush: this.#fsync });
      // Only a complete batch has a name without `.part`.
      await rename(part, file);
      if (this.#fsync) await fsyncPath(this.#directory);
      return { file, table };
    } catch (error) {
      // Otherwise these files would take the space that the next attempt needs on a full disk.
      for (const path of [part, file]) rmSync(path, { force: true });
      return refuse(error);
    }
  }

  /** The lines of a batch without line ends; they may be invalid UTF-8. */
  async lines(file: string): Promise<Buffer[]> {
    const lines = (await readFile(file, 'latin1')).split('\n');
    return lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'latin1'));
  }

  /** The batches that an earlier process left, oldest first. */
  unfinished(): SpooledFile[] {
    return readdirSync(this.#directory)
      .sort()
      .flatMap((name) => {
        const [, table] = NAME.exec(name) ?? [];
        return table === undefined ? [] : [{ file: join(this.#directory, name), table }];
      });
  }
}

function refuse(error: unknown): never {
  throw unwritable(reasonOf(error));
}
