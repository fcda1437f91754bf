import { setTimeout } from 'node:timers/promises';

/** The result of work, or an error when it takes longer; the work itself goes on. */
export async function inTime<T>(msMax: number, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = setTimeout(msMax, undefined, { signal: done.signal, ref: false }).then(() => {
    throw new Error(`no answer within ${msMax} ms`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}
