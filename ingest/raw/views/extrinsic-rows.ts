import { raw, sql } from '../../../infra/sql.ts';
import { landingTable, view } from '../../../infra/table.ts';
import { domainSql } from '../../decode/domain.ts';
import type { FieldOf } from '../../decode/event-fields.ts';
import { blocksRanked, everyRow, everyRowColumns, SUCCESS } from '../block-landing.ts';
import {
  addressSql,
  amountSql,
  base58Sql,
  callSql,
  inSteps,
  keySql,
  namesOf,
  palletSql,
  palletWrittenSql,
} from '../parse-sql.ts';
import { extrinsics } from '../tables.ts';
import { fieldSql, isComplete } from './event-facts.ts';

/**
 * Extrinsics are decoded in steps, each a view on a landing table. The engine plans every view again for every batch, and
 * planning a statement over plain columns takes a fraction of the time that nested expressions take.
 */
const name = 'LowCardinality(String)';
const amount = 'Nullable(UInt128)';

/** Columns that the first step passes on. */
const passedOn = {
  ...everyRowColumns,
  prefix: 'UInt16',
  author: 'String',
  extrinsic_index: 'UInt32',
  args: 'String',
  tip_given: 'String',
  hash: 'String',
  fee_given: 'String',
  fee_kind: name,
  nonce: name,
  pays_fee: name,
  event_pallets: 'Array(String)',
  event_names: 'Array(String)',
  event_data: 'Array(Array(String))',
  // Decoded by TypeScript.
  wrapper_domain: name,
  recovered_sender: 'String',
  recovered_receiver: 'String',
};

const extrinsicsIn = landingTable({
  name: 'extrinsics_in',
  doc: 'Extrinsics of the blocks in the notation of their source.',
  columns: {
    ...passedOn,
    pallet_given: name,
    call_given: name,
    signer_given: 'String',
    success_given: SUCCESS,
    outcomes: 'Array(String)',
  },
});

const extrinsicsRead = landingTable({
  name: 'extrinsics_read',
  doc: 'Extrinsics with decoded names, signers and amounts.',
  columns: {
    ...passedOn,
    pallet_written: name,
    call: name,
    signer: 'String',
    signer_bytes: 'String',
    outcome: 'Nullable(UInt8)',
    success: 'Nullable(UInt8)',
    tip_amount: amount,
    fee_amount: amount,
  },
});

export const extrinsicsDecoded = landingTable({
  name: 'extrinsics_decoded',
  doc: 'Extrinsics with the values from which the fee follows.',
  columns: {
    ...extrinsicsRead.columns,
    pallet: name,
    domain: name,
    signed: 'Bool',
    signer_key: 'String',
    tip: 'UInt128',
    evm_call: 'Bool',
    revive_call: 'Bool',
    evm_data: 'Array(String)',
    ethereum: 'Bool',
    general: 'Bool',
    paid_fee: amount,
    paid_otherwise: 'Bool',
    // For the oldest runtimes: the amounts that the treasury and the author received.
    deposits: 'Array(Array(String))',
  },
});

/** Spreads facts that TypeScript decoded from some extrinsics over a list with an item for each extrinsic. */
const placed = (list: string, field: string) =>
  `arrayResize(arrayReduce('groupArrayInsertAt', ${list}.${field}, ${list}.extrinsic_index), length(payload.extrinsics), '')`;
const unfoldedExtrinsics = view(
  'ranked_to_extrinsics_in',
  blocksRanked,
  extrinsicsIn,
  sql`SELECT relay_chain, chain, number, time, rank, prefix, author, i - 1 AS extrinsic_index, pallet_given, call_given,
    signer_given, args, tip_given, hash, fee_given, fee_kind, nonce, success_given, outcomes, pays_fee,
    event_pallets, event_names, event_data, wrapper_domain, recovered_sender, recovered_receiver
  FROM (SELECT ${raw(everyRow)}, prefix, payload.authorId AS author, payload.extrinsics AS list, outcomes AS outcomes_of,
      ${raw(placed('domains', 'domain'))} AS domain_of, ${raw(placed('senders', 'sender'))} AS sender_of,
      ${raw(placed('senders', 'receiver'))} AS receiver_of
    FROM ${blocksRanked} WHERE is_deleted = 0)
  ARRAY JOIN arrayEnumerate(list) AS i, list.method.pallet AS pallet_given, list.method.method AS call_given,
    list.signature.signer AS signer_given, list.args AS args, list.tip AS tip_given, list.hash AS hash,
    list.info.partialFee AS fee_given, list.info.kind AS fee_kind, list.nonce AS nonce, list.success AS success_given, outcomes_of AS outcomes,
    list.paysFee AS pays_fee, list.events.method.pallet AS event_pallets,
    list.events.method.method AS event_names, list.events.data AS event_data, domain_of AS wrapper_domain,
    sender_of AS recovered_sender, receiver_of AS recovered_receiver`,
);

