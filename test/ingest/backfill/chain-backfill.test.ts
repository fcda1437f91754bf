import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type BackfillTarget,
  type BlockOrigin,
  ChainBackfill,
  type ChainPlan,
} from '../../../ingest/backfill/chain-backfill.ts';
import { FairShare } from '../../../ingest/backfill/fair-share.ts';
import { GENESIS } from '../../../ingest/chains/genesis.ts';
import { loadRegistry } from '../../../ingest/chains/registry.ts';
import { type HeightRange, rangesOf } from '../../../ingest/sources/heights.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type FakeOptions, FakeSidecar, recordedBlocks } from '../sources/fake-sidecar.ts';

const recorded = recordedBlocks('polkadot');
const heights = [...recorded.keys()].sort((a, b) => a - b);
const [first, last] = [heights[0] as number, heights.at(-1) as number];
const registry = loadRegistry();
const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

async function fakeOf(options?: FakeOptions): Promise<FakeSidecar> {
  const fake = await new FakeSidecar([...recorded.values()], options).listen();
  onTestFinished(() => fake[Symbol.asyncDispose]());
  return fake;
}

/** A store that knows heights only. */
class Heap implements BackfillTarget {
  readonly stored = new Set<number>();
  readonly noted = new Map<number, string>();
  /** Lines as they were loaded, by their number where they come from a file. */
  readonly lines: (readonly [number | undefined, string])[] = [];

  async missing({ from, to, withoutSkipped = false }: HeightRange & { withoutSkipped?: boolean }) {
    return rangesOf(
      heights
        .filter((height) => height >= from && height <= to && !this.stored.has(height))
        .filter((height) => !(withoutSkipped && this.noted.has(height))),
    );
  }

  async skipped() {
    const open = [...this.noted].filter(([number]) => !this.stored.has(number));
    return open.map(([number, reason]) => ({
      ...{ relay_chain: 'polkadot', chain: 'polkadot', number, reason, tries: 1 },
      ...{ first_tried_at: '', last_tried_at: '' },
    }));
  }

  async storedDays() {
    return [];
  }

  async noteSkipped(_chain: string, unserved: readonly { number: number; reason: string }[]) {
    for (const { number, reason } of unserved) this.noted.set(number, reason);
  }

