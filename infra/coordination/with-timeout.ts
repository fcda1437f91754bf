import { setTimeout } from 'node:timers/promises';
import { markHandled } from '../ignore.ts';

/** Rejects if work takes longer than `msMax`; the work itself continues. */
export async function withTimeout<T>(msMax: number, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = markHandled(
    setTimeout(msMax, undefined, { signal: done.signal, ref: false }).then(() => {
      throw new Error(`no answer within ${msMax} ms`);
    }),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}
