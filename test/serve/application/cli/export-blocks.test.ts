import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openTarget } from '../../../../serve/raw-export/open-target.ts';
import { NodeReplay } from '../../../ingest/node/replay.ts';
import { ReplayedChain } from '../../../ingest/node/replayed-chain.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../support/temporary-directory.ts';
import { runHere } from './run-here.ts';

const chain = new ReplayedChain('coretime-westend');
const { number: first } = chain.first;
const last = chain.finalized;
const linesOf = (from = first, to = last) =>
  chain.blocks.filter(({ number }) => number >= from && number <= to).map(({ line }) => `${line}\n`);

let node: NodeReplay;
let place: TemporaryDirectory;
beforeAll(async () => {
  node = await new NodeReplay(chain).listen();
  place = temporaryDirectory();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});
beforeEach(() => {
  chain.prunedBelow = 0;
});

const exportBlocks = (...more: string[]) =>
  runHere(['export-blocks', '--node', node.url(), ...more], { DATA_DIR: place.path });

describe('chain-metrics export-blocks', () => {
  test.each([
    ['blocks.ndjson', (bytes: Buffer) => bytes],
    ['blocks.ndjson.gz', gunzipSync],
    ['blocks.ndjson.zst', zstdDecompressSync],
  ])('writes %s with what Sidecar serves, in the order of heights', async (name, decompress) => {
    const output = join(place.path, name);
    const { code, stdout, stderr } = await exportBlocks('--from', String(first), '--output', output);
    expect(stderr).toContain(`${output}: `);
    expect([code, stdout]).toEqual([0, '']);
    expect(decompress(readFileSync(output)).toString()).toBe(linesOf().join(''));
  });

  test('writes a range', async () => {
    const output = join(place.path, 'range.ndjson');
    const range = ['--from', String(first + 3), '--to', String(first + 9)];
    expect((await exportBlocks(...range, '--output', output)).code).toBe(0);
    expect(readFileSync(output, 'utf8')).toBe(linesOf(first + 3, first + 9).join(''));
  });

  test('leaves out heights of which the node keeps no state, and says so', async () => {
    chain.prunedBelow = first + 4;
    const output = join(place.path, 'pruned.ndjson');
    const { code, stderr } = await exportBlocks('--from', String(first), '--output', output);
    expect(code).toBe(3);
    expect(stderr).toMatch(/heights left out:\n {2}1: .*archive node/);
    const written = readFileSync(output, 'utf8');
    expect(linesOf().join('').endsWith(written)).toBe(true);
    expect(written.split('\n').length).toBeGreaterThan(50);
  });

  test('writes an object of a bucket', async () => {
    const server = await startFauxqs({ port: 0, logger: false });
    server.createBucket('archive');
    const bucket = {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${server.port}`,
      AWS_ACCESS_KEY_ID: 'who',
      AWS_SECRET_ACCESS_KEY: 'secret',
    };
    const output = 's3://archive/blocks/westend.ndjson.zst';
    const range = ['--from', String(first), '--output', output];
    const { code, stderr } = await runHere(['export-blocks', '--node', node.url(), ...range], bucket);
    expect(stderr).toContain(`${output}: `);
    expect(code).toBe(0);
    for (const [name, value] of Object.entries(bucket)) vi.stubEnv(name, value);
    const target = await openTarget('s3://archive/blocks');
    const object = (await target.read('westend.ndjson.zst')) as Buffer;
    expect(zstdDecompressSync(object).toString()).toBe(linesOf().join(''));
    await target.close();
    vi.unstubAllEnvs();
    await server.stop();
  });

  test('refuses another ending and heights above the head', async () => {
    const ending = await exportBlocks('--output', join(place.path, 'blocks.txt'));
    expect([ending.code, ending.stderr]).toEqual([2, expect.stringContaining('.ndjson.zst')]);
    const above = await exportBlocks('--from', String(last + 1), '--output', join(place.path, 'no.ndjson'));
    expect([above.code, above.stderr]).toEqual([2, expect.stringContaining(`finalized head is ${last}`)]);
  });
});
