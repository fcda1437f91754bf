import { markHandled } from '../ignore.ts';
/**
 * Memoizes a read for `maxAgeMs` after it has ended. Concurrent callers share one read, and a failure is memoized like a
 * value.
 */
export function memoizeFor<T>(maxAgeMs: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly until: () => number } | undefined;
  return () => {
    if (last && performance.now() < last.until()) return last.value;
    let readAt = Number.POSITIVE_INFINITY;
    const value = markHandled(
      read().finally(() => {
        readAt = performance.now();
      }),
    );
    last = { value, until: () => readAt + maxAgeMs };
    return value;
  };
}
