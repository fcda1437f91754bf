import { raw, sql } from '../../../infra/clickhouse/sql.ts';
import { landingTable, view } from '../../../infra/clickhouse/table.ts';
import { domainSql } from '../../decode/domain.ts';
import type { FieldOf } from '../../decode/event-fields.ts';
import { blocksIn, everyRow, everyRowColumns } from '../block-landing.ts';
import { extrinsics } from '../tables.ts';
import { fieldSql, isComplete } from './event-facts.ts';
import { addressSql, amountSql, callSql, inSteps, keySql, palletSql, palletWrittenSql } from './parse-sql.ts';

/**
 * Extrinsics as the source spells them, unfolded field by field. Views that read them start from plain columns:
 * a statement that unfolds and decodes at once takes the engine many times longer to plan, for every batch.
 */
export const extrinsicsIn = landingTable({
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

/** What JavaScript decoded of some extrinsics, at their places in the list of all. */
const placed = (list: string, field: string) =>
  `arrayResize(arrayReduce('groupArrayInsertAt', ${list}.${field}, ${list}.extrinsic_index), length(payload.extrinsics), '')`;
export const unfoldedExtrinsics = view(
  'blocks_to_extrinsics_in',
  blocksIn,
  extrinsicsIn,
  sql`SELECT relay_chain, chain, number, time, rank, prefix, author, i - 1 AS extrinsic_index, pallet_given, call_given,
    signer_given, args, tip_given, hash, fee_given, fee_kind, success_given, pays_fee,
    event_pallets, event_names, event_data, wrapper_domain, recovered_sender, recovered_receiver
  FROM (SELECT ${raw(everyRow)}, prefix, payload.authorId AS author, payload.extrinsics AS list,
      ${raw(placed('domains', 'domain'))} AS domain_of, ${raw(placed('senders', 'sender'))} AS sender_of,
      ${raw(placed('senders', 'receiver'))} AS receiver_of
    FROM ${blocksIn} WHERE is_deleted = 0)
  ARRAY JOIN arrayEnumerate(list) AS i, list.method.pallet AS pallet_given, list.method.method AS call_given,
    list.signature.signer AS signer_given, list.args AS args, list.tip AS tip_given, list.hash AS hash,
    list.info.partialFee AS fee_given, list.info.kind AS fee_kind, list.success AS success_given,
    list.paysFee AS pays_fee, list.events.method.pallet AS event_pallets,
    list.events.method.method AS event_names, list.events.data AS event_data, domain_of AS wrapper_domain,
    sender_of AS recovered_sender, receiver_of AS recovered_receiver`,
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
const paidFees = eventData(
  `${eventIs('transactionPayment', 'TransactionFeePaid')} AND ${isComplete('transactionPayment.TransactionFeePaid', 'd')}`,
);
const isTreasuryDeposit = isComplete('treasury.Deposit', 'd');
const deposits = eventData(
  `(${eventIs('treasury', 'Deposit')} AND ${isTreasuryDeposit}) OR (author != '' AND ${eventIs('balances', 'Deposit')} AND ${isComplete('balances.Deposit', 'd')})`,
);
const depositTo = (field: 'who' | 'amount') => fieldSql('balances.Deposit', field, 'd');
const share = `multiIf(${isTreasuryDeposit}, ${fieldSql('treasury.Deposit', 'value', 'd')}, ${keySql(addressSql(depositTo('who')))} = ${keySql(addressSql('author'))}, ${depositTo('amount')}, '')`;

const executed = (field: FieldOf<'ethereum.Executed'>) => fieldSql('ethereum.Executed', field, 'evm_data');

export const extrinsicRows = view(
  'extrinsics_in_to_extrinsics',
  extrinsicsIn,
  extrinsics,
  sql`SELECT relay_chain, chain, number, extrinsic_index, time, lower(given.hash) AS hash, pallet, call, pallet_written,
    signed, signer, ${raw(keySql('signer'))} AS signer_key, success,
    multiIf(
      isNull(success), NULL,
      success = 0, 0,
      evm_call, match(${raw(executed('exit_reason'))}, '^[{] *"[Ss]ucceed"'),
      revive_call, NOT ${raw(hasEvent('revive', 'EthExtrinsicRevert'))},
      1) AS succeeded,
    NOT signed AND (evm_call OR revive_call) AS ethereum,
    multiIf(NOT ethereum, '', revive_call, unhex(substring(recovered_sender, 3)), ${raw(keySql(executed('from')))}) AS ethereum_from,
    multiIf(NOT ethereum, '', revive_call, unhex(substring(recovered_receiver, 3)), ${raw(keySql(executed('to')))}) AS ethereum_to,
    ${raw(fee)} AS fee, tip, domain, if(domain = 'Consensus', '', given.args) AS args, rank
  FROM ${inSteps(
    sql`${extrinsicsIn}`,
    `${palletWrittenSql('pallet_given')} AS pallet_written, ${callSql('call_given')} AS call,
      ${addressSql('signer_given')} AS signer, signer != '' AS signed,
      multiIf(success_given = 'true', 1, success_given = 'false', 0, NULL) AS success,
      if(signed, ifNull(${amountSql('tip_given')}, toUInt128(0)), toUInt128(0)) AS tip,
      if(signed, ${amountSql('fee_given')}, NULL) AS partial_fee,
      if(signed, arrayFirst(amount -> isNotNull(amount), ${amounts(`arrayMap(d -> ${fieldSql('transactionPayment.TransactionFeePaid', 'actual_fee', 'd')}, ${paidFees})`)}), NULL) AS paid_fee,
      if(signed AND isNull(paid_fee) AND isNull(partial_fee), ${deposits}, []) AS deposits`,
    `${palletSql('pallet_written')} AS pallet,
      if(wrapper_domain != '', wrapper_domain, ${domainSql('pallet_written', 'call')}) AS domain,
      pallet = 'ethereum' AND call = 'transact' AS evm_call, pallet = 'revive' AND call = 'ethTransact' AS revive_call,
      if(evm_call, ${eventData(`${eventIs('ethereum', 'Executed')} AND ${isComplete('ethereum.Executed', 'd')}`)}[1], []) AS evm_data,
      arrayMap(amount -> assumeNotNull(amount), arrayFilter(amount -> isNotNull(amount),
        ${amounts(`arrayMap(d -> ${share}, deposits)`)})) AS shares`,
  )} AS given`,
);
