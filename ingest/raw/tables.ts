import { table } from '../../infra/table.ts';
import { RANK } from './ordering.ts';

/**
 * The raw tables. `rank` orders the versions of a row (see `ordering.ts`). Extrinsics, events and calls count only while
 * their rank is that of the canonical block (see `canonical.ts`), so a replaced block leaves no rows, even after an
 * interrupted load. Large tables are partitioned by month: a statement with a range of time opens only its months, and
 * merges rewrite only months with new rows. Versions of a block in two months are never merged (see `replacedBlocks`).
 */
const time = "DateTime64(3, 'UTC')";
const name = 'LowCardinality(String)';
/** Hashes look random: ZSTD compresses 66 hex characters to 34 bytes; LZ4 cannot compress them and is slower. */
const hash = 'String CODEC(ZSTD)';
const byMonth = 'toYYYYMM(time)';
/** Small granules: a query for an hour of many chains reads at least one granule per chain and kind of event. */
const byTime = {
  indexes: ['INDEX by_time time TYPE minmax GRANULARITY 1'],
  settings: ['index_granularity = 1024'],
};

export const blocks = table({
  name: 'blocks',
  doc: 'One row per chain and height.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64 CODEC(Delta, ZSTD)',
    hash,
    parent_hash: hash,
    // Null if the block has no timestamp; it is never guessed.
    time: `Nullable(${time})`,
    author: 'String',
    finalized: 'Bool',
    extrinsics: 'UInt32',
    events: 'UInt32',
    unclear_extrinsics: 'UInt32',
    source: name,
    received_at: time,
    rank: `${RANK} CODEC(ZSTD)`,
    is_deleted: 'UInt8',
    // Id of the ingest run that read the block and reports on it; empty if no run reports.
    run: 'String CODEC(ZSTD)',
  },
  engine: 'ReplacingMergeTree(rank, is_deleted)',
  partitionBy: "toYYYYMM(ifNull(time, toDateTime64(0, 3, 'UTC')))",
  orderBy: ['relay_chain', 'chain', 'number'],
  // by_number: by the key alone, the last granule of a chain in a month could contain any greater height.
  indexes: [
    'INDEX by_time time TYPE minmax GRANULARITY 1',
    'INDEX by_number number TYPE minmax GRANULARITY 1',
  ],
  // Small granules: FINAL also reads the granules beside those of an hour.
  settings: ['index_granularity = 256'],
});

export const loadedBlocks = table({
  name: 'loaded_blocks',
  doc: 'Versions of blocks whose rows are stored in every table: the same content is not loaded again.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64 CODEC(Delta, ZSTD)',
    // Sequence of the load; the rank of the canonical version contains it.
    sequence: 'UInt64 CODEC(Delta, ZSTD)',
    // A hash of everything that determines the rows of the block.
    content: 'UInt128 CODEC(NONE)',
    // Id of the last ingest run that read the block again; recorded only if facts of the block are refused.
    run: 'String CODEC(ZSTD)',
  },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['relay_chain', 'chain', 'number'],
});

export const replacedBlocks = table({
  name: 'replaced_blocks',
  doc: 'Versions of blocks that a version in another month replaced, so that a month can be read without the others.',
  columns: { relay_chain: name, chain: name, number: 'UInt64', time, rank: RANK },
  engine: 'ReplacingMergeTree',
  orderBy: ['relay_chain', 'time', 'rank'],
});

