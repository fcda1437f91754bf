import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { madeBlock, madeExtrinsic } from '../../../ingest/made.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { run } from './program.ts';
import { runHere } from './run-here.ts';

const place = temporaryDirectory();
const env = { DATA_DIR: join(place.path, 'data') };
afterAll(() => place[Symbol.dispose]());
beforeAll(async () => {
  const now = Date.parse('2024-03-01T12:00:00Z');
  const block = madeBlock(100, [], { extrinsics: [madeExtrinsic('timestamp.set', { args: { now } })] });
  await run(['ingest', '--chain', 'polkadot', '-'], { env, input: `${JSON.stringify(block)}\n` });
}, 120_000);

const FORMATS = ['csv', 'json', 'ndjson', 'parquet', 'arrow'];

it.each(FORMATS)(
  'an export of no rows as %s says why on standard error, one with rows does not',
  async (format) => {
    const output = join(place.path, `rows.${format}`);
    const said = async (...args: string[]) => {
      const { code, stderr } = await runHere(['export', 'daily-fees', '--output', output, ...args], env);
      expect(code).toBe(0);
      return stderr;
    };
    expect(await said('--chain', 'moonbeam')).toMatch(
      /no rows: no block of moonbeam is stored; `chain-metrics chains`/,
    );
    expect(await said('--relay-chain', 'kusama')).toMatch(/no rows: no block of a chain of kusama is stored/);
    expect(await said('--chain', 'polkadot', '--from', '2026-01-01')).toMatch(
      /no rows: no matching data are stored from 2026-01-01; .*gaps/,
    );
    expect(await said('--chain', 'polkadot')).not.toMatch(/no rows/);
  },
  120_000,
);

it.each(FORMATS)(
  'a query without rows into a file of %s says so',
  async (format) => {
    const output = join(place.path, `query.${format}`);
    const said = async (query: string) => (await runHere(['sql', '--output', output, query], env)).stderr;
    expect(await said('SELECT number, hash FROM blocks WHERE number = 77')).toMatch(
      /no rows: the stored data contain no matching rows/,
    );
    expect(await said("SELECT number, 'a\nb' AS text FROM blocks")).not.toMatch(/no rows/);
  },
  120_000,
);

it('rows on standard output are as before, and the reason stands beside them', async () => {
  const { stdout, stderr } = await run(['export', 'daily-fees', '--chain', 'acala'], { env });
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(stderr).toMatch(/no rows: no block of acala/);
}, 120_000);

it('chains lists what is known, with what is stored of it', async () => {
  const list = JSON.parse((await runHere(['chains', '--json'], env)).stdout);
  const of = (name: string) => list.find(({ chain }: { chain: string }) => chain === name);
  expect(of('polkadot')).toMatchObject({
    relay_chain: 'polkadot',
    role: 'relay',
    token: 'DOT',
    lowest_block: 100,
    highest_block: 100,
  });
  expect(of('moonbeam')).toMatchObject({
    relay_chain: 'polkadot',
    token: 'GLMR',
    lowest_block: null,
    block_seconds: 6,
  });
  expect((await runHere(['chains'], env)).stdout).toMatch(
    /polkadot +asset-hub-polkadot +asset-hub +DOT +none +.*statemint/,
  );
  const nowhere = { DATA_DIR: join(place.path, 'none') };
  expect((await runHere(['chains'], nowhere)).stdout).toMatch(/kusama +kusama +relay +KSM +none/);
}, 120_000);

it.each([
  [
    ['gaps', '--chain', 'polkadt'],
    /no chain is called polkadt: did you mean polkadot\?; `chain-metrics chains` lists them/,
  ],
  [
    ['export', 'daily-fees', '--chain', 'moonbeem'],
    /did you mean moonbeam\?; `chain-metrics chains` lists them/,
  ],
  [['ingest', '--chain', 'atlantis', '-'], /no chain is called atlantis; `chain-metrics chains` lists them/],
  [['rebuild', 'daily-feees'], /no metric is called daily-feees: did you mean daily-fees\?/],
])(
  '%j names the nearest and how to list them',
  async (args, says) => {
    expect((await run(args, { env, input: '' })).stderr).toMatch(says);
  },
  120_000,
);
