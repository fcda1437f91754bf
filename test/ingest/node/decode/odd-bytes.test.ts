import { describe, expect, test } from 'vitest';
import { ProductError } from '../../../../infra/errors.ts';
import { Random } from '../../../../ingest/demo/random.ts';
import { decodeBlock } from '../../../../ingest/node/decode/block.ts';
import { bytesOf, Cursor } from '../../../../ingest/node/decode/cursor.ts';
import { readRuntime } from '../../../../ingest/node/decode/runtime.ts';
import { addType, changedMetadata } from './made-metadata.ts';
import { CHAINS, Recording, sidecarLines } from './recorded.ts';

const ROUNDS = Number(process.env.SEEDS ?? 1) * 300;
/** A line is never so many times as long as its bytes. */
const LONGER_MAX = 2000;

/** Bytes with some others in them, cut off or longer. */
function changed(random: Random, hex: string): string {
  const bytes = bytesOf(hex);
  for (let times = random.whole(0, 3); times >= 0 && bytes.length > 0; times -= 1) {
    bytes[random.whole(0, bytes.length - 1)] = random.pick([0, 1, 3, 0xfe, 0xff, random.whole(0, 255)]);
  }
  const size = random.chance(0.2) ? random.whole(0, bytes.length) : bytes.length;
  const more = random.chance(0.1) ? 'ff'.repeat(random.whole(1, 40)) : '';
  return `0x${bytes.toString('hex', 0, size)}${more}`;
}

describe('odd bytes', () => {
  test.each(CHAINS)('of %s are refused, or decoded to JSON of a bounded length', (chain) => {
    const recording = new Recording(chain);
    const runtime = readRuntime(recording.metadata());
    const blocks = sidecarLines(chain).map((line) => recording.block(Number(JSON.parse(line).number)));
    const random = new Random(ROUNDS);
    let refused = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const block = random.pick(blocks);
      const extrinsics = block.extrinsics.map((hex) => (random.chance(0.3) ? changed(random, hex) : hex));
      const events = random.chance(0.3) ? changed(random, block.events ?? '0x00') : block.events;
      const validators = random.chance(0.3) ? changed(random, block.validators ?? '0x00') : block.validators;
      try {
        const { texts } = decodeBlock(runtime, { ...block, extrinsics, events, validators });
        JSON.parse(texts.join(''));
        const size = `${extrinsics}${events}`.length;
        expect(texts.join('').length).toBeLessThan(size * LONGER_MAX);
      } catch (error) {
        expect(error).toBeInstanceOf(ProductError);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(ROUNDS / 10);
    expect(refused).toBeLessThan(ROUNDS);
  });

  test('that announce any number of elements without bytes are refused', () => {
    const types: number[] = [];
    const bytes = changedMetadata(new Recording('coretime-westend').metadata(), (metadata) => {
      const unit = addType(metadata, { tag: 'tuple', value: [] });
      const list = addType(metadata, { tag: 'sequence', value: unit });
      const array = addType(metadata, { tag: 'array', value: { len: 2 ** 32 - 1, type: unit } });
      types.push(list, array, addType(metadata, { tag: 'sequence', value: list }));
    });
    const runtime = readRuntime(bytes);
    const read = (type: number | undefined, hex: string) =>
      new Cursor(Buffer.from(hex, 'hex')).readAll(runtime.types.reader(type ?? -1));
    const [list, array, lists] = types;
    expect(read(list, '0c')).toBe('[null,null,null]');
    for (const odd of [
      () => read(list, 'feffffff'),
      () => read(array, ''),
      () => read(lists, `28${'feff0300'.repeat(10)}`),
    ]) {
      expect(odd).toThrow(/elements without bytes/);
    }
  });

  test('that announce more elements than there are bytes are refused at once', () => {
    const runtime = readRuntime(new Recording('coretime-westend').metadata());
    expect(() => runtime.events.readBlock(new Cursor(Buffer.from('feffffff00', 'hex')), 0)).toThrow(
      /truncated/,
    );
  });
});
