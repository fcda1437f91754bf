import { Readable } from 'node:stream';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { decompress, readLines, type SourceLine } from '../../../ingest/sources/lines.ts';

const LINE_BYTES = 2 ** 20;

function inChunks(bytes: Buffer, size: number): Readable {
  const chunks: Buffer[] = [];
  for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.subarray(i, i + size));
  return Readable.from(chunks);
}

async function read(bytes: Readable, most = 1000): Promise<SourceLine[]> {
  const lines: SourceLine[] = [];
  for await (const line of readLines(bytes, most)) lines.push({ ...line, bytes: Buffer.from(line.bytes) });
  return lines;
}
const shown = (lines: readonly SourceLine[]) => lines.map(({ number, bytes }) => [number, bytes.toString()]);

describe('lines of a stream', () => {
  const text = '{"a":1}\r\n\n  \t \r\n{"b":"é🦀漢"}\n\r\n{"c":3}';

  test.each([1, 2, 3, 5, 7, 16, 1000])(
    'are the same when the stream comes in pieces of %i bytes',
    async (size) => {
      expect(shown(await read(inChunks(Buffer.from(text), size)))).toEqual([
        [1, '{"a":1}'],
        [4, '{"b":"é🦀漢"}'],
        [6, '{"c":3}'],
      ]);
    },
  );

  test('keep their numbers over empty lines, and the last one needs no end', async () => {
    expect(shown(await read(Readable.from([Buffer.from('\n\na\n')])))).toEqual([[3, 'a']]);
    expect(shown(await read(Readable.from([Buffer.from('\n\na')])))).toEqual([[3, 'a']]);
  });

  test('are none in an empty stream or one of blanks', async () => {
    expect(await read(Readable.from([]))).toEqual([]);
    expect(await read(Readable.from([Buffer.from('\n \n\r\n\t\n')]))).toEqual([]);
  });

  test('lose only the return before their end, not one inside', async () => {
    expect(shown(await read(Readable.from([Buffer.from('a\rb\r\nc\r')])))).toEqual([
      [1, 'a\rb'],
      [2, 'c'],
    ]);
  });

  test('lose the mark of UTF-8 before the first one, and no other', async () => {
    expect(shown(await read(Readable.from([Buffer.from('\ufeff{"a":1}\r\n\ufeff{}\n')])))).toEqual([
      [1, '{"a":1}'],
      [2, '\ufeff{}'],
    ]);
    expect(await read(Readable.from([Buffer.from('\ufeff')]))).toEqual([]);
  });

  test('may come as text', async () => {
    expect(shown(await read(Readable.from(['a\nb', 'c\n'])))).toEqual([
      [1, 'a'],
      [2, 'bc'],
    ]);
  });

  test.each([1, 7, 64, 5000])(
    'that are too long are told with their first bytes, and the next is read (pieces of %i)',
    async (size) => {
      const bytes = Buffer.from(`short\n${'x'.repeat(3000)}\n${'y'.repeat(100)}\n${'z'.repeat(101)}`);
      const lines = await read(inChunks(bytes, size), 100);
      expect(lines.map(({ number, tooLong, bytes }) => [number, tooLong ?? false, bytes.length])).toEqual([
        [1, false, 5],
        [2, true, 100],
        [3, false, 100],
        [4, true, 100],
      ]);
      expect(lines[1]?.bytes.toString()).toBe('x'.repeat(100));
    },
  );

  test('of gigabytes are not held in memory', async () => {
    const piece = Buffer.alloc(2 ** 20, 'x');
    async function* endless() {
      for (let i = 0; i < 2000; i++) yield piece;
      yield Buffer.from('\nlast\n');
    }
    const before = process.memoryUsage().arrayBuffers;
    const lines = await read(Readable.from(endless()), 1000);
    expect(lines.map(({ number, tooLong }) => [number, tooLong ?? false])).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 2 ** 20);
  });
});

