import { open } from 'node:fs/promises';

/**
 * Forces the bytes of a file to the disk, or the names of the files of a directory: a file that is forced itself may be
 * without its name.
 */
export async function forceToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
