import { raw, sql } from '../../infra/kernel/sql.ts';
import { inlet, view } from '../../infra/kernel/table.ts';
import { domainSql } from '../decode/domain.ts';
import { accountSql, factAmountSql, refusedSql } from './event-facts.ts';
import {
  addressSql,
  amountSql,
  callSql,
  eventSql,
  keySql,
  NO_PREFIX,
  palletSql,
  palletWrittenSql,
  prefixSql,
} from './parse-sql.ts';
import { blocks, calls, events, extrinsics, refusedFacts, spellingsDue, touched } from './raw.ts';

const EVENT = 'Tuple(method Tuple(pallet String, method String), data Array(String))';
const EXTRINSIC = `Tuple(method Tuple(pallet String, method String), signature Tuple(signer String), args String, tip String, hash String, info Tuple(partialFee String, kind String), success String, paysFee String, events Array(${EVENT}))`;

/**
 * Where whole blocks enter: one line a block, the source's own JSON in `payload`, and beside it what only
 * JavaScript can decode. The engine parses it once by these types; each view below makes the rows of one table.
 */
export const blocksIn = inlet({
  name: 'blocks_in',
  doc: 'Sidecar blocks in their envelope.',
  columns: {
    sequence: 'UInt64',
    relay_chain: 'String',
    chain: 'String',
    prefix: 'UInt16',
    version: 'String',
    is_deleted: 'UInt8',
    source: 'String',
    calls:
      'Array(Tuple(extrinsic_index UInt32, position UInt32, path String, pallet String, call String, actor String, args String))',
    domains: 'Array(Tuple(extrinsic_index UInt32, domain String))',
    senders: 'Array(Tuple(extrinsic_index UInt32, sender String, receiver String))',
    refused: 'Array(Tuple(fact String, reason String, raw String))',
    payload: `Tuple(number UInt64, hash String, parentHash String, authorId String, finalized String, onInitialize Tuple(events Array(${EVENT})), extrinsics Array(${EXTRINSIC}), onFinalize Tuple(events Array(${EVENT})))`,
  },
});

/** Calls that facts are read from, at the top level and nested. */
export const FACT_PALLETS = [
  'polkadotXcm',
  'xcmPallet',
  'xTokens',
  'convictionVoting',
  'referenda',
  'bounties',
  'childBounties',
  'multiAssetBounties',
  'treasury',
  'broker',
  'revive',
] as const;
export const FACT_CALLS = ['system.remark'] as const;

const number = 'payload.number';
const finalized = "payload.finalized != 'false'";
const version = `if(version = '', if(${finalized}, 9223372036854775808, toUInt64(0)) + bitShiftRight(sequence, 20), toUInt64OrZero(version))`;
const rank = `bitOr(bitOr(bitShiftLeft(toUInt128(${finalized}), 127), bitShiftLeft(toUInt128(${version}), 63)), toUInt128(sequence))`;
const sequenceOfRank = 'toUInt64(bitAnd(rank, 9223372036854775807))';

const pallets = 'payload.extrinsics.method.pallet';
const timestampArgs = `payload.extrinsics.args[arrayFirstIndex((p, m) -> lower(p) = 'timestamp' AND m = 'set', ${pallets}, payload.extrinsics.method.method)]`;
const milliseconds = `toInt64OrNull(replaceAll(JSONExtractRaw(${timestampArgs}, 'now'), '"', ''))`;
const blockTime = `fromUnixTimestamp64Milli(${milliseconds}, 'UTC')`;
/** The epoch stands for "no timestamp" where rows live only through their block. */
const rowTime = `ifNull(${blockTime}, toDateTime64(0, 3, 'UTC'))`;

const identity = `relay_chain, chain, ${number} AS number`;

