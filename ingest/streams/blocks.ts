import { raw, sql } from '../../infra/kernel/sql.ts';
import { inlet, view } from '../../infra/kernel/table.ts';
import { domainSql } from '../decode/domain.ts';
import { factSql, partSql, refusedSql } from './event-facts.ts';
import {
  addressSql,
  amountSql,
  callSql,
  eventSql,
  inSteps,
  keySql,
  NO_PREFIX,
  palletSql,
  palletWrittenSql,
  prefixSql,
} from './parse-sql.ts';
import {
  blocks,
  calls,
  chains,
  events,
  extrinsics,
  RANK,
  refusedFacts,
  spellingsDue,
  touched,
} from './raw.ts';

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

/** What every row of a block repeats: worked out once a block, before its rows are unfolded. */
const everyRow = `toLowCardinality(relay_chain) AS relay_chain, toLowCardinality(chain) AS chain, ${number} AS number,
    ${rowTime} AS time, ${rank} AS rank`;
const everyRowColumns = {
  relay_chain: 'LowCardinality(String)',
  chain: 'LowCardinality(String)',
  number: 'UInt64',
  time: "DateTime64(3, 'UTC')",
  rank: RANK,
};

/**
 * Extrinsics as the source spells them, unfolded field by field. Views that read them start from plain columns:
 * a statement that unfolds and decodes at once takes the engine many times longer to plan, for every batch.
 */
export const extrinsicsIn = inlet({
  name: 'extrinsics_in',
  doc: 'Extrinsics of the blocks, as their source spells them.',
  columns: {
    ...everyRowColumns,
    prefix: 'UInt16',
    author: 'String',
    extrinsic_index: 'UInt32',
    pallet_given: 'String',
    call_given: 'String',
    signer_given: 'String',
    args: 'String',
    tip_given: 'String',
    hash: 'String',
    fee_given: 'String',
    fee_kind: 'String',
    success_given: 'String',
    pays_fee: 'String',
    event_pallets: 'Array(String)',
    event_names: 'Array(String)',
    event_data: 'Array(Array(String))',
    // What JavaScript decoded of it.
    wrapper_domain: 'String',
    recovered_sender: 'String',
    recovered_receiver: 'String',
  },
});

const own = (list: string) => `arrayFirst(d -> d.extrinsic_index = i - 1, ${list})`;
const unfoldedExtrinsics = view(
  'blocks_to_extrinsics_in',
  blocksIn,
  extrinsicsIn,
  sql`SELECT relay_chain, chain, number, time, rank, prefix, author, i - 1 AS extrinsic_index, pallet_given, call_given,
    signer_given, args, tip_given, hash, fee_given, fee_kind, success_given, pays_fee,
    event_pallets, event_names, event_data, ${raw(own('domains'))}.domain AS wrapper_domain,
    ${raw(own('senders'))}.sender AS recovered_sender, ${raw(own('senders'))}.receiver AS recovered_receiver
  FROM (SELECT ${raw(everyRow)}, prefix, payload.authorId AS author, payload.extrinsics AS list, domains, senders
    FROM ${blocksIn} WHERE is_deleted = 0)
  ARRAY JOIN arrayEnumerate(list) AS i, list.method.pallet AS pallet_given, list.method.method AS call_given,
    list.signature.signer AS signer_given, list.args AS args, list.tip AS tip_given, list.hash AS hash,
    list.info.partialFee AS fee_given, list.info.kind AS fee_kind, list.success AS success_given,
    list.paysFee AS pays_fee, list.events.method.pallet AS event_pallets,
    list.events.method.method AS event_names, list.events.data AS event_data`,
);

/** Archives that copy metadata write the pallet with a capital. */
const eventIs = (pallet: string, event: string) =>
  `m = '${event}' AND p IN ('${pallet}', '${pallet.charAt(0).toUpperCase()}${pallet.slice(1)}')`;
/** Data of the extrinsic's events that fit; `p`, `m` and `d` are pallet, name and data of one. */
const eventData = (condition: string) =>
  `arrayFilter((d, p, m) -> ${condition}, event_data, event_pallets, event_names)`;
const hasEvent = (pallet: string, event: string) =>
  `arrayExists((p, m) -> ${eventIs(pallet, event)}, event_pallets, event_names)`;
const amounts = (texts: string) => `arrayMap(text -> ${amountSql('text')}, ${texts})`;

