import { open } from 'node:fs/promises';

/**
 * Forces the bytes of a file to the disk, or the names of the files of a directory: a file that is forced itself may be
 * without its name.
 */
export async function fsyncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What some file systems answer for a directory, and what a directory that may only be searched answers. */
const UNFORCEABLE = new Set(['EINVAL', 'ENOTSUP', 'EACCES', 'EPERM', 'EISDIR']);

/** Forces the names of the files of a directory to the disk, where its file system and its rights allow that. */
export async function fsyncDirectoryIfPossible(directory: string): Promise<void> {
  await fsyncPath(directory).catch((error: NodeJS.ErrnoException) => {
    if (!UNFORCEABLE.has(error.code ?? '')) throw error;
  });
}
