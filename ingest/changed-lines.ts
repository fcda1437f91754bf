import type { Store } from '../infra/ports.ts';
import type { Stream } from './log/topics.ts';
import type { ReadMessage } from './prepare-batch.ts';
import { heightKey } from './raw/heights.ts';
import { readStoredHeights } from './raw/loaded-blocks.ts';

/**
 * The lines with the first block of each height, then the others. A statement becomes visible in parts: what is computed
 * meanwhile of the first block of a height is told as replaced only when that block is stored before the second.
 */
export function splitRepeated(lines: readonly ReadMessage[]): (readonly ReadMessage[])[] {
  const heights = new Set<string>();
  const repeated = new Set(lines.filter(({ head }) => heights.size === heights.add(heightKey(head)).size));
  return repeated.size === 0 ? [lines] : [lines.filter((line) => !repeated.has(line)), [...repeated]];
}

/** Splits off the blocks whose heights hold the same content already. */
export async function splitStored(store: Store, stream: Stream, lines: readonly ReadMessage[]) {
  if (stream !== 'blocks') return { changed: lines, same: [], areNew: false };
  const { areNew, contents } = await readStoredHeights(
    store,
    lines.map(({ head }) => head),
  );
  const changing = new Set<string>();
  const changed: ReadMessage[] = [];
  const same: ReadMessage[] = [];
  for (const line of lines) {
    const key = heightKey(line.head);
    const isSame = line.content !== undefined && line.content === contents.get(key) && !changing.has(key);
    if (!isSame) changing.add(key);
    (isSame ? same : changed).push(line);
  }
  return { changed, same, areNew };
}
