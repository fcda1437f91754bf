import type { BackfillTarget, ChainBackfill } from '../../../ingest/backfill/chain-backfill.ts';
import type { Sources } from '../../../ingest/backfill/sources-file.ts';
import { readRegistry } from '../../../ingest/chains/registry.ts';
import type { StateTarget } from '../../../ingest/node/state/state-backfill.ts';
import { SKIPPED_REASON_CHARACTERS } from '../../../ingest/sources/skipped-heights.ts';
import type { ValueBackfill } from '../../../ingest/sources/values/value-backfill.ts';
import type { Config } from '../../settings/settings.ts';
import type { OperationClient } from '../operations/client.ts';

/** The open feeds of a sources file. */
export interface Feeds {
  readonly chains: readonly ChainBackfill[];
  readonly values: readonly ValueBackfill[];
}

/** Memory for fetched blocks of all chains that are not stored yet. */
const FETCHED_BYTES_MAX = 256 * 2 ** 20;

export async function openFeeds(sources: Sources, config: Config, signal: AbortSignal): Promise<Feeds> {
  const { ChainBackfill } = await import('../../../ingest/backfill/chain-backfill.ts');
  const { FairShare } = await import('../../../ingest/backfill/fair-share.ts');
  const { ValueBackfill } = await import('../../../ingest/sources/values/value-backfill.ts');
  const { ValueFeed } = await import('../../../ingest/sources/values/value-feed.ts');
  const context = {
    registry: readRegistry(config),
    config,
    share: new FairShare({ requestsMax: sources.concurrency, bytesMax: FETCHED_BYTES_MAX }),
    // A quarter: each chain loads one portion while it fetches the next, and a portion takes twice its bytes in memory.
    portionBytes: Math.min(config.BATCH_BYTES, FETCHED_BYTES_MAX / 4 / Math.max(1, sources.chains.length)),
    signal,
  };
  const plansOf = Object.entries(Object.groupBy(sources.values, ({ kind }) => kind));
  return {
    chains: sources.chains.map((plan) => new ChainBackfill(plan, context)),
    values: plansOf.map(([kind, plans]) => {
      const feeds = plans.map((plan) => new ValueFeed(plan, { signal }));
      return new ValueBackfill(kind as ValueBackfill['kind'], feeds, signal);
    }),
  };
}

/** The input of a call must fit into an HTTP header. */
const HEIGHTS_PER_CALL = 500;

export const backfillTarget = (client: OperationClient): BackfillTarget => ({
  missing: (range) => client.call('missingHeights', range),
  skipped: (chain) => client.call('skippedHeights', { chain }),
  noteSkipped: async (chain, unserved) => {
    const heights = unserved.map(({ number, reason }) => ({
      number,
      reason: reason.slice(0, SKIPPED_REASON_CHARACTERS),
    }));
    for (let i = 0; i < heights.length; i += HEIGHTS_PER_CALL) {
      await client.call('noteSkippedHeights', { chain, heights: heights.slice(i, i + HEIGHTS_PER_CALL) });
    }
  },
  storedDays: (request) => client.call('storedDays', request),
});

export const stateTarget = (client: OperationClient): StateTarget => ({
  storedSnapshots: (range) => client.call('storedSnapshots', range),
  noteSkippedSnapshots: async (chain, skipped) =>
    void (await client.call('noteSkippedSnapshots', { chain, skipped: [...skipped] })),
});
