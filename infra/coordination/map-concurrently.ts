import pMap, { pMapSkip } from 'p-map';

/**
 * Maps several items at a time. After a failure nothing new begins, and the failure is thrown when what runs has ended:
 * the caller may then take away what the work wrote.
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
