import { constants, copyFileSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { logPath } from '../data-directory.ts';
import { ProductError } from '../errors.ts';
import type { FrozenDirectory } from '../ports.ts';
import type { EmbeddedLog } from './log.ts';
import type { EmbeddedStore } from './store.ts';

/** Directory for copies of mutable files, inside the data directory. */
const COPIES = 'backup.part';
const FROZEN = 'backup';
/** A file that the engine adds to a frozen directory. */
const NOT_OF_TABLES = 'frozen_metadata.txt';
const KEY = 'secrets.key';

/**
 * Freezes a data directory in use, for one backup at a time. While no statement writes, the engine hard-links the
 * immutable parts, and the mutable files are copied: the log, staged batches, the key and definitions. A process that opens
 * the backup loads the staged batches, as after a kill.
 */
export function createFreeze(
  store: EmbeddedStore,
  log: EmbeddedLog,
  directory: string,
): () => Promise<FrozenDirectory> {
  const [copies, frozen] = [join(directory, COPIES), join(directory, 'store', 'shadow', FROZEN)];
  const clear = () => {
    for (const path of [copies, frozen]) rmSync(path, { recursive: true, force: true });
  };
  // Links of a killed process would keep merged parts on the disk.
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

/** Copies the mutable files. Synchronous, so that no other code of this process changes them meanwhile. */
function copyChanging(directory: string, to: string): void {
  const tables = join('store', 'store');
  const paths = [
    ...filesIn(join(directory, 'store', 'metadata'), 1).map(({ path }) => join('store', 'metadata', path)),
    // Definitions of tables, and the files beside the parts of a table.
    ...filesIn(join(directory, tables), 3).map(({ path }) => join(tables, path)),
    ...filesIn(join(directory, 'spool'), 1).map(({ path }) => join('spool', path)),
    ...[KEY].filter((path) => isFile(join(directory, path))),
  ];
  for (const path of paths.filter((one) => !one.endsWith('.part'))) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    copyFileSync(join(directory, path), join(to, path), constants.COPYFILE_FICLONE);
  }
}

/** Regular files below a directory, down to a depth. */
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
