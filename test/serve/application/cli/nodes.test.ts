import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { CHAINS, type RecordedChain } from '../../../ingest/node/decode/recorded.ts';
import { NodeReplay } from '../../../ingest/node/replay.ts';
import { ReplayedChain } from '../../../ingest/node/replayed-chain.ts';
import { type Content, contentOf, differences } from '../../../support/content.ts';
import { ingestAndCompute, openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { begin, linesOf, serve } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

/** The networks of the recordings begin with the same block. */
function chainsFile(name: RecordedChain): string {
  const path = join(place.path, `${name}.json`);
  const known = {
    relay_chain: 'solo',
    ss58_prefix: 42,
    token: 'PAS',
    decimals: 10,
    genesis: `0x${'00'.repeat(32)}`,
  };
  writeFileSync(path, JSON.stringify([{ ...known, name: `replayed-${name}` }]));
  return path;
}

const settingsOf = (name: RecordedChain, directory: string) => ({
  DATA_DIR: join(place.path, `${directory}-${name}`),
  CHAINS_FILE: chainsFile(name),
});
type Settings = ReturnType<typeof settingsOf>;

async function nodeOf(chain: ReplayedChain): Promise<NodeReplay> {
  const replay = await new NodeReplay(chain).listen();
  onTestFinished(() => replay[Symbol.asyncDispose]());
  return replay;
}

async function contentAt(
  { DATA_DIR, ...settings }: Settings,
  lines: readonly string[] = [],
  chain = '',
): Promise<Content> {
  const pipeline = await openPipelineAt(DATA_DIR, undefined, settings);
  try {
    await ingestAndCompute(
      pipeline,
      lines.map((line) => ({ line, chain })),
    );
    return await contentOf(pipeline);
  } finally {
    await pipeline.close();
  }
}

const sidecarContent = (name: RecordedChain, { blocks }: ReplayedChain) =>
  contentAt(
    settingsOf(name, 'sidecar'),
    blocks.map(({ line }) => line),
    `replayed-${name}`,
  );

it.each(CHAINS)('backfill --node gives %s the rows of what Sidecar serves', async (name) => {
  const chain = new ReplayedChain(name);
  const replay = await nodeOf(chain);
  const at = settingsOf(name, 'node');
  const args = ['backfill', '--node', replay.url(), '--from', String(chain.first.number)];
  const { code, stdout, stderr } = await runHere(args, at);
  expect(stderr).not.toMatch(/key-of-a-provider/);
  expect(stdout).toMatch(new RegExp(`^${chain.blocks.length} blocks in .*metrics included; 0 refused$`, 'm'));
  expect(code).toBe(0);
  expect(differences(await contentAt(at), await sidecarContent(name, chain))).toEqual([]);
});

it('is killed while it reads a node, and goes on with the rest', async () => {
  const name = 'paseo';
  const chain = new ReplayedChain(name);
  const replay = await nodeOf(chain);
  // So small that what was fetched is loaded a few blocks at a time.
  const at = { ...settingsOf(name, 'killed'), BATCH_BYTES: '12000' };
  const args = [
    'backfill',
    '--node',
    replay.url('http'),
    '--from',
    String(chain.first.number),
    '--concurrency',
    '4',
  ];
  const asked: unknown[] = [];
  let kill = () => {};
  replay.answerInstead = ({ method, params }) => {
    if (method === 'chain_getBlock') asked.push(params[0]);
    if (asked.length >= 24) kill();
    return undefined;
  };
  const child = begin(args, { env: at });
  kill = () => void child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
  kill = () => {};
  const before = asked.splice(0);
  expect(before.length).toBeLessThan(40);
  const { code } = await runHere(args, at);
  expect(code).toBe(0);
  // Some were stored, and are not asked for again.
  expect(asked.length).toBeLessThan(chain.blocks.length);
  expect(differences(await contentAt(at), await sidecarContent(name, chain))).toEqual([]);
});

it('asks the next node for what the first one has pruned, and says what each of them lacks', async () => {
  const name = 'asset-hub-paseo';
  const chain = new ReplayedChain(name);
  const young = new ReplayedChain(name);
  young.prunedBelow = 15;
  const [first, archive, dead] = [
    await nodeOf(young),
    await nodeOf(chain),
    'ws://127.0.0.1:9/key-of-a-provider',
  ];
  const at = settingsOf(name, 'several');
  const nodes = [dead, first.url('http'), archive.url()].flatMap((url) => ['--node', url]);
  const { code, stdout, stderr } = await runHere(['backfill', ...nodes, '--from', '1'], at);
  expect(`${stdout}${stderr}`).not.toMatch(/key-of-a-provider/);
  expect(linesOf(stdout)[1]).toMatch(/^replayed-asset-hub-paseo +1 to 30 +30 +0 +0/);
  expect(code).toBe(0);
  const asked = archive.requests.flat().filter(({ method }) => method === 'chain_getBlock');
  expect(asked.length).toBeLessThan(17);
  expect(differences(await contentAt(at), await sidecarContent(name, chain))).toEqual([]);

  const alone = settingsOf(name, 'pruned');
  const young15 = await runHere(['backfill', '--node', first.url(), '--from', '1'], alone);
  expect(young15.code).toBe(3);
  const gaps = await runHere(['gaps'], alone);
  expect(gaps.stdout).toMatch(/State already discarded.*archive node/);
});

it('refuses a network that it does not know, and says what to do', async () => {
  const replay = await nodeOf(new ReplayedChain('asset-hub-paseo'));
  const at = { DATA_DIR: join(place.path, 'unknown') };
  const { code, stderr } = await runHere(['backfill', '--node', replay.url()], at);
  expect(stderr).toMatch(
    /has the genesis block 0x0{64}, which no known chain has: name the chain with --chain, or add it to CHAINS_FILE/,
  );
  expect(code).toBe(2);
  const other = await runHere(['backfill', '--node', replay.url(), '--chain', 'asset-hub-polkadot'], at);
  expect(other.stderr).toMatch(/serves the runtime asset-hub-paseo .*not asset-hub-polkadot; .* set --force/);
});

const statusOf = async (url: string) =>
  (await (await fetch(`${url}/api/status`)).json()) as { chains: { highest_block: number }[] };

it.each([
  ['start --node', (url: string) => ({ args: ['--node', url], FOLLOW: '' })],
  ['FOLLOW', (url: string) => ({ args: [], FOLLOW: `replayed-paseo=${url}` })],
  [
    'FOLLOW by HTTP',
    (url: string) => ({ args: [], FOLLOW: `replayed-paseo=${url.replace(/^ws/, 'node+http')}` }),
  ],
])('%s follows a node', async (_what, settings) => {
  const chain = new ReplayedChain('paseo');
  const replay = await nodeOf(chain);
  const last = chain.best;
  chain.best = chain.finalized = last - 10;
  const { args, FOLLOW } = settings(replay.url());
  const at = {
    ...settingsOf('paseo', `server-${args.length}${FOLLOW.length}`),
    FOLLOW,
    STOP_SECONDS_MAX: '10',
  };
  const server = await serve(args, at);
  const heightOf = async () => (await statusOf(server.url)).chains[0]?.highest_block;
  await expect.poll(heightOf, { timeout: 20_000 }).toBe(last - 10);
  chain.best = chain.finalized = last;
  await expect.poll(heightOf, { timeout: 20_000 }).toBe(last);
  await server.end('SIGTERM');
  expect(`${server.said()}${server.logged()}`).not.toMatch(/key-of-a-provider/);
});

it('asks the next node of a sources file when one is gone, and skips nothing', async () => {
  const chain = new ReplayedChain('paseo');
  const [first, second] = [await nodeOf(chain), await nodeOf(chain)];
  const file = join(place.path, 'sources.yaml');
  const { number } = chain.first;
  writeFileSync(
    file,
    `chains:\n  - chain: replayed-paseo\n    from: ${number}\n    sources:\n      - node: ${first.url()}\n      - node: ${second.url('http')}\n`,
  );
  first.answerInstead = ({ method }) => {
    if (method === 'chain_getBlock') first.drops = 1000;
    return undefined;
  };
  const at = settingsOf('paseo', 'file');
  const { code, stdout } = await runHere(['backfill', '--sources', file], at);
  expect(linesOf(stdout)[1]).toMatch(new RegExp(`^replayed-paseo +${number} to ${chain.best} +66 +0 +0`));
  expect(stdout).not.toMatch(/key-of-a-provider/);
  expect(code).toBe(0);
  expect(differences(await contentAt(at), await sidecarContent('paseo', chain))).toEqual([]);
});
