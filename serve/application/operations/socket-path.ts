import { createHash } from 'node:crypto';
import { lstat, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Kernels accept at most 104 to 108 bytes for the path of a socket. */
const PATH_BYTES_MAX = 100;

/**
 * Possible paths of the socket of a data directory: in the directory or, if that path is too long or its file system allows
 * no sockets, in the directory for temporary files.
 */
export function socketPaths(directory: string): string[] {
  const preferred = join(directory, 'control.sock');
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  const temporary = join(tmpdir(), `chain-metrics-${hash}.sock`);
  return Buffer.byteLength(preferred) <= PATH_BYTES_MAX ? [preferred, temporary] : [temporary];
}

/** The socket of the process that has opened the directory; null if none answers. */
export async function findSocket(directory: string): Promise<string | null> {
  const [preferred] = socketPaths(directory);
  for (const path of socketPaths(directory)) {
    // Any user may create files in the directory for temporary files, so the owner of the socket is checked.
    if ((path === preferred || (await isOwn(path, directory))) && (await answers(path))) return path;
  }
  return null;
}

async function isOwn(path: string, directory: string): Promise<boolean> {
  try {
    const { uid } = await lstat(path);
    return uid === process.getuid?.() || uid === (await stat(directory)).uid;
  } catch {
    // The socket does not exist, or its owner is unknown.
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
