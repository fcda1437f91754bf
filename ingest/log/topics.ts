/** Topics of the log that the loader consumes. */
export const TOPICS = { blocks: 'chain.blocks.v1', snapshots: 'chain.snapshots.v1' } as const;
/** The group of all processes that load. */
export const LOAD_GROUP = 'load';
export type Stream = keyof typeof TOPICS;
