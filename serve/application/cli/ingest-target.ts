import { demoRefusal } from '../../../ingest/demo/mark.ts';
import type { IngestTarget } from '../../../ingest/follow/source-follower.ts';
import type { OperationClient } from '../operations/client.ts';
import { stateTarget } from './backfill-feeds.ts';

/** The operations that a source follower needs. */
export const ingestTarget = (client: OperationClient): IngestTarget => ({
  ingest: ({ name, bytes, chain }) => client.call('ingest', { name, chain }, { body: bytes }),
  status: () => client.call('status', {}),
  missing: (range) => client.call('missingHeights', { ...range, withoutSkipped: true }),
  skipped: (chain) => client.call('skippedHeights', { chain }),
  noteSkipped: async (chain, heights) =>
    void (await client.call('noteSkippedHeights', { chain, heights: [...heights] })),
  ...stateTarget(client),
});

/** Throws for a store of demo data before the first block is fetched, since it refuses other data. */
export async function refuseDemo(client: OperationClient): Promise<void> {
  const { demo_data } = await client.call('status', {});
  if (demo_data) throw demoRefusal(client.location);
}
