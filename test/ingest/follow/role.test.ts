import { text } from 'node:stream/consumers';
import type { FastifyBaseLogger } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../infra/clock.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { openLogger } from '../../../infra/logger.ts';
import type { KeyValue } from '../../../infra/ports.ts';
import { startIngestRole } from '../../../ingest/follow/role.ts';
import type { IngestTarget } from '../../../ingest/follow/source-follower.ts';
import { createSourceMetrics } from '../../../ingest/sources/source-metrics.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { until } from '../../infra/ports/opened.ts';
import { FakeSidecar, recordedBlocks } from '../sources/fake-sidecar.ts';

const recorded = recordedBlocks('polkadot');
const first = Math.min(...recorded.keys());

/** A process that follows the chain, and the heights that it ingests. */
function follower(keyValue: KeyValue, url: string): number[] {
  const heights: number[] = [];
  const target: IngestTarget = {
    ingest: async ({ bytes }) => {
      const lines = (await text(bytes)).split('\n').filter(Boolean);
      heights.push(...lines.map((line) => Number(JSON.parse(line).number)));
      return { blocks: lines.length, snapshots: 0, refused_lines: 0, refused_facts: 0 };
    },
    status: async () => ({ chains: [] }),
    missing: async () => [],
    skipped: async () => [],
    noteSkipped: async () => undefined,
    storedSnapshots: async () => [],
    noteSkippedSnapshots: async () => undefined,
  };
  const settings = {
    ...readConfig({ FOLLOW: `polkadot=${url}`, FOLLOW_SNAPSHOTS: 'false' }),
    LEASE_MS: 1500,
  };
  const log = openLogger({ LOG_LEVEL: 'silent' }) as FastifyBaseLogger;
  const stop = startIngestRole({
    ...{ target, settings, keyValue, log },
    metrics: createSourceMetrics(),
  });
  onTestFinished(stop);
  return heights;
}

it('a process that was stalled leaves a chain to the one that took it over', async () => {
  await using source = await new FakeSidecar([...recorded.values()]).listen();
  source.finalized = first;
  const keyValue = new EmbeddedKeyValue(systemClock);
  let isStalled = false;
  const prolong: KeyValue['prolong'] = async (...of) => {
    if (isStalled) throw new Error('it is stalled');
    return keyValue.prolong(...of);
  };
  const stalling = new Proxy<KeyValue>(keyValue, {
    get: (_, name) =>
      name === 'prolong' ? prolong : (keyValue[name as keyof KeyValue] as () => unknown).bind(keyValue),
  });
  const one = follower(stalling, source.url);
  await until('the chain is followed', () => one.includes(first));
  const holder = async () => (await keyValue.members('follow/polkadot'))[0];
  const before = await holder();
  isStalled = true;
  const other = follower(keyValue, source.url);
  await until('the other process takes it over', async () => ![undefined, before].includes(await holder()));
  isStalled = false;
  source.finalized = first + 1;
  await until('the next block is ingested', () => other.includes(first + 1));
  await until('the first process leaves the chain', () => one.includes(first + 1));
  source.finalized = first + 2;
  await until('the block after it is ingested', () => other.includes(first + 2));
  // As long as it takes to look for a block again.
  await new Promise((later) => setTimeout(later, 3000));
  expect(one).not.toContain(first + 2);
});

it('follows a source that served another chain at first', async () => {
  await using source = await new FakeSidecar([...recorded.values()], { specName: 'paseo' }).listen();
  source.finalized = first;
  // Of the right network by the time that it is asked again.
  source.onRequest = (path) => {
    if (path.endsWith('/runtime/spec')) setImmediate(() => (source.specName = 'polkadot'));
  };
  const heights = follower(new EmbeddedKeyValue(systemClock), source.url);
  await until('the chain is followed', () => heights.includes(first));
});
