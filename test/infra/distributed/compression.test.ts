import { createRequire } from 'node:module';
import { zstdCompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { BatchRecords, CUT_HEADER } from '../../../infra/distributed/batch-records.ts';
import { limitDecompression, onFetchStart, ZSTD } from '../../../infra/distributed/kafkajs-codecs.ts';
import { Random } from '../../../ingest/demo/random.ts';

const { GZIP, LZ4, Snappy } = kafkajs.CompressionTypes;
// Written and read by the code of kafkajs.
const protocol = createRequire(createRequire(import.meta.url).resolve('kafkajs'));
const writeRecord = protocol('./src/protocol/recordBatch/record/v0/index.js');
const readRecord = protocol('./src/protocol/recordBatch/record/v0/decoder.js');
const Decoder = protocol('./src/protocol/decoder.js');

interface Record {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: { readonly [name: string]: Buffer };
}

const FIRST = 9_007_199_254_740_000n;
const batchOf = (values: readonly (Buffer | null)[]): Buffer =>
  Buffer.concat(
    values.map(
      (value, offsetDelta) =>
        writeRecord({
          offsetDelta,
          timestampDelta: offsetDelta * 1e6,
          key: `key ${offsetDelta}`,
          value,
          headers: { a: 'b' },
        }).buffer,
    ),
  );
function recordsOf(batch: Buffer, count: number): Record[] {
  const decoder = new Decoder(batch);
  const context = { firstOffset: String(FIRST), firstTimestamp: '1700000000000', magicByte: 2 };
  return Array.from({ length: count }, () => readRecord(new Decoder(decoder.readVarIntBytes()), context));
}
const zeros = (bytes: number) => Buffer.alloc(bytes, '0');

describe('records as they are decompressed', () => {
  const LIMITS = { recordBytes: 200_000, bytes: 700_000 };
  const SIZES = [0, 1, 63, 64, 8191, 8192, 70_000, 200_000, 300_000, 1_000_000];

  test('are unchanged within the limits, and cut beyond, however the pieces fall', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = new Random(seed);
      const values = Array.from({ length: random.whole(1, 12) }, () =>
        random.chance(0.1) ? null : zeros(random.pick(SIZES)),
      );
      const batch = batchOf(values);
      const records = new BatchRecords(LIMITS);
      for (let at = 0; at < batch.length; ) {
        const end = at + random.pick([1, 3, 1000, 65_536, 500_000]);
        records.push(batch.subarray(at, end));
        at = end;
      }
      const read = recordsOf(records.whole(), values.length);
      expect(records.whole().length).toBeLessThan(LIMITS.bytes + values.length * 70_000);
      expect(read.map(({ offset }) => BigInt(offset) - FIRST)).toEqual(values.map((_, i) => BigInt(i)));
      for (const [i, { key, value, headers }] of read.entries()) {
        const cut = headers[CUT_HEADER]?.toString();
        if (cut === undefined) {
          expect([key?.toString(), value?.length]).toEqual([`key ${i}`, values[i]?.length]);
        } else {
          const isLong = (values[i]?.length ?? 0) > LIMITS.recordBytes + 65_536;
          expect(cut).toContain(isLong ? 'KAFKA_MESSAGE_BYTES' : 'its batch is longer than');
          expect(value?.length ?? 0).toBeLessThanOrEqual(Math.min(values[i]?.length ?? 0, 65_536));
        }
      }
    }
  });
});

describe('a batch', () => {
  const MESSAGE = 100_000;
  limitDecompression({ messageBytes: MESSAGE, fetchBytes: 1_000_000 });
  const decompress = (type: keyof typeof kafkajs.CompressionCodecs, bytes: Buffer): Promise<Buffer> =>
    (kafkajs.CompressionCodecs[type] as () => { decompress(bytes: Buffer): Promise<Buffer> })().decompress(
      bytes,
    );

  test('gives the messages beside one of many megabytes', async () => {
    onFetchStart();
    const values = [zeros(10), zeros(50_000_000), zeros(90_000)];
    const batch = await decompress(ZSTD, zstdCompressSync(batchOf(values)));
    expect(batch.length).toBeLessThan(200_000);
    const [first, bomb, last] = recordsOf(batch, 3) as [Record, Record, Record];
    expect([first.value, last.value]).toEqual([values[0], values[2]]);
    expect(String(bomb.headers[CUT_HEADER])).toBe(
      `longer than ${MESSAGE} bytes when decompressed (KAFKA_MESSAGE_BYTES)`,
    );
  });

  test.each([GZIP, Snappy, LZ4] as const)(
    'in another codec (%i) is refused with what to do',
    async (type) => {
      await expect(decompress(type, Buffer.from('anything'))).rejects.toThrow(/set compression.type=zstd/);
    },
  );

  test('for which a fetch has no room is left to the next one, which has', async () => {
    const packed = zstdCompressSync(batchOf([zeros(90_000)]));
    onFetchStart();
    for (let i = 0; i < 11; i++) await decompress(ZSTD, packed);
    await expect(decompress(ZSTD, packed)).rejects.toMatchObject({ name: 'KafkaJSPartialMessageError' });
    onFetchStart();
    expect(recordsOf(await decompress(ZSTD, packed), 1)).toHaveLength(1);
  });
});