/**
 * The fee in planck by the first source that has it. The last, for the oldest runtimes, adds up what the
 * treasury and the author received inside the extrinsic.
 */
const fee = `multiIf(
    NOT signed, toNullable(toUInt128(0)),
    isNotNull(paid_fee), paid_fee,
    ${hasEvent('assetTxPayment', 'AssetTxFeePaid')}, toUInt128(0),
    isNotNull(partial_fee), partial_fee + if(fee_kind = 'fromEvent', toUInt128(0), tip),
    pays_fee = 'false', toUInt128(0),
    length(shares) > 0, arraySum(shares),
    NULL)`;
const paidFees = eventData(`${eventIs('transactionPayment', 'TransactionFeePaid')} AND length(d) = 3`);
const deposits = eventData(
  `(${eventIs('treasury', 'Deposit')} AND length(d) = 1) OR (author != '' AND ${eventIs('balances', 'Deposit')} AND length(d) = 2)`,
);
const share = `multiIf(length(d) = 1, d[1], ${keySql(addressSql('d[1]'))} = ${keySql(addressSql('author'))}, d[2], '')`;

const extrinsicRows = view(
  'extrinsics_in_to_extrinsics',
  extrinsicsIn,
  extrinsics,
  sql`SELECT relay_chain, chain, number, extrinsic_index, time, lower(given.hash) AS hash, pallet, call, pallet_written,
    signed, signer, ${raw(keySql('signer'))} AS signer_key, success,
    multiIf(
      isNull(success), NULL,
      success = 0, 0,
      evm_call, match(evm_data[4], '^[{] *"[Ss]ucceed"'),
      revive_call, NOT ${raw(hasEvent('revive', 'EthExtrinsicRevert'))},
      1) AS succeeded,
    NOT signed AND (evm_call OR revive_call) AS ethereum,
    multiIf(NOT ethereum, '', revive_call, unhex(substring(recovered_sender, 3)), ${raw(keySql('evm_data[1]'))}) AS ethereum_from,
    multiIf(NOT ethereum, '', revive_call, unhex(substring(recovered_receiver, 3)), ${raw(keySql('evm_data[2]'))}) AS ethereum_to,
    ${raw(fee)} AS fee, tip, domain, if(domain = 'Consensus', '', given.args) AS args, rank
  FROM ${inSteps(
    sql`${extrinsicsIn}`,
    `${palletWrittenSql('pallet_given')} AS pallet_written, ${callSql('call_given')} AS call,
      ${addressSql('signer_given')} AS signer, signer != '' AS signed,
      multiIf(success_given = 'true', 1, success_given = 'false', 0, NULL) AS success,
      if(signed, ifNull(${amountSql('tip_given')}, toUInt128(0)), toUInt128(0)) AS tip,
      if(signed, ${amountSql('fee_given')}, NULL) AS partial_fee,
      if(signed, arrayFirst(amount -> isNotNull(amount), ${amounts(`arrayMap(d -> d[2], ${paidFees})`)}), NULL) AS paid_fee,
      if(signed AND isNull(paid_fee) AND isNull(partial_fee), ${deposits}, []) AS deposits`,
    `${palletSql('pallet_written')} AS pallet,
      if(wrapper_domain != '', wrapper_domain, ${domainSql('pallet_written', 'call')}) AS domain,
      pallet = 'ethereum' AND call = 'transact' AS evm_call, pallet = 'revive' AND call = 'ethTransact' AS revive_call,
      if(evm_call, ${eventData(`${eventIs('ethereum', 'Executed')} AND length(d) IN (4, 5)`)}[1], []) AS evm_data,
      arrayMap(amount -> assumeNotNull(amount), arrayFilter(amount -> isNotNull(amount),
        ${amounts(`arrayMap(d -> ${share}, deposits)`)})) AS shares`,
  )} AS given`,
);

/** Events as the source spells them, numbered over the whole block. */
export const eventsIn = inlet({
  name: 'events_in',
  doc: 'Events of the blocks, as their source spells them.',
  columns: {
    ...everyRowColumns,
    event_index: 'UInt32',
    phase: 'LowCardinality(String)',
    extrinsic_index: 'Nullable(UInt32)',
    pallet_given: 'String',
    event_given: 'String',
    data_given: 'Array(String)',
  },
});

