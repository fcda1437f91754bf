import { Readable } from 'node:stream';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Input } from '../sources/input-files.ts';

/** A download that gives nothing for so long has failed. */
const SILENCE_MS_MAX = 60_000;

/** A packed or plain file behind an address; the end of its path tells how it is packed. */
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
    // Whoever gives it up leaves no connection behind, also while it waits for the next bytes.
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
  const silence = new AbortController();
  // Only waiting counts: the reader may take his time.
  const inTime = async <T>(wait: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX);
    return wait.finally(() => clearTimeout(timer));
  };
  try {
    const answer = await inTime(fetch(address, { signal: AbortSignal.any([stop, silence.signal]) }));
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
    const reason = silence.signal.aborted
      ? `gave nothing for ${SILENCE_MS_MAX / 1000} s`
      : `broke off: ${reasonOf(cause)}`;
    throw new ProductError('source_unreachable', `${address} ${reason}`);
  }
}
