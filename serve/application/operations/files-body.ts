import { Readable } from 'node:stream';
import { ProductError } from '../../../infra/errors.ts';
import type { OpenSource } from '../../../ingest/sources/publish.ts';

// Any number of files of any size in the body of one call: of each its name, then its pieces, each behind its length
// in four bytes, and a length of zero.

const LENGTH_BYTES = 4;
/** Longer than any path that a system accepts. */
const NAME_BYTES_MAX = 2 ** 16;
const END = lengthOf(0);

function lengthOf(bytes: number): Buffer {
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32BE(bytes);
  return head;
}

/** Each file is opened when its turn comes. */
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

/** The files of a body, one after the other: what is left of one is passed over when the next is asked for. */
export async function* unpackFiles(body: Readable): AsyncGenerator<OpenSource> {
  const bytes = new Bytes(body);
  try {
    for (let head = await bytes.exactly(LENGTH_BYTES); head; head = await bytes.exactly(LENGTH_BYTES)) {
      const length = head.readUInt32BE();
      const name = length <= NAME_BYTES_MAX ? await bytes.exactly(length) : null;
      if (name === null) throw cutOff();
      const file = { isWhole: false };
      const pieces = piecesOf(bytes, file);
      yield { name: name.toString('utf8'), bytes: Readable.from(following(pieces), { objectMode: false }) };
      for await (const _ of pieces);
      // What failed may have been told to a reader who had given the file up.
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
    let left = head.readUInt32BE();
    if (left === 0) {
      file.isWhole = true;
      return;
    }
    while (left > 0) {
      const piece = await bytes.upTo(left);
      if (piece === null) throw cutOff();
      left -= piece.length;
      yield piece;
    }
  }
}

/** Whoever stops reading these does not end the others. */
async function* following(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) yield next.value;
}

const cutOff = () => new ProductError('usage', 'body: it ends within a file');

/** A stream, read by lengths. */
class Bytes {
  readonly #chunks: AsyncIterator<Buffer>;
  #chunk: Buffer = Buffer.alloc(0);
  /** Why it cannot be read further. */
  failure: unknown;

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** Null at the end of the stream. */
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

  /** Null at the end of the stream, where nothing of it has come. */
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