const blockRows = view(
  'blocks_to_blocks',
  blocksIn,
  blocks,
  sql`SELECT ${raw(identity)}, lower(payload.hash) AS hash, lower(payload.parentHash) AS parent_hash,
    ${raw(blockTime)} AS time, payload.authorId AS author, ${raw(finalized)} AS finalized,
    length(payload.extrinsics) AS extrinsics,
    length(payload.onInitialize.events) + arraySum(arrayMap(e -> length(e), payload.extrinsics.events))
      + length(payload.onFinalize.events) AS events,
    source, fromUnixTimestamp64Milli(toInt64(bitShiftRight(sequence, 20)), 'UTC') AS received_at,
    ${raw(rank)} AS rank, is_deleted
  FROM ${blocksIn}`,
);

const signer = addressSql('x.signature.signer');
const palletWritten = palletWrittenSql('x.method.pallet');
const pallet = palletSql(palletWritten);
const call = callSql('x.method.method');
/** Archives that copy metadata write the pallet with a capital. */
const eventIs = (pallet: string, event: string) =>
  `e.method.pallet IN ('${pallet}', '${pallet.charAt(0).toUpperCase()}${pallet.slice(1)}') AND e.method.method = '${event}'`;

/**
 * The fee in planck by the first source that has it. The third, for the oldest runtimes, adds up what the
 * treasury and the author received inside the extrinsic.
 */
const feeEvent = `arrayFirstIndex(e -> ${eventIs('transactionPayment', 'TransactionFeePaid')} AND length(e.data) = 3 AND isNotNull(${amountSql('e.data[2]')}), x.events)`;
const share = `arrayMap(a -> assumeNotNull(a), arrayFilter(a -> isNotNull(a), arrayMap(e -> multiIf(
    ${eventIs('treasury', 'Deposit')} AND length(e.data) = 1, ${amountSql('e.data[1]')},
    ${eventIs('balances', 'Deposit')} AND length(e.data) = 2 AND payload.authorId != ''
      AND ${keySql(addressSql('e.data[1]'))} = ${keySql(addressSql('payload.authorId'))}, ${amountSql('e.data[2]')},
    NULL), x.events)))`;
const fee = `multiIf(
    NOT signed, toNullable(toUInt128(0)),
    fee_event > 0, ${amountSql('x.events[fee_event].data[2]')},
    arrayExists(e -> ${eventIs('assetTxPayment', 'AssetTxFeePaid')}, x.events), toUInt128(0),
    isNotNull(partial_fee), partial_fee + if(x.info.kind = 'fromEvent', toUInt128(0), tip),
    x.paysFee = 'false', toUInt128(0),
    length(shares) > 0, arraySum(shares),
    NULL)`;

const evmEvent = `arrayFirstIndex(e -> ${eventIs('ethereum', 'Executed')} AND length(e.data) IN (4, 5), x.events)`;
const own = (list: string) => `arrayFirst(d -> d.extrinsic_index = i - 1, ${list})`;

