import {
  closeSync,
  copyFileSync,
  cpSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { Damage, DamageList } from '../ports.ts';

const REPORT = 'report.ndjson';
/** Reports that are read; a directory with more of them is past looking at each. */
const REPORTS_MAX = 1000;

/**
 * What was found damaged in a data directory, in its folder `damaged`: a report, and beside it the files that were set
 * aside. It counts until an operator has dealt with it and deleted the folder.
 */
export class DamageReport implements DamageList {
  readonly #directory: string;

  constructor(dataDirectory: string) {
    this.#directory = join(dataDirectory, 'damaged');
  }

  /** Stores a report before anything is done about the file; the same one is stored once. */
  add(found: Omit<Damage, 'found_at'>): void {
    if (this.list().some(({ file, lost }) => file === found.file && lost === found.lost)) return;
    mkdirSync(this.#directory, { recursive: true });
    const descriptor = openSync(join(this.#directory, REPORT), 'a');
    try {
      writeSync(descriptor, `${JSON.stringify({ found_at: new Date().toISOString(), ...found })}\n`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Where a file or directory is set aside. */
  placeFor(part: Damage['part'], path: string): string {
    const directory = join(this.#directory, part);
    mkdirSync(directory, { recursive: true });
    return join(directory, `${Date.now()}-${basename(path)}`);
  }

  /** Moves a file or directory, which may stand on another file system: a data directory may have several mounts. */
  move(path: string, to: string): void {
    try {
      renameSync(path, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
      cpSync(path, to, { recursive: true, preserveTimestamps: true });
      rmSync(path, { recursive: true });
    }
  }

  copy(path: string, to: string): void {
    copyFileSync(path, to);
  }

  list(): readonly Damage[] {
    let text: string;
    try {
      text = readFileSync(join(this.#directory, REPORT), 'utf8');
    } catch {
      return [];
    }
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.slice(0, REPORTS_MAX).flatMap((line) => {
      try {
        return [JSON.parse(line) as Damage];
      } catch {
        return [];
      }
    });
  }
}
