import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type IngestTarget, SourceFollower } from '../../../ingest/follow/source-follower.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { ReplayError, ReplayedChain } from './replayed-chain.ts';
import { serve } from './replaying.ts';

const unused = async () => [];
const target: IngestTarget = {
  status: async () => ({ chains: [] }),
  ingest: async () => ({ blocks: 0, snapshots: 0, refused_lines: 0, refused_facts: 0 }),
  ...{ missing: unused, skipped: unused, storedSnapshots: unused },
  ...{ noteSkipped: async () => undefined, noteSkippedSnapshots: async () => undefined },
};

test('a follower that leaves a node closes its connection', async () => {
  const replay = await serve(new ReplayedChain('coretime-westend'));
  const source = { url: replay.url(), isNode: true, chain: 'polkadot', force: true };
  const options = { ...source, concurrency: 64, backoffMs: 1, pollMs: 1, awayMsMax: 1 };
  const follower = await SourceFollower.open(options, readConfig({}), new AbortController().signal);
  expect(replay.connections).toBe(1);
  replay.answerInstead = () => {
    throw new ReplayError(-32601, 'Method not found');
  };
  await expect(follower.run(target, () => undefined)).rejects.toThrow('Method not found');
  await expect(SourceFollower.open(options, readConfig({}), new AbortController().signal)).rejects.toThrow();
  for (let wait = 0; replay.connections > 0 && wait < 100; wait++) await setTimeout(10);
  expect(replay.connections).toBe(0);
});
