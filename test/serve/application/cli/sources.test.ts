import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { type FakeOptions, FakeSidecar, recordedBlocks } from '../../../ingest/sources/fake-sidecar.ts';
import { contentOf, differences } from '../../../support/content.ts';
import { ingestAndCompute, openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { begin, linesOf, serve } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const directory = (name: string) => ({ DATA_DIR: join(place.path, name) });

const chains = { relay: 'polkadot', hub: 'asset-hub-polkadot' } as const;
const blocksOf = { relay: recordedBlocks(chains.relay), hub: recordedBlocks(chains.hub) };
const rangeOf = (blocks: ReadonlyMap<number, string>) => ({
  from: Math.min(...blocks.keys()),
  to: Math.max(...blocks.keys()),
});

async function fakeOf(blocks: ReadonlyMap<number, string>, options?: FakeOptions): Promise<FakeSidecar> {
  const fake = await new FakeSidecar([...blocks.values()], options).listen();
  onTestFinished(() => fake[Symbol.asyncDispose]());
  return fake;
}

/** Prices of two days, as CoinGecko's chart has them. */
const CLOSES = ['2024-01-01T23:03:11.331Z', '2024-01-02T23:59:59.000Z'];
const USD = '8.30000000000000000000000000001';
const priceLines = CLOSES.map((as_of) => ({
  line: `{"schema":"snapshot/1","kind":"price","relay_chain":"polkadot","chain":"polkadot","as_of":"${as_of}","payload":{"symbol":"DOT","usd":${USD}}}`,
  chain: chains.relay,
}));
async function priceFeed(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, answer) => {
    asked.push(url);
    const query = new URL(url, 'http://feed').searchParams;
    const points = CLOSES.map((time) => Date.parse(time))
      .filter((time) => time >= Number(query.get('from')) * 1000 && time <= Number(query.get('to')) * 1000)
      .map((time) => `[${time},${USD}]`);
    answer.end(`{"prices":[${points}]}`);
  });
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
const feedAt = (url: string) =>
  `prices:\n  - { adapter: coingecko, url: '${url}', from: 2024-01-01, to: 2024-01-03, ids: { polkadot: polkadot } }\n`;

async function contentAt({ DATA_DIR }: { DATA_DIR: string }, lines: { line: string; chain: string }[] = []) {
  const pipeline = await openPipelineAt(DATA_DIR);
  try {
    if (lines.length > 0) await ingestAndCompute(pipeline, lines);
    await pipeline.aggregator.waitUntilComputed();
    return await contentOf(pipeline);
  } finally {
    await pipeline.close();
  }
}

it('loads several chains beside one whose source is dead, is killed, goes on, and ends as a plain ingest', async () => {
  const relay = await fakeOf(blocksOf.relay);
  // The beginning of a chain is in an archive, the rest behind a polkadot-rest-api.
  const hub = await fakeOf(blocksOf.hub, { root: '/v1', specName: 'statemint' });
  const archived = [...blocksOf.hub.values()].slice(0, 10);
  // A file may bear the name of its own chain.
  writeFileSync(join(place.path, 'statemint.ndjson.gz'), gzipSync(archived.join('\n')));
  const feed = await priceFeed();
  const file = join(place.path, 'sources.yaml');
  writeFileSync(
    file,
    `${feedAt(feed.url)}chains:
  - chain: coretime-polkadot
    sources: [{ url: http://127.0.0.1:9 }]
  - chain: polkadot
    from: ${rangeOf(blocksOf.relay).from}
    to: ${rangeOf(blocksOf.relay).to}
    sources: [{ url: '${relay.url}', concurrency: 2 }]
  - chain: statemint
    from: ${rangeOf(blocksOf.hub).from}
    to: ${rangeOf(blocksOf.hub).to}
    sources: [{ archive: statemint.ndjson.gz }, { url: '${hub.url}' }]
`,
  );
  const at = directory('several');
  // So small that what was fetched is loaded a few blocks at a time.
  const env = { ...at, BATCH_BYTES: '12000' };
  const killed = begin(['backfill', '--sources', file], { env });
  const ended = new Promise((resolve) => killed.once('close', (_code, signal) => resolve(signal)));
  relay.onRequest = () => void (relay.asked.length >= 30 && killed.kill('SIGKILL'));
  expect(await ended).toBe('SIGKILL');
  relay.onRequest = () => undefined;

  relay.asked.length = 0;
  const { code, stdout } = await runHere(['backfill', '--sources', file], at);
  const [heading, ...lines] = linesOf(stdout);
  expect(heading).toMatch(/^chain +heights +blocks +refused +missing +skipped$/);
  const missing = (name: string, from: number, to: number) =>
    expect.stringMatching(new RegExp(`^${name} +${from} to ${to} +\\d+ +0 +0 +0$`));
  expect(lines).toEqual([
    expect.stringMatching(/^coretime-polkadot +0 +0 +\? +0$/),
    missing(chains.relay, rangeOf(blocksOf.relay).from, rangeOf(blocksOf.relay).to),
    missing(chains.hub, rangeOf(blocksOf.hub).from, rangeOf(blocksOf.hub).to),
    expect.stringMatching(/^value +of +feed +days missing$/),
    expect.stringMatching(/^price +DOT +coingecko +1$/),
    expect.stringMatching(/^polkadot: its genesis block was not compared/),
    expect.stringMatching(/^asset-hub-polkadot: its genesis block was not compared/),
    expect.stringMatching(/^coretime-polkadot: http:\/\/127.0.0.1:9 is neither .* cannot be reached/),
    expect.stringMatching(/gaps` for missing data and .*dead-letters list` for refused input$/),
    expect.stringMatching(/^in .*, metrics included$/),
  ]);
  expect(code).toBe(1);
  expect(relay.asked.length).toBeLessThan(blocksOf.relay.size);
  const wanted = [
    ...priceLines,
    ...[...blocksOf.relay.values()].map((line) => ({ line, chain: chains.relay })),
    ...[...blocksOf.hub.values()].map((line) => ({ line, chain: chains.hub })),
  ];
  const plain = await contentAt(directory('plain'), wanted);
  expect(differences(await contentAt(at), plain)).toEqual([]);

  // Once more, beside a server: nothing is asked for, and nothing changes.
  const asked = () => relay.asked.length + hub.asked.length;
  feed.asked.length = 0;
  const before = asked();
  const server = await serve([], { ...at, STOP_SECONDS_MAX: '10' });
  const again = await runHere(['backfill', '--sources', file, '--json'], at);
  const dry = await runHere(['backfill', '--sources', file, '--dry-run'], at);
  expect((await server.end('SIGTERM')).code).toBe(0);
  expect([again.code, asked()]).toEqual([1, before]);
  const report = JSON.parse(again.stdout);
  expect(report).toMatchObject({
    values: [{ kind: 'price', adapter: 'coingecko', chain: 'polkadot', symbol: 'DOT', missing_days: 1 }],
    failures: [],
    refused_values: 0,
    failed_metrics: [],
  });
  const day = Date.parse('2024-01-03') / 1000;
  expect(feed.asked).toEqual([expect.stringContaining(`from=${day}&to=${day + 86_399}&`)]);
  expect(report.chains).toMatchObject([
    { chain: 'coretime-polkadot', missing: null, failures: [{ source: 'http://127.0.0.1:9' }] },
    { chain: 'polkadot', blocks: 0, refused: 0, missing: 0, failures: [] },
    { chain: 'asset-hub-polkadot', blocks: 0, refused: 0, missing: 0, failures: [] },
  ]);
  expect(linesOf(dry.stdout)).toEqual([
    expect.stringMatching(/^coretime-polkadot: http:\/\/127.0.0.1:9 is neither/),
    expect.stringMatching(/^0 blocks of polkadot missing between \d+ and \d+$/),
    expect.stringMatching(/^0 blocks of asset-hub-polkadot missing between \d+ and \d+$/),
    expect.stringMatching(/^value/),
    expect.stringMatching(/^price +DOT +coingecko +1$/),
  ]);
  expect(differences(await contentAt(at), plain)).toEqual([]);
});

