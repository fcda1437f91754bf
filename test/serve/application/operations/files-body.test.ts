import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { packFiles, unpackFiles } from '../../../../serve/application/operations/files-body.ts';

const FILES = [
  { name: 'kusama.ndjson', pieces: ['{"a":1}\n', '', '{"b":2}'] },
  { name: 'größe/empty.ndjson.gz', pieces: [] },
  { name: 'last.json', pieces: ['x'.repeat(30_000), 'y'] },
];

const packed = () =>
  buffer(
    packFiles(
      FILES.map(({ name, pieces }) => ({
        name,
        bytes: Readable.from(pieces.map((piece) => Buffer.from(piece))),
      })),
    ),
  );

/** The same bytes, cut at other places. */
const cut = (bytes: Buffer, length: number) =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / length) }, (_, i) =>
      bytes.subarray(i * length, (i + 1) * length),
    ),
    { objectMode: false },
  );

async function unpacked(body: Readable): Promise<object[]> {
  const files: object[] = [];
  for await (const { name, bytes } of unpackFiles(body)) {
    files.push({ name, pieces: [(await buffer(bytes)).toString()] });
  }
  return files;
}

const WHOLE = FILES.map(({ name, pieces }) => ({ name, pieces: [pieces.join('')] }));

it('gives the files that were packed, wherever their bytes are cut', async () => {
  const bytes = await packed();
  for (const length of [7, 1000, bytes.length]) expect(await unpacked(cut(bytes, length))).toEqual(WHOLE);
});

it('passes over what nobody reads of a file', async () => {
  const names: string[] = [];
  for await (const { name, bytes } of unpackFiles(cut(await packed(), 1000))) {
    names.push(name);
    // As a reader that gives a file up after its first piece.
    for await (const _ of bytes) break;
  }
  expect(names).toEqual(FILES.map(({ name }) => name));
});

it('refuses a body that ends within a file', async () => {
  const bytes = await packed();
  for (const length of [2, 10, 20, 22, bytes.length - 5, bytes.length - 1]) {
    await expect(unpacked(cut(bytes.subarray(0, length), 500))).rejects.toThrow('it ends within a file');
  }
  await expect(unpacked(cut(Buffer.alloc(8, 0xff), 8))).rejects.toThrow('it ends within a file');
});

it('tells that a body failed, also where the reader had given the file up', async () => {
  const bytes = await packed();
  async function* failing() {
    yield bytes.subarray(0, 1000);
    throw new Error('the disk failed');
  }
  const read = async () => {
    for await (const { bytes } of unpackFiles(Readable.from(failing()))) for await (const _ of bytes) break;
  };
  await expect(read()).rejects.toThrow('the disk failed');
});