const extrinsicRows = view(
  'blocks_to_extrinsics',
  blocksIn,
  extrinsics,
  sql`WITH
    ${raw(feeEvent)} AS fee_event,
    if(signed, ${raw(amountSql('x.info.partialFee'))}, NULL) AS partial_fee,
    if(signed, ${raw(share)}, []) AS shares,
    if(pallet = 'ethereum', ${raw(evmEvent)}, 0) AS evm_event,
    ${raw(own('domains'))}.domain AS wrapper_domain,
    ${raw(own('senders'))} AS recovered
  SELECT ${raw(identity)}, i - 1 AS extrinsic_index, ${raw(rowTime)} AS time, lower(x.hash) AS hash,
    ${raw(pallet)} AS pallet, ${raw(call)} AS call, ${raw(palletWritten)} AS pallet_written,
    signer != '' AS signed, ${raw(signer)} AS signer, ${raw(keySql('signer'))} AS signer_key,
    multiIf(x.success = 'true', 1, x.success = 'false', 0, NULL) AS success,
    multiIf(
      isNull(success), NULL,
      success = 0, 0,
      pallet = 'ethereum' AND call = 'transact', evm_event > 0 AND match(x.events[evm_event].data[4], '^[{] *"[Ss]ucceed"'),
      pallet = 'revive' AND call = 'ethTransact', NOT arrayExists(e -> ${raw(eventIs('revive', 'EthExtrinsicRevert'))}, x.events),
      1) AS succeeded,
    NOT signed AND ((pallet = 'ethereum' AND call = 'transact') OR (pallet = 'revive' AND call = 'ethTransact')) AS ethereum,
    multiIf(
      NOT ethereum, '',
      pallet = 'revive', unhex(substring(recovered.sender, 3)),
      evm_event > 0, ${raw(keySql('x.events[evm_event].data[1]'))},
      '') AS ethereum_from,
    multiIf(
      NOT ethereum, '',
      pallet = 'revive', unhex(substring(recovered.receiver, 3)),
      evm_event > 0, ${raw(keySql('x.events[evm_event].data[2]'))},
      '') AS ethereum_to,
    ${raw(fee)} AS fee,
    if(signed, ifNull(${raw(amountSql('x.tip'))}, toUInt128(0)), toUInt128(0)) AS tip,
    if(wrapper_domain != '', wrapper_domain, ${raw(domainSql('pallet_written', 'call'))}) AS domain,
    if(domain = 'Consensus', '', x.args) AS args,
    ${raw(rank)} AS rank
  FROM ${blocksIn}
  ARRAY JOIN payload.extrinsics AS x, arrayEnumerate(payload.extrinsics) AS i
  WHERE is_deleted = 0`,
);

/** Events are numbered over the whole block: initialization, the extrinsics in order, finalization. */
const eventGroups =
  'arrayPushFront(arrayPushBack(payload.extrinsics.events, payload.onFinalize.events), payload.onInitialize.events)';
const numberedEvents = sql`SELECT ${raw(identity)}, ${raw(rowTime)} AS time, ${raw(rank)} AS rank,
    length(payload.extrinsics) AS extrinsic_count, g, group_events,
    offsets[g] AS offset
  FROM (SELECT *, ${raw(eventGroups)} AS groups, arrayMap(group -> length(group), groups) AS lengths,
      arrayPushFront(arrayCumSum(lengths), 0) AS offsets
    FROM ${blocksIn} WHERE is_deleted = 0)
  ARRAY JOIN groups AS group_events, arrayEnumerate(groups) AS g`;

/** Parachain heads are most of a relay block's bytes; of them only the para and its core are kept. */
const keptData = `multiIf(
    pallet != 'paraInclusion', e.data,
    event = 'CandidateIncluded' AND length(e.data) = 4, [JSONExtractString(e.data[1], 'descriptor', 'paraId'), e.data[3]],
    CAST([], 'Array(String)'))`;

const eventRows = view(
  'blocks_to_events',
  blocksIn,
  events,
  sql`WITH concat(pallet, '.', event) AS known_as
  SELECT relay_chain, chain, number, offset + k - 1 AS event_index, time,
    multiIf(g = 1, 'initialization', g = extrinsic_count + 2, 'finalization', 'extrinsic') AS phase,
    if(phase = 'extrinsic', toUInt32(g - 2), NULL) AS extrinsic_index,
    ${raw(palletSql(palletWrittenSql('e.method.pallet')))} AS pallet,
    ${raw(eventSql('pallet', 'e.method.method'))} AS event,
    ${raw(keptData)} AS data,
    ${raw(accountSql('known_as', 'e.data', 'account'))} AS account,
    ${raw(accountSql('known_as', 'e.data', 'counterparty'))} AS counterparty,
    ${raw(factAmountSql('known_as', 'e.data'))} AS amount,
    ${raw(refusedSql('known_as', 'e.data', { account: 'account', counterparty: 'counterparty', amount: 'amount' }))} AS refused,
    rank
  FROM (${numberedEvents})
  ARRAY JOIN group_events AS e, arrayEnumerate(group_events) AS k`,
);

const quoted = (names: readonly string[]) => raw(names.map((name) => `'${name}'`).join(', '));
const holdsFacts = sql`(pallet IN (${quoted(FACT_PALLETS)}) OR concat(pallet, '.', call) IN (${quoted(FACT_CALLS)}))`;

