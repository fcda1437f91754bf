import { createHash } from 'node:crypto';
import { lstat, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Kernels accept at most 104 to 108 bytes for the path of a socket. */
const PATH_BYTES_MAX = 100;

/** Where the socket of a data directory may be, best first: in it, or where paths are short and sockets allowed. */
export function socketPaths(directory: string): string[] {
  const beside = join(directory, 'control.sock');
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  const aside = join(tmpdir(), `chain-metrics-${hash}.sock`);
  return Buffer.byteLength(beside) <= PATH_BYTES_MAX ? [beside, aside] : [aside];
}

/** The socket of the process that has opened the directory; null when none answers. */
export async function findSocket(directory: string): Promise<string | null> {
  const [beside] = socketPaths(directory);
  for (const path of socketPaths(directory)) {
    // Any user may write into the directory for temporary files: the owner of the socket is checked there.
    if ((path === beside || (await isOwn(path, directory))) && (await answers(path))) return path;
  }
  return null;
}

async function isOwn(path: string, directory: string): Promise<boolean> {
  try {
    const { uid } = await lstat(path);
    return uid === process.getuid?.() || uid === (await stat(directory)).uid;
  } catch {
    // A path that cannot be looked at is not used.
    return false;
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ path });
    socket.once('connect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
  });
}
