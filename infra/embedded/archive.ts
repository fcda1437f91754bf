import { spawn } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { ProductError, reasonOf } from '../errors.ts';
import { ignore } from '../ignore.ts';
import { fsyncDirectoryIfPossible, fsyncPath } from './fsync.ts';

/** Options of `tar` by the extension of the archive. */
const PACKED: readonly (readonly [ending: RegExp, ...options: string[]])[] = [
  [/\.tar$/],
  [/\.(tar\.gz|tgz)$/, '--gzip'],
  [/\.tar\.zst$/, '--zstd'],
];
const packingOf = (path: string) => PACKED.find(([ending]) => ending.test(path));

/** Whether a path has the extension of an archive. */
export const isArchive = (path: string): boolean => packingOf(path) !== undefined;

/** Packs a directory into an archive atomically. */
export async function pack(directory: string, file: string): Promise<void> {
  const [, ...options] = packingOf(file) ?? [/$/];
  const part = `${file}.packing`;
  try {
    await tar(['--create', ...options, '--file', part, '--directory', directory, '.']);
    await fsyncPath(part);
    await rename(part, file);
    await fsyncDirectoryIfPossible(dirname(file));
  } finally {
    await rm(part, { force: true });
  }
}

export async function unpack(file: string, directory: string): Promise<void> {
  const [, ...options] = packingOf(file) ?? [/$/];
  await mkdir(directory, { recursive: true });
  await tar(['--extract', ...options, '--file', file, '--directory', directory, '--no-same-owner']);
}

async function tar(args: readonly string[]): Promise<void> {
  const child = spawn('tar', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  // For the error message only; the exit code decides.
  const said = text(child.stderr).catch(ignore('archive.stderr', ''));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) =>
      reject(
        new ProductError(
          'usage',
          `tar cannot be started (${reasonOf(error)}): install it, or name a directory instead of an archive`,
        ),
      ),
    );
    child.once('close', resolve);
  });
  if (code === 0) return;
  throw new ProductError(
    'store_failed',
    `tar failed: ${(await said).split('\n')[0]?.slice(0, 200) || 'the archive is truncated or damaged'}`,
  );
}
