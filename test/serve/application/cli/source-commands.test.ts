import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { missingHeights } from '../../../../ingest/sources/heights.ts';
import {
  type FakeOptions,
  FakeSidecar,
  onBranch,
  recordedBlocks,
} from '../../../ingest/sources/fake-sidecar.ts';
import { type Content, contentOf, differences } from '../../../support/content.ts';
import { ingestAndCompute, ingestLines, openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { begin, linesOf, run, serve } from './program.ts';
import { runHere } from './run-here.ts';

const recorded = recordedBlocks('polkadot');
const first = Math.min(...recorded.keys());
const last = Math.max(...recorded.keys());

const POT = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const directory = (name: string) => ({ DATA_DIR: join(place.path, name) });
const alone = directory('alone');
const served = { ...directory('served'), STOP_SECONDS_MAX: '10' };

async function fakeOf(options?: FakeOptions): Promise<FakeSidecar> {
  const fake = await new FakeSidecar([...recorded.values()], options).listen();
  onTestFinished(() => fake[Symbol.asyncDispose]());
  return fake;
}

/** What a plain ingest of the same blocks ends in. */
let plain: Content;
beforeAll(async () => {
  const lines = [...recorded.values()].map((line) => ({ line, chain: 'polkadot' }));
  plain = await contentAt(directory('plain'), (pipeline) => ingestAndCompute(pipeline, lines));
});

type Engine = Awaited<ReturnType<typeof openPipelineAt>>;
async function withEngine<T>(
  { DATA_DIR }: { DATA_DIR: string },
  work: (pipeline: Engine) => Promise<T>,
): Promise<T> {
  const pipeline = await openPipelineAt(DATA_DIR);
  try {
    return await work(pipeline);
  } finally {
    await pipeline.close();
  }
}

const contentAt = (at: { DATA_DIR: string }, before = async (_engine: Engine) => {}) =>
  withEngine(at, async (pipeline) => {
    await before(pipeline);
    await pipeline.aggregator.waitUntilComputed();
    return contentOf(pipeline);
  });
const missingAt = (at: { DATA_DIR: string }) =>
  withEngine(at, ({ runtime }) =>
    missingHeights(
      runtime.store,
      { relay_chain: 'polkadot', chain: 'polkadot' },
      { from: first, to: last },
      100,
    ),
  );
const heightsIn = (ranges: readonly { from: number; to: number }[]) =>
  ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

const backfill = (url: string, ...more: string[]) => [
  'backfill',
  '--url',
  url,
  '--chain',
  'polkadot',
  ...more,
];

it('says in one line what is wrong with an address, a chain or a range', async () => {
  const [polkadot, westend, unknown] = [
    await fakeOf(),
    await fakeOf({ specName: 'westmint' }),
    await fakeOf({ specName: 'paseo' }),
  ];
  const wrong: [args: string[], says: RegExp, code: number][] = [
    [backfill('127.0.0.1:8080'), /--url.*Expected an http or https URL such as/, 2],
    [backfill(`${polkadot.url}/nowhere`), /is neither a Sidecar nor a polkadot-rest-api: .* answered 404/, 1],
    [['backfill', '--url', polkadot.url, '--chain', 'atlantis'], /no chain is called atlantis/, 2],
    [
      backfill(westend.url),
      /serves the runtime westmint \(asset-hub-westend\), not polkadot; .* set --force/,
      2,
    ],
    [
      ['follow', '--url', unknown.url, '--chain', 'kusama'],
      /paseo \(no chain of the registry\), not kusama; .* set --force/,
      2,
    ],
    [backfill(polkadot.url, '--from', String(last + 1)), new RegExp(`the finalized head is ${last}`), 2],
    [backfill(polkadot.url, '--concurrency', '0'), /--concurrency.*Expected a number from 1 to 256/, 2],
  ];
  const env = directory('untouched');
  for (const [args, says, expected] of wrong) {
    const { code, stderr } = await runHere(args, env);
    expect(linesOf(stderr)[0], args.join(' ')).toMatch(says);
    expect(code, args.join(' ')).toBe(expected);
  }
});

it('fills holes first, is killed and stopped, goes on with the rest and ends as a plain ingest', async () => {
  const fake = await fakeOf();
  // Stored are a block in the middle, one that is not final yet, and one far behind them.
  const [middle, provisional, end] = [first + 10, first + 12, last - 20] as const;
  await withEngine(alone, (pipeline) =>
    ingestLines(
      pipeline,
      [middle, provisional, end]
        .map((height) => recorded.get(height) as string)
        .map((line, i) => ({ line: i === 1 ? onBranch(line, 'a') : line, chain: 'polkadot' })),
    ),
  );
  const planned = [
    { from: middle + 1, to: end - 1 },
    { from: first, to: middle - 1 },
    { from: end + 1, to: last },
  ];
  const range = ['--from', String(first), '--concurrency', '1'];
  const dry = await runHere(backfill(fake.url, ...range, '--dry-run'), alone);
  expect(linesOf(dry.stdout).slice(1)).toEqual(planned.map(({ from, to }) => `  ${from} to ${to}`));
  expect(fake.asked).toEqual([]);

  // So small that what was fetched is loaded a few blocks at a time.
  const env = { ...alone, BATCH_BYTES: '12000' };
  const asked: number[] = [];
  let missing = heightsIn(planned);
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    fake.asked.length = 0;
    const child = begin(backfill(fake.url, ...range), { env });
    const ended = new Promise((resolve) => child.once('close', (code, name) => resolve(name ?? code)));
    fake.onRequest = () => void (fake.asked.length >= 12 && child.kill(signal));
    expect(await ended).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 1);
    fake.onRequest = () => undefined;
    expect(fake.asked).toEqual(missing.slice(0, fake.asked.length));
    asked.push(...fake.asked);
    missing = heightsIn(await missingAt(alone));
  }
  expect(missing.length).toBeLessThan(heightsIn(planned).length);
  fake.asked.length = 0;
  fake.fail(/blocks\/\d/, '500', 2);
  const rest = await runHere(backfill(fake.url, ...range), alone);
  expect(rest.stdout).toMatch(/, metrics included; 0 refused$/m);
  expect(rest.code).toBe(0);
  expect(fake.asked).toEqual(missing);
  expect(differences(await contentAt(alone), plain)).toEqual([]);
  // Nothing that had been loaded was asked for again: only what was under way when it was killed.
  expect(asked.length + missing.length).toBeLessThanOrEqual(heightsIn(planned).length + 2 * 6);
});

