import { expect, test } from 'vitest';
import { loadRegistry } from '../../../ingest/chains/registry.ts';
import { prepareBatch } from '../../../ingest/load/prepare-batch.ts';
import { type Envelope, readLine } from '../../../ingest/log/envelope.ts';
import { recordedLines } from '../../support/recordings.ts';
import { madeBlock } from '../made.ts';

const registry = loadRegistry();
const origin = { source: 'import', origin: 'polkadot.ndjson', line: 3, run: 'a run' };
const read = (line: string, chain: string) =>
  readLine(Buffer.from(line), registry.find(chain), registry, origin) as Envelope;

/** What is loaded of messages, without what a log may leave out of them. */
async function prepared(messages: readonly Pick<Envelope, 'key' | 'value'>[]) {
  const { lines, deadLetters, bytes } = await prepareBatch('blocks', messages, registry);
  return {
    deadLetters,
    bytes,
    lines: lines.map((line) => {
      const landing = line.landing();
      if ('refused' in landing) throw new Error(landing.refused.reason);
      const { bytes, head, original, content } = landing;
      const { relay_chain, chain, number, ...from } = head;
      const { source, origin, line: at, run } = from;
      const text = Buffer.concat([bytes].flat()).toString();
      return {
        relay_chain,
        chain,
        number,
        source,
        origin,
        at,
        run,
        text,
        content,
        original: String(original),
      };
    }),
  };
}

test('a block that a log hands on within the process is loaded as one that it carried as bytes', async () => {
  const envelopes = [
    ...recordedLines('runtime').map(({ line, chain = '' }) => read(line, chain)),
    read(JSON.stringify({ schema: 'block/1', chain: 'kusama', payload: madeBlock(7), version: '9' }), ''),
    read(JSON.stringify({ schema: 'block/1', chain: 'kusama', payload: { number: 8 }, is_deleted: 1 }), ''),
    read(JSON.stringify(Object.fromEntries(Object.entries(madeBlock(9)).reverse())), 'polkadot'),
  ];
  const carried = envelopes.map(({ key, value }) => ({ key, value }));
  const { lines, deadLetters } = await prepared(envelopes);
  expect(lines).toHaveLength(envelopes.length);
  expect(deadLetters).toEqual([]);
  expect(await prepared(envelopes)).toEqual(await prepared(carried));
  expect(envelopes.map(({ size }) => size)).toEqual(carried.map(({ value }) => value.length));
});
