/** Topics of the log that the loader consumes. */
export const TOPICS = { blocks: 'chain.blocks.v1', snapshots: 'chain.snapshots.v1' } as const;
export type Stream = keyof typeof TOPICS;