describe('archives', () => {
  const text = Array.from(
    { length: 5000 },
    (_, i) => `{"n":${i},"r":"${(i * 2654435761) % 4294967296}"}`,
  ).join('\n');
  const count = async (name: string, bytes: Buffer, size = 10_000) =>
    (await read(decompress(name, inChunks(bytes, size), LINE_BYTES))).length;
  const packs = [
    { name: 'a.ndjson.gz', pack: (bytes: Buffer) => gzipSync(bytes) },
    {
      name: 'a.ndjson.zst',
      pack: (bytes: Buffer) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
    },
  ];

  test('plain files go through as they are', async () => {
    expect(await count('a.ndjson', Buffer.from(text))).toBe(5000);
  });

  test('a file without the ending of its packing is known by its first bytes', async () => {
    for (const { pack } of packs) {
      const packed = Buffer.concat([pack(Buffer.from(text)), pack(Buffer.from('\n{}'))]);
      expect(await count('a.ndjson', packed)).toBe(5001);
      expect(await count('-', pack(Buffer.from('a\nb')), 1)).toBe(2);
    }
    expect(await count('a.ndjson', Buffer.from('a'))).toBe(1);
    expect(await count('a.ndjson', Buffer.alloc(0))).toBe(0);
  });

  test('a reader that stops early lets a plain source go, and hears of its failure', async () => {
    const source = inChunks(Buffer.from(text), 1000);
    for await (const _ of readLines(decompress('a.ndjson', source, LINE_BYTES), 1000)) break;
    await expect.poll(() => source.destroyed).toBe(true);
    const failing = new Readable({
      read() {
        this.destroy(Object.assign(new Error('disk gone'), { code: 'EIO' }));
      },
    });
    await expect(read(decompress('a.ndjson', failing, LINE_BYTES))).rejects.toMatchObject({ code: 'EIO' });
  });

  describe.each(packs)('$name', ({ name, pack }) => {
    const packed = pack(Buffer.from(text));

    test.each([100, 4096, 1_000_000])('is unpacked, in pieces of %i bytes', async (size) => {
      expect(await count(name, packed, size)).toBe(5000);
    });

    test('that were packed one after another are read to the end', async () => {
      const parts = [
        pack(Buffer.from('a\nb\n')),
        pack(Buffer.from('')),
        pack(Buffer.from('c\nd')),
        pack(Buffer.from('e\n')),
      ];
      for (const size of [1, 3, 50, 10_000]) {
        expect(shown(await read(decompress(name, inChunks(Buffer.concat(parts), size), LINE_BYTES)))).toEqual(
          [
            [1, 'a'],
            [2, 'b'],
            [3, 'c'],
            [4, 'de'],
          ],
        );
      }
      expect(await count(name, Buffer.concat([packed, pack(Buffer.from('\n')), packed]))).toBe(10_000);
    });

    const broken = (at: number) => {
      const copy = Buffer.from(packed);
      copy[at] = (copy[at] as number) ^ 0xff;
      return copy;
    };
    test.each([
      ['is cut off', packed.subarray(0, packed.length >> 1)],
      ['is cut off in its head', packed.subarray(0, 5)],
      ['lacks its last byte', packed.subarray(0, -1)],
      ['is empty', Buffer.alloc(0)],
      ['is not packed at all', Buffer.from(text)],
      ['has a flipped byte', broken(packed.length >> 1)],
      ['has a wrong checksum', broken(packed.length - (name.endsWith('gz') ? 6 : 1))],
      ['has garbage behind its end', Buffer.concat([packed, Buffer.from('garbage')])],
      ['is cut off in its second part', Buffer.concat([packed, packed.subarray(0, packed.length >> 1)])],
    ])('that %s fails with a code of the archive', async (_title, bytes) => {
      await expect(count(name, bytes)).rejects.toMatchObject({ code: expect.stringMatching(/^(Z_|ZSTD_)/) });
    });

    test('what stands before the damage is read first', async () => {
      const lines: SourceLine[] = [];
      const large = pack(Buffer.from(Array.from({ length: 20 }, () => text).join('\n')));
      await expect(async () => {
        const stream = decompress(name, inChunks(large.subarray(0, large.length - 100), 4096), LINE_BYTES);
        for await (const line of readLines(stream, 1000)) lines.push(line);
      }).rejects.toThrow();
      expect(lines.length).toBeGreaterThan(1000);
    });

    test('a failure of the source is the reader’s, as it was', async () => {
      const source = new Readable({
        read() {
          this.destroy(Object.assign(new Error('disk gone'), { code: 'EIO' }));
        },
      });
      await expect(read(decompress(name, source, LINE_BYTES))).rejects.toMatchObject({ code: 'EIO' });
    });

    test('a reader that stops early lets the source go', async () => {
      const source = inChunks(pack(Buffer.from(Array.from({ length: 50 }, () => text).join('\n'))), 1000);
      for await (const _ of readLines(decompress(name, source, LINE_BYTES), 1000)) break;
      await vi.waitFor(() => expect(source.destroyed).toBe(true));
    });
  });
});