/** Initialization, the extrinsics in order, finalization: `g` numbers these groups. */
const unfoldedEvents = view(
  'blocks_to_events_in',
  blocksIn,
  eventsIn,
  sql`SELECT relay_chain, chain, number, time, rank, k - 1 AS event_index,
    multiIf(g = 1, 'initialization', g = groups, 'finalization', 'extrinsic') AS phase,
    if(phase = 'extrinsic', toUInt32(g - 2), NULL) AS extrinsic_index, pallet_given, event_given, data_given
  FROM (SELECT ${raw(everyRow)}, length(lengths) AS groups,
      arrayConcat([length(payload.onInitialize.events)], arrayMap(group -> length(group), payload.extrinsics.events),
        [length(payload.onFinalize.events)]) AS lengths,
      arrayConcat(payload.onInitialize.events, arrayFlatten(payload.extrinsics.events), payload.onFinalize.events) AS list
    FROM ${blocksIn} WHERE is_deleted = 0)
  ARRAY JOIN arrayEnumerate(list) AS k,
    arrayFlatten(arrayMap((n, g) -> arrayWithConstant(n, g), lengths, arrayEnumerate(lengths))) AS g,
    list.method.pallet AS pallet_given, list.method.method AS event_given, list.data AS data_given`,
);

/** Parachain heads are most of a relay block's bytes; of them only the para and its core are kept. */
const keptData = `multiIf(
    pallet != 'paraInclusion', data_given,
    event = 'CandidateIncluded' AND length(data_given) = 4, [JSONExtractString(data_given[1], 'descriptor', 'paraId'), data_given[3]],
    CAST([], 'Array(String)'))`;

const eventRows = view(
  'events_in_to_events',
  eventsIn,
  events,
  sql`SELECT relay_chain, chain, number, event_index, time, phase, extrinsic_index, pallet, event,
    ${raw(keptData)} AS data, account, counterparty, amount,
    ${raw(refusedSql('fact', 'data_given', { account: 'account', counterparty: 'counterparty', amount: 'amount', secondAmount: 'second_amount' }))} AS refused,
    rank
  FROM ${inSteps(
    sql`${eventsIn}`,
    `${palletSql(palletWrittenSql('pallet_given'))} AS pallet`,
    `${eventSql('pallet', 'event_given')} AS event`,
    `${factSql("concat(pallet, '.', event)")} AS fact`,
    `${addressSql(partSql('fact', 'data_given', 'account'))} AS account_text,
      ${addressSql(partSql('fact', 'data_given', 'counterparty'))} AS counterparty_text,
      ${partSql('fact', 'data_given', 'amount')} AS amount_text,
      ${partSql('fact', 'data_given', 'secondAmount')} AS second_amount_text`,
    `${keySql('account_text')} AS account, ${keySql('counterparty_text')} AS counterparty,
      ${amountSql('amount_text')} AS amount, ${amountSql('second_amount_text')} AS second_amount`,
  )}`,
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
  'extrinsics_in_to_refused_facts',
  extrinsicsIn,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('extrinsic ', toString(extrinsic_index), ' ', name) AS fact,
    'not an unsigned integer' AS reason, text AS raw, rank
  FROM ${extrinsicsIn} ARRAY JOIN ['tip', 'info.partialFee'] AS name, [tip_given, fee_given] AS text
  WHERE text != '' AND isNull(${raw(amountSql('text'))})`,
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
  'extrinsics_in_to_spellings_due',
  extrinsicsIn,
  spellingsDue,
  sql`SELECT DISTINCT ${raw(keySql('address'))} AS key, prefix
  FROM (SELECT prefix, ${raw(addressSql('signer_given'))} AS address
    FROM ${extrinsicsIn} WHERE prefix != ${NO_PREFIX} AND signer_given != '')
  WHERE ${raw(prefixSql('address'))} != prefix AND length(key) = 32`,
);

/** Who is paid is not who signs. */
const paidSpellingRows = view(
  'events_to_spellings_due',
  events,
  spellingsDue,
  sql`SELECT DISTINCT account AS key, prefix
  FROM ${events} AS paid INNER JOIN (SELECT chain, prefix FROM ${chains} FINAL) AS registry USING (chain)
  WHERE (pallet, event) IN (('staking', 'Rewarded'), ('nominationPools', 'PaidOut'))
    AND length(account) = 32 AND ${raw(prefixSql(addressSql('data[1]')))} != prefix`,
);

export const blockInlets = [blocksIn, extrinsicsIn, eventsIn];

export const blockViews = [
  blockRows,
  unfoldedExtrinsics,
  unfoldedEvents,
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
  paidSpellingRows,
];
