import { raw, type Sql, sql } from '../../infra/sql.ts';
import type { Table } from '../../infra/table.ts';
import { DOMAINS } from '../decode/domain.ts';
import { SNAPSHOT_KINDS } from '../decode/snapshot.ts';
import {
  canonicalBlocks,
  canonicalCalls,
  canonicalEvents,
  canonicalExtrinsics,
  ofRelays,
  type Window,
  within,
} from './canonical.ts';
import { blocks, calls, events, extrinsics, prices, snapshots } from './tables.ts';

// The public view of the raw tables: canonical rows, and documented columns with a stable meaning.

/** The streams of `dirty_days`. */
export type DirtyStream = 'blocks' | 'snapshots' | 'prices';

export interface RawColumn {
  readonly doc: string;
  /** ClickHouse type of the value that is read. */
  readonly type: string;
  /** SQL expression that computes the value from the stored column. */
  readonly select: string;
  /** Whether the value is the text of a JSON object. */
  readonly isObject: boolean;
}

export interface RawTable {
  readonly name: string;
  readonly doc: string;
  readonly columns: Readonly<Record<string, RawColumn>>;
  /** The columns that identify a row. They also order the rows of a day. */
  readonly key: readonly string[];
  /** The column with the time of a row. */
  readonly moment: 'time' | 'as_of';
  /** The streams that change rows of this table. */
  readonly streams: readonly DirtyStream[];
  /** The canonical rows, with the columns as they are stored. */
  readonly rows: (window: Window) => Sql;
}

/** Conversions of stored values. */
type Reading = 'flag' | 'account' | 'object' | 'present';
type Declared = string | readonly [reading: Reading, doc: string];

interface Definition<T extends Table> extends Omit<RawTable, 'name' | 'columns' | 'key'> {
  readonly key: readonly (keyof T['columns'] & string)[];
  /** The public columns. Omitted columns, such as `rank`, are internal. */
  readonly columns: Readonly<Partial<Record<keyof T['columns'] & string, Declared>>>;
}

function rawTable<T extends Table>({ name, columns: stored }: T, definition: Definition<T>): RawTable {
  const columns = Object.entries<Declared | undefined>(definition.columns).map(([column, declared = '']) => {
    const type = (stored[column] as string).replace(/ CODEC\(.*\)$/, '');
    const [reading, doc] = typeof declared === 'string' ? [undefined, declared] : declared;
    const isObject = reading === 'object';
    return [
      column,
      { doc, isObject, ...(reading ? READINGS[reading](column, type) : { type, select: column }) },
    ];
  });
  return { ...definition, name, columns: Object.fromEntries(columns) };
}

const READINGS: Readonly<
  Record<Reading, (column: string, type: string) => Pick<RawColumn, 'type' | 'select'>>
> = {
  flag: (column) => ({ type: 'Nullable(Bool)', select: `CAST(${column}, 'Nullable(Bool)')` }),
  account: (column) => ({
    type: 'Nullable(String)',
    select: `if(${column} = '', NULL, concat('0x', lower(hex(${column}))))`,
  }),
  object: (column, type) => ({ type, select: column }),
  present: (column, type) => ({
    type: type.replace(/^Nullable\((.*)\)$/, '$1'),
    select: `assumeNotNull(${column})`,
  }),
};

const RELAY_CHAIN = 'relay chain of the chain; `solo` for a chain that has none';
const CHAIN = 'chain, by its name in the registry';
const NUMBER = 'height of the block';
const TIME = 'time of the block';
const PALLET = 'pallet, in lower camel case and under its present name';

const rawBlocks = rawTable(blocks, {
  doc: 'One row per block: the canonical version of each height.',
  key: ['relay_chain', 'chain', 'number'],
  moment: 'time',
  streams: ['blocks'],
  rows: canonicalBlocks,
  columns: {
    relay_chain: RELAY_CHAIN,
    chain: CHAIN,
    number: 'height',
    hash: 'hash of the block, in lower-case hex with 0x',
    parent_hash: 'hash of the parent block',
    time: ['present', 'time that the block sets by `timestamp.set`'],
    author: 'author as the source writes it; empty if unknown',
    finalized: 'whether the source called it finalized',
    extrinsics: 'number of its extrinsics',
    events: 'number of its events, of all phases',
    unclear_extrinsics: 'number of its extrinsics with no outcome event, or with several',
    source: 'source: the name of a file or the address of a service',
    received_at: 'when it was read',
  },
});

