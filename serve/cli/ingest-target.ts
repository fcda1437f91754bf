import type { OperationClient } from '../operations/client.ts';

/** The client as a source follower sees it. */
export const ingestTarget = (client: OperationClient) => ({
  ingest: ({ name, bytes, chain }: { name: string; bytes: import('node:stream').Readable; chain?: string }) =>
    client.call('ingest', { name, ...(chain === undefined ? {} : { chain }) }, { body: bytes }),
  status: () => client.call('status', {}),
  missing: (range: { chain: string; from: number; to: number }) => client.call('missingHeights', range),
});
