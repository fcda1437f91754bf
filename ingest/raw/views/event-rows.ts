import { raw, sql } from '../../../infra/clickhouse/sql.ts';
import { landingTable, view } from '../../../infra/clickhouse/table.ts';
import type { FieldOf } from '../../decode/event-fields.ts';
import { blocksIn, everyRow, everyRowColumns } from '../block-landing.ts';
import { events } from '../tables.ts';
import { factSql, fieldSql, isComplete, partSql, refusedSql } from './event-facts.ts';
import {
  addressSql,
  amountSql,
  eventSql,
  inSteps,
  keySql,
  palletSql,
  palletWrittenSql,
} from './parse-sql.ts';

/** Events as the source spells them, numbered over the whole block. */
export const eventsIn = landingTable({
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
export const unfoldedEvents = view(
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

const included = (field: FieldOf<'paraInclusion.CandidateIncluded'>) =>
  fieldSql('paraInclusion.CandidateIncluded', field, 'data_given');

/** Parachain heads are most of a relay block's bytes; of them only the para and its core are kept. */
const keptData = `multiIf(
    pallet != 'paraInclusion', data_given,
    event = 'CandidateIncluded' AND ${isComplete('paraInclusion.CandidateIncluded', 'data_given')}, [JSONExtractString(${included('receipt')}, 'descriptor', 'paraId'), ${included('core_index')}],
    CAST([], 'Array(String)'))`;

export const eventRows = view(
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
