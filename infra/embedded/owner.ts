import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The id of the process whose chDB locks a data directory; null if there is none, or if the system does not show locks.
 * Checking first avoids the message that chDB writes to standard error. The check itself locks nothing.
 */
export async function readLockOwner(directory: string): Promise<number | null> {
  try {
    const { dev, ino } = await stat(join(directory, 'store', 'status'));
    const major = (dev >> 8) & 0xfff;
    const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
    const hex = (part: number) => part.toString(16).padStart(2, '0');
    const file = `${hex(major)}:${hex(minor)}:${ino}`;
    // A line: `1: FLOCK  ADVISORY  WRITE 4711 fe:00:10012836 0 EOF`.
    const locks = (await readFile('/proc/locks', 'utf8')).split('\n').map((line) => line.split(/\s+/));
    const owner = locks.find((words) => words[5] === file)?.[4];
    return owner === undefined ? null : Number(owner);
  } catch {
    // There is no store yet, or the system has no /proc. chDB itself refuses a directory in use.
    return null;
  }
}
