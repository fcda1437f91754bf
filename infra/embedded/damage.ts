import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DamageRegister } from '../damage-register.ts';
import { logPath, spoolPath } from '../data-directory.ts';
import { reasonOf } from '../errors.ts';
import { formatBytes } from '../format.ts';
import type { Damage } from '../ports.ts';

const ENDING = '.damaged';
/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const CORRUPT = new Set([11, 26]);

/** The damage in a data directory: damaged files that still exist, and files that were set aside. */
export class DamagedFiles extends DamageRegister {
  readonly #directory: string;

  constructor(dataDirectory: string) {
    super();
    this.#directory = dataDirectory;
  }

  override list(): readonly Damage[] {
    return [
      ...super.list().filter(({ file }) => existsSync(file)),
      ...setAsideIn(this.#directory).map((file) => damagedLog(file)),
      ...setAsideIn(spoolPath(this.#directory)).map(damagedInput),
    ];
  }

  override checkLog(): void {
    const file = logPath(this.#directory);
    const fault = existsSync(file) ? findDatabaseFault(file) : null;
    if (fault !== null) this.add(damagedLog(file, fault));
  }
}

/** Renames a file that cannot be read. It counts as damage until an operator deletes it. */
export function setAside(file: string): string {
  const aside = `${file}.${Date.now()}${ENDING}`;
  renameSync(file, aside);
  return aside;
}

function setAsideIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory).filter((name) => name.endsWith(ENDING));
  return names.map((name) => join(directory, name));
}

/** The first fault that SQLite finds in a database, which may be in use; null if it is intact. */
export function findDatabaseFault(file: string): string | null {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const [found] = database.prepare('PRAGMA quick_check(1)').all();
    const text = String(found?.quick_check);
    return text === 'ok' ? null : text;
  } catch (error) {
    if (!CORRUPT.has((error as { errcode?: number }).errcode ?? 0)) throw error;
    return reasonOf(error);
  } finally {
    database.close();
  }
}

const damagedLog = (file: string, fault?: string): Damage => ({
  part: 'log',
  file,
  lost: `alerts that were accepted but not processed yet${fault === undefined ? '' : `: ${fault}`}`,
  advice: `ask the senders to send them again, and check the disk; \`sqlite3 ${file} .recover\` prints the readable part; then delete the file`,
});

const damagedInput = (file: string): Damage => ({
  part: 'spool',
  file,
  lost: `${formatBytes(statSync(file).size)} of input that was read but not loaded`,
  advice:
    'ingest again the sources that were being loaded when the process ended, or backfill; then delete the file',
});
