import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { chmod, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { userUmask } from '../../infra/data-directory.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { makeDirectory } from '../../infra/make-directory.ts';
import type { FinishedFile } from './finished-file.ts';
import type { ExportTarget } from './target.ts';

/** Folder of unfinished files, on the same disk so that a rename is atomic. Readers skip names that start with `_`. */
const UNFINISHED = '_unfinished';
/** Age at which unfinished files of a killed export are deleted. */
const LEFTOVER_MS = 86_400_000;
/** Modes of new files and folders, before the umask of the user. */
const [FILE_MODE, FOLDER_MODE] = [0o666, 0o777];

/** Exports to a local directory. */
export class DirectoryTarget implements ExportTarget {
  readonly location: string;
  readonly #unfinished: string;

  private constructor(directory: string) {
    this.location = directory;
    this.#unfinished = join(directory, UNFINISHED, randomUUID());
  }

  static async open(directory: string): Promise<DirectoryTarget> {
    const target = new DirectoryTarget(directory);
    try {
      await makeFolder(target.#unfinished);
      for (const leftover of await readdir(dirname(target.#unfinished))) {
        const path = join(directory, UNFINISHED, leftover);
        const { mtimeMs } = await stat(path);
        if (Date.now() - mtimeMs > LEFTOVER_MS) await rm(path, { recursive: true });
      }
      return target;
    } catch (error) {
      throw cannotWrite(directory, error);
    }
  }

  async tags(folder: string): Promise<ReadonlyMap<string, string>> {
    const root = join(this.location, folder);
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(orNothing([]));
    const files = entries.filter((entry) => entry.isFile());
    return new Map(
      await Promise.all(
        files.map(async ({ parentPath, name }): Promise<[string, string]> => {
          const path = join(parentPath, name);
          return [relative(this.location, path), tagOf(await stat(path))];
        }),
      ),
    );
  }

  read(path: string): Promise<Buffer | null> {
    return readFile(join(this.location, path)).catch(orNothing(null));
  }

  async write(path: string, content: string): Promise<void> {
    const file = this.temporaryFile();
    await this.#writing(async () => {
      await writeFile(file, content, { flush: true });
      await this.#move(file, path);
    });
  }

  temporaryFile(): string {
    return join(this.#unfinished, randomUUID());
  }

  async put(file: FinishedFile, path: string): Promise<string> {
    return this.#writing(async () => {
      // Before the move, because another process may replace the file afterwards.
      const tag = tagOf(await stat(file.path));
      await this.#move(file.path, path);
      return tag;
    });
  }

  async remove(path: string): Promise<void> {
    await this.#writing(() => rm(join(this.location, path), { force: true }));
  }

  async close(): Promise<void> {
    await rm(this.#unfinished, { recursive: true, force: true });
  }

  async #move(file: string, path: string): Promise<void> {
    const to = join(this.location, path);
    await makeFolder(dirname(to));
    await chmod(file, FILE_MODE & ~userUmask);
    await rename(file, to);
  }

  async #writing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw cannotWrite(this.location, error);
    }
  }
}

/** The process umask makes files private; exports use the umask of the user instead. */
async function makeFolder(path: string): Promise<void> {
  const first = makeDirectory(path);
  for (let folder = path; first !== undefined && folder.length >= first.length; folder = dirname(folder)) {
    await chmod(folder, FOLDER_MODE & ~userUmask);
  }
}

const tagOf = ({ size, mtimeMs }: Stats): string => `${size}-${Math.round(mtimeMs)}`;

const orNothing =
  <T>(nothing: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return nothing;
    throw error;
  };

const cannotWrite = (directory: string, error: unknown): ProductError =>
  new ProductError('usage', `cannot write to ${directory}: ${reasonOf(error)}`);