const readExtrinsics = view(
  'extrinsics_in_to_read',
  extrinsicsIn,
  extrinsicsRead,
  sql`SELECT ${namesOf(passedOn)},
    ${raw(palletWrittenSql('pallet_given'))} AS pallet_written, ${raw(callSql('call_given'))} AS call,
    ${raw(addressSql('signer_given'))} AS signer, ${raw(base58Sql('signer'))} AS signer_bytes,
    if(length(outcomes) = 1, toNullable(endsWith(outcomes[1], 'Success')), NULL) AS outcome,
    if(isNull(outcome), NULL, CAST(dynamicElement(success_given, 'Bool'), 'Nullable(UInt8)')) AS success,
    ${raw(amountSql('tip_given'))} AS tip_amount, ${raw(amountSql('fee_given'))} AS fee_amount
  FROM ${extrinsicsIn}`,
);

/** Accepts a capitalised pallet too, as archives that copy metadata write it. */
const eventIs = (pallet: string, event: string) =>
  `m = '${event}' AND p IN ('${pallet}', '${pallet.charAt(0).toUpperCase()}${pallet.slice(1)}')`;
/** Data of the events of the extrinsic that match a condition on `p`, `m` and `d`: pallet, name and data of an event. */
const eventData = (condition: string) =>
  `arrayFilter((d, p, m) -> ${condition}, event_data, event_pallets, event_names)`;
/** Whether the fee was paid in another asset: some event name ends in `FeePaid`, but is not the usual one. */
const paidOtherwise = `arrayExists(m -> endsWith(m, 'FeePaid') AND lower(m) != 'transactionfeepaid', event_names)`;
const hasEvent = (pallet: string, event: string) =>
  `arrayExists((p, m) -> ${eventIs(pallet, event)}, event_pallets, event_names)`;
const amounts = (texts: string) => `arrayMap(text -> ${amountSql('text')}, ${texts})`;

const paidFees = eventData(
  `${eventIs('transactionPayment', 'TransactionFeePaid')} AND ${isComplete('transactionPayment.TransactionFeePaid', 'd')}`,
);
const paidFee = `arrayFirst(amount -> isNotNull(amount), ${amounts(`arrayMap(d -> ${fieldSql('transactionPayment.TransactionFeePaid', 'actual_fee', 'd')}, ${paidFees})`)})`;
const executions = eventData(
  `${eventIs('ethereum', 'Executed')} AND ${isComplete('ethereum.Executed', 'd')}`,
);
const executed = (field: FieldOf<'ethereum.Executed'>) => fieldSql('ethereum.Executed', field, 'evm_data');
const isTreasuryDeposit = isComplete('treasury.Deposit', 'd');
const depositsMade = eventData(
  `(${eventIs('treasury', 'Deposit')} AND ${isTreasuryDeposit}) OR (author != '' AND ${eventIs('balances', 'Deposit')} AND ${isComplete('balances.Deposit', 'd')})`,
);
const depositTo = (field: 'who' | 'amount') => fieldSql('balances.Deposit', field, 'd');

const decodedExtrinsics = view(
  'read_to_extrinsics_decoded',
  extrinsicsRead,
  extrinsicsDecoded,
  sql`SELECT ${namesOf(extrinsicsRead.columns)}, signer != '' AS signed,
    ${raw(palletSql('pallet_written'))} AS pallet,
    if(wrapper_domain != '', wrapper_domain, ${raw(domainSql('pallet_written', 'call'))}) AS domain,
    ${raw(keySql('signer', 'signer_bytes'))} AS signer_key,
    pallet_written = 'ethereum' AND call = 'transact' AS evm_call,
    pallet_written = 'revive' AND call = 'ethTransact' AS revive_call,
    NOT signed AND (evm_call OR revive_call) AS ethereum,
    NOT signed AND NOT ethereum AND nonce NOT IN ('', 'null') AS general,
    if(signed OR general, ifNull(tip_amount, 0), 0) AS tip,
    if(evm_call, ${raw(executions)}[1], []) AS evm_data,
    ${raw(paidFee)} AS paid_fee, ${raw(paidOtherwise)} AS paid_otherwise,
    if(signed AND isNull(paid_fee) AND isNull(fee_amount), ${raw(depositsMade)}, []) AS deposits
  FROM ${extrinsicsRead}`,
);