  load(text: string, firstLine: number | undefined): void {
    text.split('\n').forEach((line, i) => {
      if (line.trim() === '') return;
      this.lines.push([firstLine === undefined ? undefined : firstLine + i, line]);
      const [, height] = /^\{"number":"(\d+)"/.exec(line) ?? [];
      if (height) this.stored.add(Number(height));
    });
  }
}

function backfillOf(
  sources: readonly BlockOrigin[],
  plan: Partial<ChainPlan> = {},
  { portionBytes = 100_000, bytesMax = 1e9 } = {},
) {
  const chain = registry.find('polkadot');
  if (!chain) throw new Error('no polkadot');
  const share = new FairShare({ requestsMax: 8, bytesMax });
  const around = {
    registry,
    config: readConfig({}),
    share,
    portionBytes,
    signal: new AbortController().signal,
  };
  return new ChainBackfill({ chain, from: { height: first }, sources, ...plan }, around);
}

async function run(backfill: ChainBackfill, heap = new Heap()): Promise<Heap> {
  for await (const { lines, firstLine } of backfill.portions(heap)) {
    heap.load(Buffer.concat(lines).toString(), firstLine);
  }
  return heap;
}

const at = (url: string): BlockOrigin => ({ url, concurrency: 4 });
const faultsOf = ({ faults }: ChainBackfill) => faults.map(({ error }) => error.message);
const packed = (some: readonly number[]) => some.map((height) => recorded.get(height)).join('\n');
function archiveOf(name: string, bytes: string | Buffer): BlockOrigin {
  const path = join(place.path, name);
  writeFileSync(path, bytes);
  return { archive: path };
}

describe('the sources of a chain', () => {
  it('are asked one after another for what those before did not give', async () => {
    const [hole, away] = [first + 5, last - 9];
    const [dead, lacking, whole] = ['http://127.0.0.1:9', await fakeOf(), await fakeOf({ root: '/v1' })];
    lacking.fail(new RegExp(`blocks/${hole}$`), '404', 99);
    lacking.fail(new RegExp(`blocks/${away}$`), '404', 99);
    const backfill = backfillOf([at(dead), at(lacking.url), at(whole.url)]);
    const heap = await run(backfill);
    expect([...heap.stored].sort((a, b) => a - b)).toEqual(heights);
    expect(whole.asked.filter((height) => height !== last)).toEqual([hole, away]);
    expect(faultsOf(backfill)).toEqual([expect.stringMatching(/127.0.0.1:9 is neither/)]);
    expect(backfill.range).toEqual({ from: first, to: last });
    expect(backfill.fetchedCount).toBe(heights.length);
  });

  it('may lack a range whose heads together are more than is held of answers', async () => {
    const lacking = await fakeOf();
    const cut = heights[Math.floor(heights.length * 0.6)] as number;
    for (const height of heights) {
      if (height < cut) lacking.fail(new RegExp(`blocks/${height}$`), '404', 99);
    }
    const heap = await run(backfillOf([at(lacking.url)], {}, { portionBytes: 15_000, bytesMax: 60_000 }));
    expect([...heap.stored].sort((a, b) => a - b)).toEqual(heights.filter((height) => height >= cut));
    expect([...heap.noted.keys()]).toEqual(heights.filter((height) => height < cut));
    // Heights that were asked for at the same time share the block that tells of the source.
    expect(lacking.asked.filter((height) => height === last).length).toBeLessThan(heap.noted.size / 2);
  });

  it('are left alone once nothing of the range is missing', async () => {
    const fake = await fakeOf();
    const heap = new Heap();
    for (const height of heights) heap.stored.add(height);
    const backfill = backfillOf([at('http://127.0.0.1:9'), at(fake.url)], { to: { height: last } });
    await run(backfill, heap);
    expect([fake.asked, faultsOf(backfill)]).toEqual([[], []]);
  });

  it('that serve another chain are refused, and the next one is asked', async () => {
    const beginningWith = (genesisHash: string) =>
      fakeOf({ documents: { '/transaction/material': { genesisHash } } });
    const other = await fakeOf({ specName: 'kusama' });
    const [fork, own] = [await beginningWith('0x0'), await beginningWith(GENESIS.polkadot as string)];
    const [shortFork, short] = [await beginningWith('0x91b1…0000'), await beginningWith('0x91b1…90c3')];
    const backfill = backfillOf([other, fork, shortFork, own].map(({ url }) => at(url)));
    expect((await run(backfill)).stored.size).toBe(heights.length);
    expect([...other.asked, ...fork.asked, ...shortFork.asked]).toEqual([]);
    expect(faultsOf(backfill)).toEqual([
      expect.stringMatching(/serves the runtime kusama \(kusama\), not polkadot/),
      expect.stringMatching(/has the genesis block 0x0, but that of polkadot is 0x91b1/),
      expect.stringMatching(/has the genesis block 0x91b1…0000/),
    ]);
    expect((await run(backfillOf([at(short.url)]))).stored.size).toBe(heights.length);
  });

  it('that die in the middle give what they gave', async () => {
    const [dying, whole] = [await fakeOf(), await fakeOf()];
    dying.onRequest = () => {
      if (dying.asked.length >= 20) dying.fail(/./, '404', 999);
    };
    const heap = await run(backfillOf([at(dying.url), at(whole.url)]));
    expect(heap.stored.size).toBe(heights.length);
    expect(whole.asked.length).toBeLessThan(heights.length - 10);
  });

  it('give the blocks of days', async () => {
    const fake = await fakeOf();
    const timeOf = (height: number) => Number(/"now":"(\d+)"/.exec(recorded.get(height) as string)?.[1]);
    const day = (time: number) => Math.floor(time / 86_400_000) * 86_400_000;
    const from = day(timeOf(heights[20] as number));
    const within = heights.filter((height) => timeOf(height) >= from && timeOf(height) < from + 86_400_000);
    // Below the first recorded block are those of long ago.
    fake.onRequest = (path) => {
      const [, height] = /blocks\/(\d+)$/.exec(path) ?? [];
      if (height && Number(height) < first) fake.put(blockAt(Number(height)));
    };
    const backfill = backfillOf([at(fake.url)], { from: { time: from }, to: { time: from + 86_400_000 } });
    const heap = await run(backfill);
    expect([...heap.stored].sort((a, b) => a - b)).toEqual(within);
  });

  it('that lack old blocks are asked for heights: days are looked for in all of the history', async () => {
    const fake = await fakeOf();
    const backfill = backfillOf([at(fake.url)], { from: { time: Date.UTC(2021, 0, 1) } });
    expect((await run(backfill)).stored.size).toBe(0);
    expect(faultsOf(backfill)).toEqual([
      expect.stringMatching(/answered 404: .*; use heights in place of days if /),
    ]);
  });
});

/** A block of long ago. */
const blockAt = (number: number) =>
  JSON.stringify({
    ...{ number: String(number), hash: `0x${String(number).padStart(64, '0')}` },
    extrinsics: [{ method: { pallet: 'timestamp', method: 'set' }, args: { now: String(1e12 + number) } }],
  });

describe('an archive', () => {
  const some = heights.slice(0, 12);

  it.each([
    ['polkadot.ndjson', (text: string) => text],
    ['polkadot.ndjson.gz', (text: string) => gzipSync(text)],
    ['part.ndjson.zst', (text: string) => zstdCompressSync(text)],
  ])('gives what is missing, with its place in the file: %s', async (name, pack) => {
    const heap = new Heap();
    for (const height of some.slice(3, 9)) heap.stored.add(height);
    const text = `${packed(some)}\n{"schema":"snapshot/1"}\n`;
    await run(backfillOf([archiveOf(name, pack(text))], {}, { portionBytes: 1 }), heap);
    expect(heap.lines.map(([number]) => number)).toEqual([1, 2, 3, 10, 11, 12, 13]);
    expect(heap.lines.map(([, line]) => line)).toEqual(
      text.split('\n').filter((_, i) => i < 3 || (i > 8 && i < 13)),
    );
  });

  it('gives the blocks of a range of heights, or of days', async () => {
    const source = archiveOf('range.ndjson', packed(some));
    const heap = await run(
      backfillOf([source], { from: { height: some[2] as number }, to: { height: some[4] as number } }),
    );
    expect([...heap.stored]).toEqual(some.slice(2, 5));
    expect((await run(backfillOf([source], { from: { time: Date.now() * 2 } }))).stored.size).toBe(0);
    expect((await run(backfillOf([source], { from: { time: 1 } }))).stored.size).toBe(some.length);
  });

  it('that is named after another chain, is broken or not there is refused, and the next source is asked', async () => {
    const fake = await fakeOf();
    const broken = gzipSync(packed(heights)).subarray(0, -20);
    const backfill = backfillOf([
      archiveOf('kusama.ndjson', packed(some)),
      { archive: join(place.path, 'none.ndjson') },
      archiveOf('cut.ndjson.gz', broken),
      at(fake.url),
    ]);
    expect((await run(backfill)).stored.size).toBe(heights.length);
    expect(faultsOf(backfill)).toEqual([
      expect.stringMatching(/kusama.ndjson is named after kusama, not polkadot/),
      expect.stringMatching(/none.ndjson does not exist/),
      expect.stringMatching(/cut.ndjson.gz cannot be read completely: unexpected end of file/),
    ]);
  });

  it('behind an address is read again when it breaks off, past what is stored', async () => {
    const bytes = Buffer.from(packed(heights));
    let requests = 0;
    const server = createServer((_request, answer) => {
      requests++;
      answer.writeHead(200, { 'content-length': bytes.length });
      if (requests > 1) return void answer.end(bytes);
      answer.write(bytes.subarray(0, bytes.length / 2), () => answer.destroy());
    });
    await new Promise<void>((listening) => {
      server.listen(0, '127.0.0.1', listening);
    });
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const backfill = backfillOf(
      [{ archive: `http://127.0.0.1:${port}/polkadot.ndjson?part=1` }],
      {},
      { portionBytes: 1 },
    );
    const heap = await run(backfill);
    expect([...heap.stored].sort((a, b) => a - b)).toEqual(heights);
    expect(heap.lines.length).toBe(heights.length);
    expect([requests, faultsOf(backfill)]).toEqual([2, []]);
  });
});