it('passes heights that the source cannot serve, shows them, and begins the next run with them', async () => {
  const fake = await fakeOf();
  const [unknown, broken] = [first + 5, first + 9];
  fake.fail(new RegExp(`blocks/${unknown}$`), '404', 99);
  fake.fail(new RegExp(`blocks/${broken}$`), 'page', 99);
  const at = directory('holes');
  const { code, stdout } = await runHere(backfill(fake.url, '--from', String(first)), at);
  expect(linesOf(stdout)).toEqual([
    expect.stringMatching(
      new RegExp(
        `^${recorded.size - 2} blocks in .*; 0 refused; 2 heights still missing, 2 skipped: \`chain-metrics gaps\``,
      ),
    ),
    expect.stringMatching(/^its genesis block was not compared/),
  ]);
  expect(code).toBe(3);
  expect(heightsIn(await missingAt(at))).toEqual([unknown, broken]);
  const gaps = await runHere(['gaps'], at);
  expect(gaps.stdout).toMatch(
    new RegExp(`^ +${unknown} +1 try +[-0-9]+ [:0-9]+ +.*answered 404: .*made to fail`, 'm'),
  );
  expect(gaps.stdout).toMatch(new RegExp(`^ +${broken} +1 try .*did not return JSON`, 'm'));
  expect((await runHere(['status'], at)).stdout).toMatch(/^polkadot +polkadot .* 2 +2 +\d+ \w+ ago/m);

  fake.asked.length = 0;
  fake.recover();
  fake.fail(new RegExp(`blocks/${broken}$`), '500', 99);
  const again = await runHere(backfill(fake.url, '--from', String(first)), at);
  expect(again).toMatchObject({ code: 3, stdout: expect.stringMatching(/^1 block in .*1 skipped/) });
  // Besides them at most the head, for which it is sure that the source is there.
  expect(fake.asked.filter((height) => height !== last)).toEqual([unknown]);
  const [chain] = JSON.parse((await runHere(['gaps', '--json'], at)).stdout);
  expect(chain.skipped_heights).toMatchObject({ total: 1, heights: [{ number: broken, tries: 2 }] });

  fake.recover();
  expect((await runHere(backfill(fake.url, '--from', String(first)), at)).code).toBe(0);
  expect(differences(await contentAt(at), plain)).toEqual([]);
  expect((await runHere(['gaps'], at)).stdout).not.toContain('failed to serve');
});

it('skips nothing when the source serves nothing any more, and says so', async () => {
  const fake = await fakeOf();
  const at = directory('away');
  fake.onRequest = () => {
    if (fake.asked.length >= 12) fake.fail(/./, '404', 999);
  };
  const { code, stderr } = await runHere(
    backfill(fake.url, '--from', String(first), '--concurrency', '2'),
    at,
  );
  // A busy machine takes long enough for lines of progress.
  const lines = linesOf(stderr).filter((line) => !/^(fetching|computing metrics)\b/.test(line));
  expect(lines).toEqual([
    expect.stringMatching(/created a new store in .*away$/),
    expect.stringMatching(/blocks\/\d+ answered 404: .*made to fail/),
  ]);
  expect(code).toBe(1);
  fake.onRequest = () => undefined;
  fake.recover();
  const rest = await runHere(backfill(fake.url, '--from', String(first)), at);
  expect(rest).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+ blocks in .*; 0 refused$/m) });
  expect(differences(await contentAt(at), plain)).toEqual([]);
});