/** The author and the receiver of each deposit, or the sender and the receiver of an Ethereum transaction. */
const accounts = `multiIf(
    notEmpty(deposits), arrayMap(given -> ${addressSql('given')}, arrayPushFront(arrayMap(d -> ${depositTo('who')}, deposits), author)),
    ethereum AND evm_call, [${executed('from')}, ${executed('to')}],
    [])`;
/** The part of each deposit that counts as fee, as text; empty if the receiver is not the author. */
const share = `multiIf(${isTreasuryDeposit}, ${fieldSql('treasury.Deposit', 'value', 'd')}, key = keys[1], ${depositTo('amount')}, '')`;
const shares = `arrayMap(amount -> assumeNotNull(amount), arrayFilter(amount -> isNotNull(amount), ${amounts(`arrayMap((d, key) -> ${share}, deposits, arrayPopFront(keys))`)}))`;

/**
 * The fee in planck, from the first source that has it; null if none has it. The fee event comes first, even for unsigned
 * extrinsics. The last source, for the oldest runtimes, is the sum that the treasury and the author received.
 */
const fee = `multiIf(
    isNotNull(paid_fee), paid_fee,
    paid_otherwise OR NOT (signed OR ethereum OR general), toUInt128(0),
    ethereum OR (general AND pays_fee != 'false'), NULL,
    general, toUInt128(0),
    isNotNull(fee_amount), fee_amount + if(fee_kind = 'fromEvent', toUInt128(0), tip),
    pays_fee = 'false', toUInt128(0),
    length(shares) > 0, arraySum(shares),
    NULL)`;

/**
 * Arguments as JSON that the engine can parse: it fails at integers above 64 bits, so these become strings, as in the
 * arguments of nested calls.
 */
const WIDE_INTEGER = '([:[,] *)([0-9]{20,})';
const readableArgs = `if(match(given.args, '${WIDE_INTEGER}') AND NOT isValidJSON(given.args),
    replaceRegexpAll(given.args, '${WIDE_INTEGER}', '\\\\1"\\\\2"'), given.args)`;

const extrinsicRows = view(
  'decoded_to_extrinsics',
  extrinsicsDecoded,
  extrinsics,
  sql`WITH ${raw(shares)} AS shares
  SELECT relay_chain, chain, number, extrinsic_index, time, lower(given.hash) AS hash, pallet, call, pallet_written,
    signed, signer, signer_key, outcome, success,
    multiIf(
      isNull(success), NULL,
      success = 0, 0,
      evm_call, match(${raw(executed('exit_reason'))}, '^[{] *"[Ss]ucceed"'),
      revive_call, NOT ${raw(hasEvent('revive', 'EthExtrinsicRevert'))},
      1) AS succeeded,
    ethereum, general,
    multiIf(NOT ethereum, '', revive_call, unhex(substring(recovered_sender, 3)), keys[1]) AS ethereum_from,
    multiIf(NOT ethereum, '', revive_call, unhex(substring(recovered_receiver, 3)), keys[2]) AS ethereum_to,
    ${raw(fee)} AS fee, signed OR ethereum OR general OR isNotNull(paid_fee) OR paid_otherwise AS fee_bearing, tip, domain, if(domain = 'Consensus', '', ${raw(readableArgs)}) AS args, rank
  FROM ${inSteps(sql`${extrinsicsDecoded}`, `arrayMap(account -> ${keySql('account')}, ${accounts}) AS keys`)} AS given`,
);

export const extrinsicLandingTables = [extrinsicsIn, extrinsicsRead, extrinsicsDecoded];
export const extrinsicViews = [unfoldedExtrinsics, readExtrinsics, decodedExtrinsics, extrinsicRows];
