/**
 * Where recorded blocks are: `blocks` are the sample that ships with the product, `runtime` blocks of real
 * runtimes that were made for tests. A file is named after its chain.
 */
export function folderOf(recordings: 'blocks' | 'runtime'): URL {
  return new URL(recordings === 'blocks' ? '../../ingest/sample/' : '../fixtures/runtime/', import.meta.url);
}
