import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { NodeRefusal } from '../../../../ingest/node/rpc-errors.ts';
import { snapshots } from '../../../../ingest/raw/tables.ts';
import { NodeReplay } from '../../../ingest/node/replay.ts';
import { ReplayError, ReplayedChain } from '../../../ingest/node/replayed-chain.ts';
import { recordedState } from '../../../ingest/node/state/recorded.ts';
import { Reference, relayPayloads } from '../../../ingest/node/state/reference.ts';
import { openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { run } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

const LAST = 1_036_851;
const home = { since: '2024-01-01' };
const KNOWN = {
  ...{ name: 'paseo', relay_chain: 'solo', role: 'relay', ss58_prefix: 42, token: 'PAS', decimals: 10 },
  ...{ staking: home, governance: home, treasury: home, genesis: `0x${'00'.repeat(32)}` },
};

/** A node with the recorded blocks and, at three heights, the recorded state. */
async function recordedNode(): Promise<NodeReplay> {
  const chain = new ReplayedChain('paseo');
  const { server } = recordedState('paseo');
  const replay = await new NodeReplay(chain).listen();
  onTestFinished(() => replay[Symbol.asyncDispose]());
  const recordedHashes = new Map<unknown, string>(
    chain.blocks.map(({ hash, recordedHash }) => [hash, recordedHash]),
  );
  replay.answerInstead = ({ method, params }) => {
    if (method === 'system_health') return server.answer(method, params);
    if (!['state_getStorage', 'state_getKeysPaged', 'state_queryStorageAt'].includes(method))
      return undefined;
    try {
      return server.answer(method, [...params.slice(0, -1), recordedHashes.get(params.at(-1))]);
    } catch (error) {
      if (error instanceof NodeRefusal) throw new ReplayError(-1, error.message);
      throw error;
    }
  };
  return replay;
}

it('the state of a recorded chain is stored as the sums over its pairs', async () => {
  const CHAINS_FILE = join(place.path, 'chains.json');
  writeFileSync(CHAINS_FILE, JSON.stringify([KNOWN]));
  const env = { DATA_DIR: join(place.path, 'data'), CHAINS_FILE };
  const node = await recordedNode();
  const days = ['--from', '2026-11-28', '--to', '2026-11-28'];
  const { code, stdout, stderr } = await run(
    ['backfill', '--node', node.url(), '--snapshots', ...days, '--json'],
    { env },
  );
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ chain: 'paseo', days: 1, skipped: 0, refused: 0 });

  const pipeline = await openPipelineAt(env.DATA_DIR, undefined, { CHAINS_FILE });
  const rows = await pipeline.runtime.store.rows<{ kind: string; payload: string; block_number: number }>(
    sql`SELECT kind, payload, block_number FROM ${snapshots} FINAL ORDER BY kind`,
  );
  await pipeline.close();
  const { blocks, metadata } = recordedState('paseo');
  const last = blocks.find(({ height }) => height === LAST);
  const { track_table, ...payloads } = Object.fromEntries(
    rows.map(({ kind, payload }) => [kind, JSON.parse(payload)]),
  );
  expect(payloads).toEqual(relayPayloads(new Reference(metadata, last as (typeof blocks)[number])));
  expect(track_table.tracks).toHaveLength(15);
  expect(new Set(rows.map(({ block_number }) => block_number))).toEqual(new Set([LAST]));
});
