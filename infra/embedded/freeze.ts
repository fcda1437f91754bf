import { constants, copyFileSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { logPath } from '../data-directory.ts';
import { ProductError } from '../errors.ts';
import type { FrozenDirectory } from '../ports.ts';
import type { EmbeddedLog } from './log.ts';
import type { EmbeddedStore } from './store.ts';

/** Copies of the files that change, beside the data that they were copied from. */
const COPIES = 'backup.part';
const FROZEN = 'backup';
/** What the engine writes into a frozen directory for itself. */
const NOT_OF_TABLES = 'frozen_metadata.txt';
const KEY = 'secrets.key';

/**
 * Freezes a data directory that is in use, one at a time. For a moment no statement writes: parts of tables,
 * which never change, are linked by the engine, and what changes is copied: the log, staged input, the key and
 * definitions. The staged input is as a kill would leave it, and the next process goes on from there.
 */
export function freezeOf(
  store: EmbeddedStore,
  log: EmbeddedLog,
  directory: string,
): () => Promise<FrozenDirectory> {
  const [copies, frozen] = [join(directory, COPIES), join(directory, 'store', 'shadow', FROZEN)];
  const clear = () => {
    for (const path of [copies, frozen]) rmSync(path, { recursive: true, force: true });
  };
  // Links that a killed process left keep parts alive that are merged since.
  clear();
  let isTaken = false;
  const release = () => {
    clear();
    isTaken = false;
  };
  return async () => {
    if (isTaken) throw new ProductError('usage', 'another backup is being written');
    isTaken = true;
    try {
      const { takenAt, heldMs } = await store.freeze(FROZEN, () => {
        copyChanging(directory, copies);
        log.copyTo(logPath(copies));
      });
      const parts = filesIn(join(frozen, 'store'))
        .filter(({ path }) => !path.endsWith(NOT_OF_TABLES))
        .map(({ path, bytes }) => ({
          from: join(frozen, 'store', path),
          to: join('store', 'store', path),
          bytes,
        }));
      const others = filesIn(copies).map(({ path, bytes }) => ({
        from: join(copies, path),
        to: path,
        bytes,
      }));
      return { takenAt, heldMs, files: [...parts, ...others], release };
    } catch (error) {
      release();
      throw error;
    }
  };
}

/** In one step: nothing else of this process runs meanwhile. */
function copyChanging(directory: string, to: string): void {
  const tables = join('store', 'store');
  const paths = [
    ...filesIn(join(directory, 'store', 'metadata'), 1).map(({ path }) => join('store', 'metadata', path)),
    // Definitions of tables, and beside the parts of a table what it says of itself.
    ...filesIn(join(directory, tables), 3).map(({ path }) => join(tables, path)),
    ...filesIn(join(directory, 'spool'), 1).map(({ path }) => join('spool', path)),
    ...[KEY].filter((path) => isFile(join(directory, path))),
  ];
  for (const path of paths.filter((one) => !one.endsWith('.part'))) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    copyFileSync(join(directory, path), join(to, path), constants.COPYFILE_FICLONE);
  }
}

/** The files below a directory, links left out, to a depth. */
function filesIn(root: string, depth = Number.POSITIVE_INFINITY): { path: string; bytes: number }[] {
  const found: { path: string; bytes: number }[] = [];
  const walk = (path: string, left: number) => {
    if (!lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory()) return;
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (entry.isDirectory() && left > 1) walk(inner, left - 1);
      const size = entry.isFile() ? lstatSync(join(root, inner), { throwIfNoEntry: false })?.size : undefined;
      if (size !== undefined) found.push({ path: inner, bytes: size });
    }
  };
  walk('', depth);
  return found;
}

const isFile = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
