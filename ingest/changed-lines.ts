import type { ReadMessage } from './prepare-batch.ts';
import { heightKey } from './raw/heights.ts';

/**
 * The lines with the first block of each height, then the others. A statement becomes visible in parts: what is computed
 * meanwhile of the first block of a height is told as replaced only when that block is stored before the second.
 */
export function apartFromRepeated(lines: readonly ReadMessage[]): (readonly ReadMessage[])[] {
  const heights = new Set<string>();
  const repeated = new Set(lines.filter(({ head }) => heights.size === heights.add(heightKey(head)).size));
  return repeated.size === 0 ? [lines] : [lines.filter((line) => !repeated.has(line)), [...repeated]];
}

/** The blocks that are not what their heights hold when it is their turn. */
export function changedLines(
  lines: readonly ReadMessage[],
  contents: ReadonlyMap<string, bigint>,
): readonly ReadMessage[] {
  const changing = new Set<string>();
  return lines.filter(({ head, content }) => {
    const key = heightKey(head);
    const isSame = content !== undefined && content === contents.get(key) && !changing.has(key);
    if (!isSame) changing.add(key);
    return !isSame;
  });
}
