import { raw, sql } from '../../../infra/sql.ts';
import { landingTable, view } from '../../../infra/table.ts';
import type { FieldOf } from '../../decode/event-fields.ts';
import { blocksRanked, everyRow, everyRowColumns } from '../block-landing.ts';
import {
  addressSql,
  amountSql,
  eventSql,
  keySql,
  namesOf,
  palletSql,
  palletWrittenSql,
} from '../parse-sql.ts';
import { events } from '../tables.ts';
import { factSql, fieldSql, isComplete, type Part, partSql, refusedSql } from './event-facts.ts';

const name = 'LowCardinality(String)';
const amount = 'Nullable(UInt128)';

/** Columns that no step decodes. Events are decoded in steps, like extrinsics. */
const passedOn = {
  ...everyRowColumns,
  event_index: 'UInt32',
  phase: name,
  extrinsic_index: 'Nullable(UInt32)',
  data_given: 'Array(String)',
};

const eventsIn = landingTable({
  name: 'events_in',
  doc: 'Events of the blocks in the notation of their source, numbered over the whole block.',
  columns: { ...passedOn, pallet_given: name, event_given: name },
});

const named = { ...passedOn, pallet: name, event: name, fact: 'UInt8' };

const eventsNamed = landingTable({
  name: 'events_named',
  doc: 'Events under their present names, with the undecoded texts of their facts.',
  columns: {
    ...named,
    account_given: 'String',
    counterparty_given: 'String',
    amount_given: 'String',
    second_amount_given: 'String',
  },
});

const eventsDecoded = landingTable({
  name: 'events_decoded',
  doc: 'Events with their decoded facts.',
  columns: { ...named, account: 'String', counterparty: 'String', amount, second_amount: amount },
});

/** `g` numbers the groups of events: initialization, the extrinsics in order, finalization. */
const unfoldedEvents = view(
  'ranked_to_events_in',
  blocksRanked,
  eventsIn,
  sql`SELECT relay_chain, chain, number, time, rank, k - 1 AS event_index,
    multiIf(g = 1, 'initialization', g = groups, 'finalization', 'extrinsic') AS phase,
    if(phase = 'extrinsic', toUInt32(g - 2), NULL) AS extrinsic_index, pallet_given, event_given, data_given
  FROM (SELECT ${raw(everyRow)}, length(lengths) AS groups,
      arrayConcat([length(payload.onInitialize.events)], arrayMap(group -> length(group), payload.extrinsics.events),
        [length(payload.onFinalize.events)]) AS lengths,
      arrayConcat(payload.onInitialize.events, arrayFlatten(payload.extrinsics.events), payload.onFinalize.events) AS list
    FROM ${blocksRanked} WHERE is_deleted = 0)
  ARRAY JOIN arrayEnumerate(list) AS k,
    arrayFlatten(arrayMap((n, g) -> arrayWithConstant(n, g), lengths, arrayEnumerate(lengths))) AS g,
    list.method.pallet AS pallet_given, list.method.method AS event_given, list.data AS data_given`,
);

const included = (field: FieldOf<'paraInclusion.CandidateIncluded'>) =>
  fieldSql('paraInclusion.CandidateIncluded', field, 'data_given');

/** Parachain heads are most of the bytes of a relay block, so only the para and its core are stored. */
const keptData = `multiIf(
    pallet != 'paraInclusion', data_given,
    event = 'CandidateIncluded' AND ${isComplete('paraInclusion.CandidateIncluded', 'data_given')}, [JSONExtractString(${included('receipt')}, 'descriptor', 'paraId'), ${included('core_index')}],
    CAST([], 'Array(String)'))`;

const part = (part: Part) => raw(partSql('fact', 'data_given', part));

const namedEvents = view(
  'events_in_to_named',
  eventsIn,
  eventsNamed,
  sql`SELECT ${namesOf(passedOn)}, ${raw(palletSql(palletWrittenSql('pallet_given')))} AS pallet,
    ${raw(eventSql('pallet', 'event_given'))} AS event, ${raw(factSql("concat(pallet, '.', event)"))} AS fact,
    ${part('account')} AS account_given, ${part('counterparty')} AS counterparty_given,
    ${part('amount')} AS amount_given, ${part('secondAmount')} AS second_amount_given
  FROM ${eventsIn}`,
);

const decodedEvents = view(
  'named_to_events_decoded',
  eventsNamed,
  eventsDecoded,
  sql`SELECT ${namesOf(named)},
    ${raw(keySql(addressSql('account_given')))} AS account, ${raw(keySql(addressSql('counterparty_given')))} AS counterparty,
    ${raw(amountSql('amount_given'))} AS amount, ${raw(amountSql('second_amount_given'))} AS second_amount
  FROM ${eventsNamed}`,
);

const eventRows = view(
  'decoded_to_events',
  eventsDecoded,
  events,
  sql`SELECT relay_chain, chain, number, event_index, time, phase, extrinsic_index, pallet, event,
    ${raw(keptData)} AS data, account, counterparty, amount,
    ${raw(refusedSql('fact', 'data_given', { account: 'account', counterparty: 'counterparty', amount: 'amount', secondAmount: 'second_amount' }))} AS refused,
    rank
  FROM ${eventsDecoded}`,
);

export const eventLandingTables = [eventsIn, eventsNamed, eventsDecoded];
export const eventViews = [unfoldedEvents, namedEvents, decodedEvents, eventRows];
