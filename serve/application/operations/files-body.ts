import { Readable } from 'node:stream';
import { ProductError } from '../../../infra/errors.ts';
import type { OpenSource } from '../../../ingest/sources/publish.ts';

// The format of several files in one body: for each file its name, its chunks and an end marker. A length of four bytes
// precedes the name and each chunk; the end marker is a length of zero.

const LENGTH_BYTES = 4;
/** Longer than any path that a system accepts. */
const NAME_BYTES_MAX = 2 ** 16;
const END = lengthOf(0);

function lengthOf(bytes: number): Buffer {
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32BE(bytes);
  return head;
}

/** Opens each file if it is written. */
export async function* packFiles(files: Iterable<OpenSource>): AsyncGenerator<Buffer> {
  for (const { name, bytes } of files) {
    const text = Buffer.from(name);
    yield Buffer.concat([lengthOf(text.length), text]);
    for await (const chunk of bytes) {
      const piece = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
      if (piece.length === 0) continue;
      yield lengthOf(piece.length);
      yield piece;
    }
    yield END;
  }
}

/** The files of a body, one after the other. Requesting the next file skips the rest of the current file. */
export async function* unpackFiles(body: Readable): AsyncGenerator<OpenSource> {
  const bytes = new Bytes(body);
  try {
    for (let head = await bytes.exactly(LENGTH_BYTES); head; head = await bytes.exactly(LENGTH_BYTES)) {
      const length = head.readUInt32BE();
      const name = length <= NAME_BYTES_MAX ? await bytes.exactly(length) : null;
      if (name === null) throw cutOff();
      const file = { isWhole: false };
      const pieces = piecesOf(bytes, file);
      yield { name: name.toString('utf8'), bytes: Readable.from(copyOf(pieces), { objectMode: false }) };
      for await (const _ of pieces);
      // The reader of the file may have stopped before the failure.
      if (!file.isWhole) throw bytes.failure ?? cutOff();
    }
  } finally {
    body.destroy();
  }
}

async function* piecesOf(bytes: Bytes, file: { isWhole: boolean }): AsyncGenerator<Buffer> {
  for (;;) {
    const head = await bytes.exactly(LENGTH_BYTES);
    if (head === null) throw cutOff();
    let remaining = head.readUInt32BE();
    if (remaining === 0) {
      file.isWhole = true;
      return;
    }
    while (remaining > 0) {
      const piece = await bytes.upTo(remaining);
      if (piece === null) throw cutOff();
      remaining -= piece.length;
      yield piece;
    }
  }
}

/** A reader that stops ends only the copy, not the generator of the body. */
async function* copyOf(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
}

const cutOff = () => new ProductError('usage', 'body: it ends within a file');

/** Reads a stream by lengths. */
class Bytes {
  readonly #chunks: AsyncIterator<Buffer>;
  #chunk: Buffer = Buffer.alloc(0);
  /** The error of the stream. */
  failure: unknown;

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** At most `length` bytes; null at the end of the stream. */
  async upTo(length: number): Promise<Buffer | null> {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#chunks.next().catch((error) => {
        this.failure = error;
        throw error;
      });
      if (done) return null;
      this.#chunk = value;
    }
    const piece = this.#chunk.subarray(0, length);
    this.#chunk = this.#chunk.subarray(piece.length);
    return piece;
  }

  /** Exactly `length` bytes; null at the end of the stream. Throws if the stream ends within them. */
  async exactly(length: number): Promise<Buffer | null> {
    const pieces: Buffer[] = [];
    for (let missing = length; missing > 0; ) {
      const piece = await this.upTo(missing);
      if (piece === null && pieces.length > 0) throw cutOff();
      if (piece === null) return null;
      pieces.push(piece);
      missing -= piece.length;
    }
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }
}
