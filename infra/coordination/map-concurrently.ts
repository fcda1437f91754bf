import pMap, { pMapSkip } from 'p-map';

/**
 * Maps items concurrently. After a failure no new item starts, and the failure is thrown once the running ones have
 * ended, so that the caller can delete their output.
 */
export async function mapConcurrently<T, R>(
  items: Iterable<T>,
  work: (item: T) => Promise<R>,
  concurrency: number,
): Promise<R[]> {
  const failures: unknown[] = [];
  const results = await pMap(
    items,
    async (item) => {
      if (failures.length > 0) return pMapSkip;
      try {
        return await work(item);
      } catch (failure) {
        failures.push(failure);
        return pMapSkip;
      }
    },
    { concurrency },
  );
  if (failures.length > 0) throw failures[0];
  return results as R[];
}