export const extrinsics = table({
  name: 'extrinsics',
  doc: 'One row per extrinsic of a block, with its fee, success and domain decided.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64 CODEC(Delta, ZSTD)',
    extrinsic_index: 'UInt32 CODEC(Delta, ZSTD)',
    // The epoch if the block has no timestamp; no window includes the epoch.
    time: `${time} CODEC(Delta, ZSTD)`,
    hash,
    pallet: name,
    call: name,
    // The name in the block, before `renamed.ts` is applied.
    pallet_written: name,
    signed: 'Bool',
    signer: 'String',
    signer_key: 'String',
    success: 'Nullable(UInt8)',
    outcome: 'Nullable(UInt8)',
    // Like `success`; for an Ethereum transaction it also needs success in the EVM.
    succeeded: 'Nullable(UInt8)',
    ethereum: 'Bool',
    general: 'Bool',
    ethereum_from: 'String',
    ethereum_to: 'String',
    fee: 'Nullable(UInt128)',
    fee_bearing: 'Bool',
    tip: 'UInt128',
    domain: name,
    args: 'String CODEC(ZSTD(3))',
    rank: `${RANK} CODEC(ZSTD)`,
  },
  engine: 'ReplacingMergeTree(rank)',
  partitionBy: byMonth,
  orderBy: ['relay_chain', 'chain', 'number', 'extrinsic_index'],
  ...byTime,
});

export const events = table({
  name: 'events',
  doc: 'One row per event, numbered over the whole block; known events with decoded accounts and amounts.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64 CODEC(Delta, ZSTD)',
    event_index: 'UInt32',
    time: `${time} CODEC(Delta, ZSTD)`,
    phase: name,
    extrinsic_index: 'Nullable(UInt32)',
    pallet: name,
    event: name,
    data: 'Array(String) CODEC(ZSTD(3))',
    account: 'String',
    counterparty: 'String',
    amount: 'Nullable(UInt128)',
    // Why the decoder refused the fact of the event; the event itself still counts.
    refused: name,
    rank: `${RANK} CODEC(ZSTD)`,
  },
  engine: 'ReplacingMergeTree(rank)',
  partitionBy: byMonth,
  orderBy: ['relay_chain', 'chain', 'pallet', 'event', 'number', 'event_index'],
  ...byTime,
});

export const calls = table({
  name: 'calls',
  doc: 'One row per executed call of the pallets that facts are read from, nested ones included.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64 CODEC(Delta, ZSTD)',
    extrinsic_index: 'UInt32',
    position: 'UInt32', // In the order of execution; 0 is the extrinsic itself.
    path: 'String',
    time: `${time} CODEC(Delta, ZSTD)`,
    pallet: name,
    call: name,
    actor: 'String', // Key of the account on whose behalf the call ran; empty for root, or if unknown.
    args: 'String CODEC(ZSTD(3))',
    rank: `${RANK} CODEC(ZSTD)`,
  },
  engine: 'ReplacingMergeTree(rank)',
  partitionBy: byMonth,
  orderBy: ['relay_chain', 'chain', 'pallet', 'call', 'number', 'extrinsic_index', 'position'],
  ...byTime,
});

export const refusedFacts = table({
  name: 'refused_facts',
  doc: 'Facts that a decoder refused, with the reason; their blocks are stored.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64',
    fact: 'String',
    reason: 'String',
    raw: 'String CODEC(ZSTD(3))',
    rank: RANK,
  },
  engine: 'ReplacingMergeTree(rank)',
  orderBy: ['relay_chain', 'chain', 'number', 'fact'],
});

export const snapshots = table({
  name: 'snapshots',
  doc: 'Chain state that no event reports, at a moment: one row per chain, kind and moment.',
  columns: {
    relay_chain: name,
    chain: name,
    kind: name,
    as_of: time,
    symbol: name,
    block_number: 'Nullable(UInt64)',
    payload: 'String CODEC(ZSTD(3))',
    rank: RANK,
  },
  engine: 'ReplacingMergeTree(rank)',
  orderBy: ['relay_chain', 'chain', 'kind', 'as_of', 'symbol'],
});

export const prices = table({
  name: 'prices',
  doc: 'Prices in USD, scaled by 10^30 so that the decimals of the source stay exact.',
  columns: {
    symbol: name,
    as_of: time,
    relay_chain: name,
    chain: name,
    usd_scaled: 'UInt256',
    rank: RANK,
  },
  engine: 'ReplacingMergeTree(rank)',
  orderBy: ['symbol', 'as_of', 'relay_chain', 'chain'],
});

/** Marks every pallet as dirty: a stored block was replaced, so rows of any pallet may be gone. */
export const ANY_PALLET = '*';

