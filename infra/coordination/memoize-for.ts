import { markHandled } from '../ignore.ts';
/**
 * A value that many ask for: it is read again when the last one is older than `maxAgeMs`, once for all who ask in the
 * meantime. A failure is told to those who waited for it, and to nobody after that time.
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
