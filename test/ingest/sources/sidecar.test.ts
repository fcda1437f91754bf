import { afterEach, describe, expect, it } from 'vitest';
import { type FetchedHeight, fetchHeights } from '../../../ingest/backfill/fetch-heights.ts';
import { openSource } from '../../../ingest/backfill/open-source.ts';
import { Sidecar } from '../../../ingest/sources/sidecar.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { type FakeOptions, FakeSidecar, type Fault, recordedBlocks } from './fake-sidecar.ts';

const recorded = recordedBlocks('polkadot');
const heights = [...recorded.keys()];
const [first, second] = heights as [number, number];
const QUICK = { backoffMs: 1, timeoutMs: 400 };

let fake: FakeSidecar;
afterEach(() => fake[Symbol.asyncDispose]());
async function serveFake(options?: FakeOptions): Promise<FakeSidecar> {
  fake = await new FakeSidecar([...recorded.values()], options).listen();
  return fake;
}

describe('finding the service', () => {
  it.each(['', '/v1'])('knows a service with its routes under "%s"', async (root) => {
    const { url } = await serveFake({ root, specName: 'statemint' });
    const sidecar = await Sidecar.connect(`${url}/`, QUICK);
    expect(sidecar.specName).toBe('statemint');
    expect((await sidecar.block(first)).toString()).toBe(recorded.get(first));
    expect(await sidecar.head()).toMatchObject({ number: heights.at(-1) });
    // The public addresses of the successor are given with their prefix.
    expect((await Sidecar.connect(`${url}${root}/`, QUICK)).specName).toBe('statemint');
  });

  it('takes the blocks of a service that does not tell its network, and says so', async () => {
    const { url } = await serveFake();
    fake.fail(/material/, 'silent', 2);
    const open = () => openSource({ url, chain: 'polkadot' }, readConfig({}), { ...QUICK, timeoutMs: 50 });
    const says = 'its genesis block was not compared with that of polkadot: ';
    expect((await open()).unchecked).toMatch(
      new RegExp(`^${says}.*material\\S+ did not answer within 0.05 s`),
    );
    expect((await open()).unchecked).toMatch(new RegExp(`^${says}.*material\\S+ answered 404`));
  });

  it('says in one line what is wrong with the address', async () => {
    const { url } = await serveFake();
    await expect(Sidecar.connect(`${url}/elsewhere`, QUICK)).rejects.toThrow(
      /elsewhere is neither a Sidecar nor a polkadot-rest-api: .*\/runtime\/spec answered 404: .*no such route/,
    );
    fake.fail(/spec/, 'page', 9);
    await expect(Sidecar.connect(url, QUICK)).rejects.toThrow(/\/runtime\/spec did not return JSON/);
    await expect(Sidecar.connect('http://127.0.0.1:9', QUICK)).rejects.toThrow(
      /cannot be reached: .*(ECONNREFUSED|bad port)/,
    );
  });
});

describe('a request', () => {
  it('takes no more of an answer than the longest line', async () => {
    const { url } = await serveFake();
    const bodyBytes = Buffer.byteLength(recorded.get(first) as string);
    const sidecar = await Sidecar.connect(url, { ...QUICK, bodyBytes });
    expect((await sidecar.block(first)).length).toBe(bodyBytes);
    const short = await Sidecar.connect(url, { ...QUICK, bodyBytes: bodyBytes - 1 });
    await expect(short.block(first)).rejects.toThrow(/answered more than \d+ bytes \(LINE_BYTES_MAX\)/);
  });

  it.each<Fault>(['500', '429', 'dropped', 'cut', 'silent', 'page', 'other block'])(
    'is made again after: %s',
    async (fault) => {
      const sidecar = await Sidecar.connect((await serveFake()).url, QUICK);
      fake.fail(/blocks/, fault, 2);
      expect((await sidecar.block(first)).toString()).toBe(recorded.get(first));
    },
  );

  it.each([
    ['', /\/blocks\/7 answered 404: .*Block 7 not found/],
    ['/v1', /\/v1\/blocks\/7 answered 400: .*Block resolution failed/],
  ])('is not made again when the service under "%s" refuses it', async (root, says) => {
    const sidecar = await Sidecar.connect((await serveFake({ root })).url, QUICK);
    await expect(sidecar.block(7)).rejects.toThrow(says);
    expect(fake.asked).toEqual([7]);
  });

  it('is given up after so many tries, and at once when it is told to stop', async () => {
    const stop = new AbortController();
    const sidecar = await Sidecar.connect((await serveFake()).url, {
      ...QUICK,
      attempts: 3,
      signal: stop.signal,
    });
    let requests = 0;
    fake.onRequest = () => requests++;
    fake.fail(/blocks/, '500', 99);
    await expect(sidecar.block(first)).rejects.toThrow(/answered 500: .*made to fail/);
    expect(requests).toBe(3);
    fake.recover();
    fake.fail(/blocks/, 'silent');
    fake.onRequest = () => stop.abort();
    await expect(sidecar.block(first)).rejects.toThrow(/abort/);
  });

  it('gives a block in one line however it is laid out', async () => {
    const sidecar = await Sidecar.connect((await serveFake()).url, QUICK);
    fake.isPretty = true;
    const line = (await sidecar.block(first)).toString();
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toEqual(JSON.parse(recorded.get(first) as string));
  });
});

describe('many blocks', () => {
  const linesOf = async (blocks: AsyncIterable<FetchedHeight>) =>
    (await Array.fromAsync(blocks)).map((fetched) =>
      'line' in fetched ? String(fetched.line) : fetched.reason,
    );

  it('come in order, several at a time and no more than that', async () => {
    const sidecar = await Sidecar.connect((await serveFake()).url, QUICK);
    fake.delayMs = 3;
    const ranges = [
      { from: second, to: second + 9 },
      { from: first, to: first },
    ];
    const lines = await linesOf(fetchHeights(sidecar, ranges, 4));
    expect(lines).toEqual([...heights.slice(1, 11), first].map((height) => recorded.get(height)));
    expect(fake.mostAtOnce).toBeGreaterThan(1);
    expect(fake.mostAtOnce).toBeLessThanOrEqual(4);
  });

  it('are not fetched ahead of a reader who takes his time', async () => {
    const sidecar = await Sidecar.connect((await serveFake()).url, QUICK);
    const fetched = fetchHeights(sidecar, [{ from: first, to: first + 60 }], 2);
    await fetched.next();
    await new Promise((later) => setTimeout(later, 50));
    expect(fake.asked.length).toBeLessThan(10);
    await fetched.return(undefined);
  });
});