it('works through a running server, and follow stops when it is told to', async () => {
  const info = new URL('../../../fixtures/endpoints/polkadot/balance-info.json', import.meta.url);
  const documents = { [`/accounts/${POT}/balance-info`]: JSON.parse(readFileSync(info, 'utf8')) };
  const fake = await fakeOf({ root: '/v1', documents });
  const server = await serve([], served);
  const half = first + 30;
  const asJson = async (...more: string[]) =>
    JSON.parse(
      (await runHere(backfill(fake.url, '--from', String(first), '--json', ...more), served)).stdout,
    );
  expect(await asJson('--to', String(half))).toMatchObject({
    chain: 'polkadot',
    blocks: 31,
    refused: 0,
    missing: 0,
    skipped: 0,
    failed_metrics: [],
  });
  expect((await asJson('--dry-run')).missing).toEqual([{ from: half + 1, to: last }]);

  fake.asked.length = 0;
  const args = ['follow', '--url', fake.url, '--chain', 'polkadot-relay', '--poll-ms', '20'];
  args.push('--json', '--snapshots', '--treasury', POT);
  const following = begin(args, { env: served });
  let said = '';
  const ended = new Promise((resolve) => following.once('close', (code, signal) => resolve(signal ?? code)));
  following.stdout?.on('data', (piece) => {
    said += piece;
    if (/1 snapshot"}\n/.test(said)) following.kill('SIGTERM');
  });
  expect(await ended).toBe(0);
  expect(linesOf(said).map((line) => JSON.parse(line).text)).toEqual([
    expect.stringMatching(new RegExp(`following polkadot at \\S+ from ${half + 1}$`)),
    expect.stringMatching(/^its genesis block was not compared .*answered 404/),
    expect.stringMatching(/35 blocks$/),
    expect.stringMatching(/no validator_set snapshots from this source: .*progress\S* answered 404/),
    expect.stringMatching(/no staking_state snapshots from this source: .* which no route lists/),
    expect.stringMatching(/no issuance snapshots from this source: .*totalIssuance\S* answered 404/),
    expect.stringMatching(/1 snapshot$/),
    'stopped',
  ]);
  // The last one again for its time, at which the snapshot was taken.
  expect(fake.asked.toSorted((a, b) => a - b)).toEqual([...heightsIn([{ from: half + 1, to: last }]), last]);
  expect((await server.end('SIGTERM')).code).toBe(0);
  const others = differences(await contentAt(served), plain);
  expect(others.map((line) => line.split(',')[0])).toEqual([
    'snapshots',
    ...others.slice(1).map(() => 'monthly_treasury_balances'),
  ]);
});

it('start follows the sources that the settings name, beside serving', async () => {
  const [polkadot, other] = [await fakeOf(), await fakeOf({ specName: 'paseo' })];
  const fork = await fakeOf({
    specName: 'westend',
    documents: { '/transaction/material': { genesisHash: '0x1' } },
  });
  const sources = join(place.path, 'sources.json');
  writeFileSync(sources, JSON.stringify({ chains: [{ chain: 'westend', sources: [{ url: fork.url }] }] }));
  const at = directory('followed');
  await withEngine(at, (pipeline) =>
    ingestLines(pipeline, [{ line: recorded.get(first) as string, chain: 'polkadot' }]),
  );
  const FOLLOW = `polkadot-relay=${polkadot.url}, kusama=${other.url}`;
  const server = await serve(['--sources', sources], { ...at, FOLLOW, FOLLOW_SNAPSHOTS: 'false' });
  await expect
    .poll(() => server.logged(), { timeout: 60_000 })
    .toMatch(/following polkadot at \S+ from \d+[\s\S]*"1 block"/);
  expect(server.logged()).toMatch(/cannot follow: \S+ serves the runtime paseo .*FOLLOW_FORCE/);
  expect(server.logged()).toMatch(/westend: not followed: \S+ has the genesis block 0x1/);
  expect((await server.end('SIGTERM')).code).toBe(0);
  expect(differences(await contentAt(at), plain)).toEqual([]);
});

it('start refuses to follow a chain that nobody knows', async () => {
  const { code, stderr } = await run(['start'], {
    env: { ...directory('refused'), FOLLOW: 'atlantis=http://127.0.0.1:1' },
  });
  expect(linesOf(stderr).at(-1)).toMatch(/no chain is called atlantis/);
  expect(code).toBe(2);
  const wrong = await run(['start', '--sources', 'none.yaml'], { env: directory('refused') });
  expect(linesOf(wrong.stderr).at(-1)).toMatch(/none.yaml/);
  expect(wrong.code).toBe(2);
});
