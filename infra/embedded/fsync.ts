import { open } from 'node:fs/promises';

/**
 * Forces a file, or the entries of a directory, to the disk. After a power loss an fsynced file may be missing from its
 * directory unless that was fsynced too.
 */
export async function fsyncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Error codes of file systems without fsync of directories, and of directories without read permission. */
const UNFORCEABLE = new Set(['EINVAL', 'ENOTSUP', 'EACCES', 'EPERM', 'EISDIR']);

/** Forces the entries of a directory to the disk if its file system and permissions allow it. */
export async function fsyncDirectoryIfPossible(directory: string): Promise<void> {
  await fsyncPath(directory).catch((error: NodeJS.ErrnoException) => {
    if (!UNFORCEABLE.has(error.code ?? '')) throw error;
  });
}