const topCallRows = view(
  'extrinsics_to_calls',
  extrinsics,
  calls,
  sql`SELECT relay_chain, chain, number, extrinsic_index, 0 AS position, '' AS path, time, pallet, call,
    signer_key AS actor, args, rank
  FROM ${extrinsics} WHERE success = 1 AND ${holdsFacts}`,
);

const nestedCallRows = view(
  'blocks_to_calls',
  blocksIn,
  calls,
  sql`SELECT ${raw(identity)}, c.extrinsic_index AS extrinsic_index, c.position AS position, c.path AS path,
    ${raw(rowTime)} AS time, c.pallet AS pallet, c.call AS call, unhex(substring(c.actor, 3)) AS actor,
    c.args AS args, ${raw(rank)} AS rank
  FROM ${blocksIn} ARRAY JOIN calls AS c WHERE is_deleted = 0 AND ${holdsFacts}`,
);

const refusedEventRows = view(
  'events_to_refused_facts',
  events,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('event ', toString(event_index), ' ', pallet, '.', event) AS fact,
    refused AS reason, toJSONString(data) AS raw, rank
  FROM ${events} WHERE refused != ''`,
);

const refusedCallRows = view(
  'blocks_to_refused_facts',
  blocksIn,
  refusedFacts,
  sql`SELECT ${raw(identity)}, r.fact AS fact, r.reason AS reason, r.raw AS raw, ${raw(rank)} AS rank
  FROM ${blocksIn} ARRAY JOIN refused AS r WHERE is_deleted = 0`,
);

const refusedSignerRows = view(
  'extrinsics_to_refused_facts',
  extrinsics,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('extrinsic ', toString(extrinsic_index), ' signer') AS fact,
    'not an address' AS reason, signer AS raw, rank
  FROM ${extrinsics} WHERE signed AND signer_key = ''`,
);

/** Amounts outside events: a tip or fee that is no unsigned integer. */
const refusedAmountRows = view(
  'blocks_to_refused_amounts',
  blocksIn,
  refusedFacts,
  sql`SELECT ${raw(identity)}, concat('extrinsic ', toString(part.1 - 1), ' ', part.2) AS fact,
    'not an unsigned integer' AS reason, part.3 AS raw, ${raw(rank)} AS rank
  FROM ${blocksIn}
  ARRAY JOIN arrayFlatten(arrayMap((i, tip, fee) -> [(i, 'tip', tip), (i, 'info.partialFee', fee)],
    arrayEnumerate(payload.extrinsics), payload.extrinsics.tip, payload.extrinsics.info.partialFee)) AS part
  WHERE is_deleted = 0 AND part.3 != '' AND isNull(${raw(amountSql('part.3'))})`,
);

const touchedRows = view(
  'blocks_to_touched',
  blocks,
  touched,
  sql`SELECT 'blocks' AS stream, relay_chain, chain, toDate(assumeNotNull(time)) AS day,
    max(${raw(sequenceOfRank)}) AS sequence
  FROM ${blocks} WHERE isNotNull(time) GROUP BY relay_chain, chain, day`,
);

const spellingRows = view(
  'blocks_to_spellings_due',
  blocksIn,
  spellingsDue,
  sql`SELECT DISTINCT ${raw(keySql('address'))} AS key, prefix
  FROM (SELECT prefix, ${raw(addressSql('signer'))} AS address
    FROM ${blocksIn} ARRAY JOIN payload.extrinsics.signature.signer AS signer WHERE signer != '')
  WHERE prefix != ${NO_PREFIX} AND ${raw(prefixSql('address'))} != prefix AND length(key) = 32`,
);

export const blockViews = [
  blockRows,
  extrinsicRows,
  eventRows,
  topCallRows,
  nestedCallRows,
  refusedEventRows,
  refusedCallRows,
  refusedSignerRows,
  refusedAmountRows,
  touchedRows,
  spellingRows,
];
