import type { Runtime, Store } from '../../infra/ports.ts';
import type { Registry } from '../chains/registry.ts';
import { type DeadLetter, deadLetterOf } from '../dead-letters/dead-letters.ts';
import { type Stream, TOPICS } from '../log/topics.ts';
import { heightKey } from '../raw/heights.ts';
import { readStoredHeights } from '../raw/loaded-blocks.ts';
import { checkFirstBlocks, isFirstBlock } from './first-blocks.ts';
import type { LandingLine, ReadMessage } from './prepare-batch.ts';

/**
 * Splits lines into the first block of each height and all others. If both blocks of a height were in one statement, whose
 * rows become visible in parts, a row could be computed from the first one, and nothing would mark its hour as replaced.
 */
export function splitRepeated(lines: readonly ReadMessage[]): (readonly ReadMessage[])[] {
  const heights = new Set<string>();
  const repeated = new Set(lines.filter(({ head }) => heights.size === heights.add(heightKey(head)).size));
  return repeated.size === 0 ? [lines] : [lines.filter((line) => !repeated.has(line)), [...repeated]];
}

/** Separates blocks that are stored already with the same content. */
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

/** Separates blocks of height 0 or 1 that belong to another network. */
export async function splitOtherGenesis(
  { runtime, registry }: { readonly runtime: Pick<Runtime, 'store'>; readonly registry: Registry },
  stream: Stream,
  lines: readonly LandingLine[],
): Promise<{ kept: readonly LandingLine[]; refused: readonly DeadLetter[] }> {
  const first =
    stream === 'blocks' ? lines.filter(({ head }) => isFirstBlock(head.number) && !head.is_deleted) : [];
  if (first.length === 0) return { kept: lines, refused: [] };
  const judged = first.map(({ head, original }) => ({ ...head, payload: original }));
  const reasons = await checkFirstBlocks(runtime.store, registry, judged);
  const others = new Map(first.flatMap((line, at) => (reasons[at] ? [[line, reasons[at]]] : [])));
  return {
    kept: lines.filter((line) => !others.has(line)),
    refused: [...others].map(([{ head, original }, reason]) =>
      deadLetterOf(TOPICS.blocks, head, reason, original),
    ),
  };
}
