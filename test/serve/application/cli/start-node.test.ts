import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../../../infra/ports/opened.ts';
import { NodeReplay } from '../../../ingest/node/replay.ts';
import { ReplayedChain } from '../../../ingest/node/replayed-chain.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { serve } from './program.ts';
import { runHere } from './run-here.ts';

interface Status {
  readonly chains: readonly { readonly blocks: number; readonly highest_block: number }[];
}

it('start --node --days brings the last days of a chain, computes them and follows its head', async () => {
  using place = temporaryDirectory();
  const chain = new ReplayedChain('coretime-westend');
  await using node = await new NodeReplay(chain).listen();
  const last = chain.finalized;
  Object.assign(chain, { finalized: last - 3, best: last - 3 });
  const CHAINS_FILE = join(place.path, 'chains.json');
  const replayed = { relay_chain: 'kusama', name: 'replayed', ss58_prefix: 42, token: 'WND', decimals: 12 };
  writeFileSync(CHAINS_FILE, JSON.stringify([{ ...replayed, genesis: `0x${'00'.repeat(32)}` }]));
  // The state of these blocks is not recorded.
  const env = { DATA_DIR: join(place.path, 'data'), CHAINS_FILE, FOLLOW_SNAPSHOTS: 'false' };
  const server = await serve(['--node', node.url(), '--days', '3000'], env);
  try {
    const read = async (path: string) => (await fetch(`${server.url}${path}`)).json();
    const blocks = async () => ((await read('/api/status')) as Status).chains[0]?.blocks;
    await until('the last days are loaded', async () => (await blocks()) === last - 3, 30_000);
    Object.assign(chain, { finalized: last, best: last });
    await until('new blocks follow', async () => (await blocks()) === last, 30_000);
    const rows = async () => (await read('/api/daily-tps?chain=replayed')) as object[];
    await until('they are computed', async () => (await rows()).length > 0, 30_000);
    // The follower may have brought the head before.
    expect(server.said()).toMatch(/^replayed: \d+ blocks loaded; following new blocks\.$/m);
  } finally {
    expect((await server.end('SIGTERM')).code).toBe(0);
  }
});

it('start --days without --node says what is missing', async () => {
  const { code, stderr } = await runHere(['start', '--days', '2'], {});
  expect([code, stderr]).toEqual([2, expect.stringContaining('--node')]);
});
