import { Readable } from 'node:stream';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Input } from '../sources/input-files.ts';

/** A download fails when it stalls for this long. */
const STALL_MS_MAX = 60_000;

/** A file behind a URL. The extension of its path names the compression. */
export function download(address: string, stop: AbortSignal): Input {
  const open = () => {
    let bytesRead = 0;
    const closed = new AbortController();
    const until = AbortSignal.any([stop, closed.signal]);
    const pieces = async function* () {
      for await (const piece of bytesAt(address, until)) {
        bytesRead += piece.length;
        yield piece;
      }
    };
    const stream = Readable.from(pieces(), { objectMode: false });
    const destroy = stream._destroy;
    // Closes the connection even while it waits for bytes.
    stream._destroy = (error, callback) => {
      closed.abort();
      destroy.call(stream, error, callback);
    };
    Object.defineProperty(stream, 'bytesRead', { get: () => bytesRead });
    return stream as Readable & { readonly bytesRead: number };
  };
  return { name: new URL(address).pathname, size: null, open };
}

async function* bytesAt(address: string, stop: AbortSignal): AsyncGenerator<Uint8Array> {
  const stalled = new AbortController();
  // Times only the waits for the network, because the reader may be slow.
  const inTime = async <T>(wait: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => stalled.abort(), STALL_MS_MAX);
    return wait.finally(() => clearTimeout(timer));
  };
  try {
    const answer = await inTime(fetch(address, { signal: AbortSignal.any([stop, stalled.signal]) }));
    if (!answer.ok) throw new ProductError('source_failed', `${address} answered ${answer.status}`);
    const pieces = (answer.body ?? new Blob([]).stream())[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await inTime(pieces.next());
      if (done) return;
      yield value;
    }
  } catch (error) {
    stop.throwIfAborted();
    if (error instanceof ProductError) throw error;
    const { cause = error } = error as { cause?: unknown };
    const reason = stalled.signal.aborted
      ? `sent no data for ${STALL_MS_MAX / 1000} s`
      : `closed the connection: ${reasonOf(cause)}`;
    throw new ProductError('source_unreachable', `${address} ${reason}`);
  }
}
