import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Batcher } from '../coordination/batcher.ts';
import { mapConcurrently } from '../coordination/map-concurrently.ts';
import { storePath } from '../data-directory.ts';
import { reasonOf, unwritable } from '../errors.ts';
import { fsyncPath } from './fsync.ts';

/** Resolution of mtime: a change within this time after another one may not be visible. */
const SAME_TIME_MS = 1000;

const FORCED_AT_ONCE = 8;

/**
 * Forces the names of parts and tables to the disk. The engine fsyncs the files of a part and their directory, but not the
 * parent directory in which it renames the part: after a power loss the part would still have its temporary name.
 */
export class DirectoryFsync {
  readonly #dataDirectory: string;
  /** mtime of each directory at its last fsync. */
  readonly #forced = new Map<string, number>();
  readonly #calls = new Batcher<void>(async () => {
    await this.#forceChanged();
    return [];
  });

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory;
  }

  /** Resolves when all renames, creations and deletions before the call are on the disk. */
  force(): Promise<void> {
    return this.#calls.add();
  }

  async #forceChanged(): Promise<void> {
    try {
      await mapConcurrently(
        directoriesOf(this.#dataDirectory),
        (directory) => this.#forceIfChanged(directory),
        FORCED_AT_ONCE,
      );
    } catch (error) {
      throw unwritable(reasonOf(error));
    }
  }

  async #forceIfChanged(directory: string): Promise<void> {
    const changed = statSync(directory, { throwIfNoEntry: false })?.mtimeMs;
    if (changed === undefined || changed === this.#forced.get(directory)) return;
    const isPast = changed < Date.now() - SAME_TIME_MS;
    await fsyncPath(directory).catch(unlessGone);
    if (isPast) this.#forced.set(directory, changed);
  }
}

/** The engine deletes the directory of a dropped table at any moment. */
function unlessGone(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** The directories of databases and tables, and their parents. Excludes the directories of parts. */
function directoriesOf(dataDirectory: string): string[] {
  const root = storePath(dataDirectory);
  const groups = foldersOf(join(root, 'store'));
  return [dataDirectory, root, ...foldersOf(root), ...groups, ...groups.flatMap(foldersOf)];
}

function foldersOf(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
  } catch (error) {
    unlessGone(error);
    return [];
  }
}
