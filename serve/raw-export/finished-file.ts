import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface FinishedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes a stream to a file; deletes the file on failure. */
export async function saveFile(content: Readable, path: string): Promise<FinishedFile> {
  const hash = createHash('sha256');
  const hashing = new Transform({
    transform: (piece, _encoding, done) => {
      hash.update(piece);
      done(null, piece);
    },
  });
  const file = createWriteStream(path, { flush: true });
  try {
    await pipeline(content, hashing, file);
    return { path, bytes: file.bytesWritten, sha256: hash.digest('hex') };
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
