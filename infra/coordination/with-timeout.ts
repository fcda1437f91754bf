import { setTimeout } from 'node:timers/promises';
import { markHandled } from '../ignore.ts';

/** The result of work, or an error when it takes longer; the work itself goes on. */
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