it('follows several chains and a feed, and another source of a chain in place of one that is away', async () => {
  const relay = await fakeOf(blocksOf.relay);
  const hub = await fakeOf(blocksOf.hub, { root: '/v1', specName: 'statemint' });
  const feed = await priceFeed();
  const file = join(place.path, 'follow.json');
  const follow = {
    chains: [
      { chain: 'polkadot', sources: [{ url: 'http://127.0.0.1:9' }, { url: relay.url }] },
      { chain: 'asset-hub-polkadot', sources: [{ url: hub.url }] },
      { chain: 'kusama', sources: [{ url: hub.url }] },
      { chain: 'moonbeam', sources: [{ archive: 'moonbeam.ndjson' }] },
    ],
    prices: [
      {
        ...{ adapter: 'coingecko', url: feed.url, from: '2024-01-01', to: '2024-01-03' },
        ids: { polkadot: 'polkadot' },
      },
    ],
  };
  writeFileSync(file, JSON.stringify(follow));
  const at = directory('followed');
  const child = begin(['follow', '--sources', file, '--json', '--poll-ms', '20'], { env: at });
  let said = '';
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
  child.stdout?.on('data', (piece) => {
    said += piece;
    const isWhole = ['polkadot: 1 block', 'asset-hub-polkadot: 1 block', 'price: 2 days'].every((text) =>
      said.includes(`"${text}"`),
    );
    if (isWhole) child.kill('SIGTERM');
  });
  expect(await ended).toBe(0);
  const texts = linesOf(said).map((line) => JSON.parse(line).text);
  for (const text of [
    /^polkadot: stopped following this service: http:\/\/127.0.0.1:9 is neither/,
    /^polkadot: following polkadot at http/,
    /^asset-hub-polkadot: following asset-hub-polkadot at http/,
    /^kusama: not followed: .* serves the runtime statemint/,
    /^moonbeam: not followed: add a node or url to its sources$/,
    /^stopped$/,
  ]) {
    expect(texts).toContainEqual(expect.stringMatching(text));
  }
  const heads = [
    { line: relay.at(relay.finalized), chain: chains.relay },
    { line: hub.at(hub.finalized), chain: chains.hub },
  ];
  const plain = await contentAt(directory('heads'), [...priceLines, ...heads]);
  expect(differences(await contentAt(at), plain)).toEqual([]);
});

it('says what is wrong with the options or the file', async () => {
  const file = join(place.path, 'wrong.yaml');
  writeFileSync(file, 'chains:\n  - chain: polkadott\n    sources: [{ url: http://a }]\n');
  const env = directory('untouched');
  const wrong: [options: string[], says: RegExp][] = [
    [
      ['--sources', file],
      /wrong.yaml:2: chains\[0\]\.chain: no chain is called polkadott: did you mean polkadot\?/,
    ],
    [
      ['--sources', file, '--chain', 'polkadot'],
      /option '--sources <file>' cannot be used with option '--chain <name>'/,
    ],
    [['--chain', 'polkadot'], /pass --node, or --url and --chain, or --sources FILE/],
  ];
  for (const [options, says] of wrong) {
    const { code, stderr } = await runHere(['backfill', ...options], env);
    expect(linesOf(stderr)[0]).toMatch(says);
    expect(code).toBe(2);
  }
});
