import { pMapIterable } from 'p-map';
import { type Heights, heightsOf } from './heights.ts';
import type { Sidecar } from './sidecar.ts';

export const LINE_END = Buffer.from('\n');

/** Blocks of many heights as lines, in order: several are fetched at a time, and no more than are taken. */
export async function* blockLines(
  sidecar: Pick<Sidecar, 'block'>,
  ranges: readonly Heights[],
  concurrency: number,
  onBlock: (bytes: number) => void = () => undefined,
): AsyncGenerator<Buffer> {
  const fetched = pMapIterable(heightsOf(ranges), (height) => sidecar.block(height), {
    concurrency,
    backpressure: concurrency * 2,
  });
  for await (const block of fetched) {
    onBlock(block.length);
    yield block;
    yield LINE_END;
  }
}