const rawExtrinsics = rawTable(extrinsics, {
  doc: 'One row per extrinsic of a block, inherents included.',
  key: ['relay_chain', 'chain', 'number', 'extrinsic_index'],
  moment: 'time',
  streams: ['blocks'],
  rows: canonicalExtrinsics,
  columns: {
    relay_chain: RELAY_CHAIN,
    chain: CHAIN,
    number: NUMBER,
    extrinsic_index: 'position in the block, from 0',
    time: TIME,
    hash: 'hash of the extrinsic, in lower-case hex with 0x',
    pallet: PALLET,
    call: 'call, in lower camel case',
    pallet_written: 'pallet as the block names it',
    signed: 'whether it has a signature',
    signer: 'address of the signer as the source writes it; empty if unsigned',
    signer_key: [
      'account',
      'public key of the signer, or its 20 bytes, in hex with 0x; null if unsigned or not an address',
    ],
    outcome: [
      'flag',
      'whether its outcome event reports success; null with no outcome event, or with several',
    ],
    success: [
      'flag',
      'whether it was dispatched without an error; null if the source does not say, or if `outcome` is null',
    ],
    succeeded: [
      'flag',
      'as `success`; for Ethereum transactions also whether the EVM or the contract succeeded',
    ],
    ethereum: 'whether it carries an Ethereum transaction, which has no signature of the chain',
    ethereum_from: ['account', 'sender of that transaction, 20 bytes in hex with 0x'],
    ethereum_to: ['account', 'receiver of that transaction; null if it creates a contract'],
    general:
      'whether it is a general transaction of extrinsic format 5: with a nonce, but neither signed nor of Ethereum',
    fee: 'fee in planck, including the tip; 0 for inherents and for fees in another asset; null if unknown',
    fee_bearing: 'whether it is a transaction, or has a fee event',
    tip: 'tip in planck',
    domain: `domain: ${DOMAINS.join(', ')}`,
    args: ['object', 'arguments by their names; empty for inherents, whose domain is Consensus'],
  },
});

const rawEvents = rawTable(events, {
  doc: 'One row per event, numbered over the whole block.',
  key: ['relay_chain', 'chain', 'number', 'event_index'],
  moment: 'time',
  streams: ['blocks'],
  rows: canonicalEvents,
  columns: {
    relay_chain: RELAY_CHAIN,
    chain: CHAIN,
    number: NUMBER,
    event_index: 'position in the block, from 0: initialization, extrinsics in their order, finalization',
    time: TIME,
    phase: '`initialization`, `extrinsic` or `finalization`',
    extrinsic_index: 'extrinsic that caused it; null in other phases',
    pallet: PALLET,
    event: 'event, in upper camel case',
    data: 'its values in order: text as it is, all others as JSON; for `paraInclusion` only the para and its core',
    account: ['account', 'account of a known event: public key, or 20 bytes, in hex with 0x; else null'],
    counterparty: ['account', 'the other account, such as the receiver of a transfer; else null'],
    amount: 'amount of a known event, in planck of its asset; else null',
    refused: 'why a known event could not be decoded; else empty',
  },
});

const rawCalls = rawTable(calls, {
  doc: 'One row per executed call of the pallets that metrics read, including calls within batches, proxies and multisigs.',
  key: ['relay_chain', 'chain', 'number', 'extrinsic_index', 'position'],
  moment: 'time',
  streams: ['blocks'],
  rows: canonicalCalls,
  columns: {
    relay_chain: RELAY_CHAIN,
    chain: CHAIN,
    number: NUMBER,
    extrinsic_index: 'position of its extrinsic in the block',
    position: 'order of execution in the extrinsic; 0 is the call of the extrinsic itself',
    path: 'position in the nested arguments of the extrinsic, such as `0.2`; empty for the call of the extrinsic itself',
    time: TIME,
    pallet: PALLET,
    call: 'call, in lower camel case',
    actor: ['account', 'account on whose behalf it ran, in hex with 0x; null for root, or if unknown'],
    args: ['object', 'arguments by their names'],
  },
});

const ofMoments = (window: Window) => sql`${ofRelays(window)} AND ${within(window, raw('as_of'))}`;

const rawSnapshots = rawTable(snapshots, {
  doc: 'State of a chain at a moment that no event reports: one row per chain, kind, moment and (for prices) symbol.',
  key: ['relay_chain', 'chain', 'kind', 'as_of', 'symbol'],
  moment: 'as_of',
  streams: ['snapshots', 'prices'],
  rows: (window) => sql`(SELECT * FROM ${snapshots} FINAL WHERE ${ofMoments(window)})`,
  columns: {
    relay_chain: RELAY_CHAIN,
    chain: CHAIN,
    kind: `kind of state: ${SNAPSHOT_KINDS.map((kind) => `\`${kind}\``).join(', ')}`,
    as_of: 'the moment',
    symbol: 'token, for prices; else empty',
    block_number: 'height at which it was read; null for prices and locked value',
    payload: ['object', 'the state: fields by the kind, amounts as decimal strings in the smallest unit'],
  },
});

const rawPrices = rawTable(prices, {
  doc: 'Prices in USD: one row per token and moment, also in `snapshots`.',
  key: ['relay_chain', 'chain', 'symbol', 'as_of'],
  moment: 'as_of',
  streams: ['prices'],
  rows: (window) => sql`(SELECT * FROM ${prices} FINAL WHERE ${ofMoments(window)})`,
  columns: {
    relay_chain: RELAY_CHAIN,
    chain: CHAIN,
    symbol: 'token',
    as_of: 'the moment',
    usd_scaled: 'USD of one whole token, times 10^30',
  },
});

/** The public raw tables, by name. */
export const rawData: ReadonlyMap<string, RawTable> = new Map(
  [rawBlocks, rawExtrinsics, rawEvents, rawCalls, rawSnapshots, rawPrices].map((table) => [
    table.name,
    table,
  ]),
);
