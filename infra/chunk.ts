/** Splits a list into chunks whose total size is at most `sizeMax`; a larger item becomes a chunk of its own. */
export function* chunkBySize<Item>(
  items: Iterable<Item>,
  sizeMax: number,
  sizeOf: (item: Item) => number,
): Generator<Item[]> {
  let part: Item[] = [];
  let size = 0;
  for (const item of items) {
    const more = sizeOf(item);
    if (part.length > 0 && size + more > sizeMax) {
      yield part;
      part = [];
      size = 0;
    }
    part.push(item);
    size += more;
  }
  if (part.length > 0) yield part;
}