export const dirtyDays = table({
  name: 'dirty_days',
  doc: 'Days of a chain that a stream changed, and the sequence of the newest change.',
  columns: {
    stream: name,
    // Empty: a block or snapshot was loaded. A name: a loaded block contains the pallet. `*`: see ANY_PALLET.
    pallet: name,
    relay_chain: name,
    chain: name,
    day: 'Date',
    sequence: 'UInt64',
  },
  engine: 'ReplacingMergeTree(sequence)',
  partitionBy: 'toYYYYMM(day)',
  orderBy: ['stream', 'pallet', 'relay_chain', 'chain', 'day'],
  indexes: ['INDEX by_sequence sequence TYPE minmax GRANULARITY 1'],
});

export const dirtyHours = table({
  name: 'dirty_hours',
  doc: 'Hours of a chain that blocks were added to or taken from, and the sequence of the newest change: `dirty_days` in more detail, written with it.',
  columns: {
    // Empty for added blocks; `*` for replaced ones.
    pallet: name,
    relay_chain: name,
    chain: name,
    hour: time,
    sequence: 'UInt64',
  },
  engine: 'ReplacingMergeTree(sequence)',
  partitionBy: 'toYYYYMM(hour)',
  orderBy: ['pallet', 'relay_chain', 'chain', 'hour'],
  indexes: ['INDEX by_sequence sequence TYPE minmax GRANULARITY 1'],
});

export const deadLetters = table({
  name: 'dead_letters',
  doc: 'Refused input, with its origin, the reason and its first bytes.',
  columns: {
    id: 'String',
    topic: name,
    origin: 'String',
    line: 'UInt64',
    reason: 'String',
    bytes: 'String CODEC(ZSTD(3))',
    size: 'UInt64',
    received_at: time,
    version: 'UInt64',
    is_deleted: 'UInt8',
    // `attempts`: how often it was refused. `log_offset`: its offset on the dead letter topic; empty if the log has none.
    attempts: 'UInt32',
    log_offset: 'String',
    // The run that read it last.
    run: 'String',
  },
  engine: 'ReplacingMergeTree(version, is_deleted)',
  orderBy: ['id'],
});

export const skippedHeights = table({
  name: 'skipped_heights',
  doc: 'Heights that a source did not serve while it served others; they are tried again.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64',
    reason: 'String',
    first_tried_at: time,
    last_tried_at: time,
    tries: 'UInt32',
    version: 'UInt64',
    is_deleted: 'UInt8',
  },
  engine: 'ReplacingMergeTree(version, is_deleted)',
  orderBy: ['relay_chain', 'chain', 'number'],
});

export const addressEncodingsDue = table({
  name: 'address_encodings_due',
  doc: 'Account keys whose source printed them with another chain’s prefix.',
  columns: { key: 'String', prefix: 'UInt16' },
  engine: 'ReplacingMergeTree',
  orderBy: ['key', 'prefix'],
});

export const addressEncodings = table({
  name: 'address_encodings',
  doc: 'SS58 text of account keys that the source did not encode for their chain.',
  columns: { key: 'String', prefix: 'UInt16', address: 'String' },
  engine: 'ReplacingMergeTree',
  orderBy: ['key', 'prefix'],
});

export const chains = table({
  name: 'chains',
  doc: 'The chain registry, for joins.',
  columns: {
    relay_chain: name,
    chain: name,
    token: name,
    decimals: 'UInt8',
    prefix: 'UInt16',
    role: name,
    block_times: 'Array(Tuple(since Date, seconds Float64))',
    revision: 'UInt64',
  },
  engine: 'ReplacingMergeTree(revision)',
  orderBy: ['relay_chain', 'chain'],
});

export const rawTables = [
  blocks,
  loadedBlocks,
  replacedBlocks,
  extrinsics,
  events,
  calls,
  refusedFacts,
  snapshots,
  prices,
  dirtyDays,
  dirtyHours,
  deadLetters,
  skippedHeights,
  addressEncodingsDue,
  addressEncodings,
  chains,
];
