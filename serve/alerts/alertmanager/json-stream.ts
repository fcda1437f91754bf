import { Readable } from 'node:stream';

/** Streams a JSON array, so only one part of it is in memory at a time. */
export function jsonArray(parts: AsyncIterable<readonly unknown[]>): Readable {
  return Readable.from(textsOf(parts));
}

async function* textsOf(parts: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
  let before = '[';
  for await (const part of parts) {
    if (part.length === 0) continue;
    yield before + part.map((item) => JSON.stringify(item)).join(',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
