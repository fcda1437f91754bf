import { z } from 'zod';
import { sql } from '../../../infra/sql.ts';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import type { Workload } from '../../../ingest/decode/broker.ts';
import { count, flag, name, nested, real, text } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { usd, usdExact } from '../shared/amounts.ts';
import { amountColumns, amounts } from '../shared/native-amounts.ts';
import { accountFilter, regionBegin } from './coretime-filters.ts';
import { placeColumns, placeOf } from './event-place.ts';
import {
  type CoretimeFact,
  type DecodedBrokerEvent,
  decodeBrokerEvents,
  isKind,
  paymentFacts,
  pricesByDay,
} from './folds/coretime-facts.ts';

const workload = z.array(
  z.object({
    mask: z.string(),
    assignment: z.union([z.object({ task: z.int().min(0) }), z.enum(['Pool', 'Idle'])]),
  }),
);

/** Parquet has no type for a value that is either a text or a structure. */
const workloadColumns = (name: string) => `arrayMap(part -> CAST(tuple(JSONExtractString(part, 'mask'),
  if(JSONHas(part, 'assignment', 'task'), 'Task', JSONExtractString(part, 'assignment')),
  JSONExtract(part, 'assignment', 'task', 'Nullable(UInt32)')),
  'Tuple(mask String, assignment String, task Nullable(UInt32))'), JSONExtractArrayRaw(${name}))`;

export const coretimeRenewal = metric({
  record: 'CoretimeRenewal',
  title: 'Coretime renewals',
  domain: 'coretime',
  doc: 'Renewals of bulk coretime. A renewal continues a workload in the next sale cycle, on the same or another core.',
  columns: {
    relay_chain: name('relay chain whose cores are sold', { title: 'Relay chain' }),
    chain: name('coretime chain', { title: 'Chain' }),
    who: text('account that paid', { title: 'Buyer' }),
    region_begin: count('timeslice from which the workload is renewed', {
      title: 'First timeslice',
      unit: 'identifier',
    }),
    old_core: count('core before the renewal', { title: 'Former core', unit: 'identifier' }),
    core: count('core after the renewal', { title: 'Core', unit: 'identifier' }),
    workload: nested(
      workload,
      {
        type: 'Array(Tuple(mask String, assignment Variant(String, Tuple(task UInt32))))',
        columnar: workloadColumns,
      },
      'assignment of the parts of the core, by mask: a task, `Pool` or `Idle`. In Parquet and Arrow, `assignment` is `Task`, `Pool` or `Idle`, and `task` is a separate field',
      { title: 'Workload' },
    ),
    task: count('first task of the workload; null when it has none', {
      title: 'Task',
      unit: 'identifier',
      nullable: true,
    }),
    ...amountColumns('price', 'price paid', { title: 'Price' }),
    price_usd: real('`price` in USD at the token price of the day; null without one', {
      title: 'Price in USD',
      unit: 'usd',
      nullable: true,
    }),
    duration: count('length in timeslices', { title: 'Timeslices' }),
    auto_renewal: flag('true if the chain renewed the workload itself, outside of any extrinsic', {
      title: 'Automatic',
    }),
    ...placeColumns,
  },
  internal: { who_key: 'String' },
  key: ['relay_chain', 'timestamp', 'block_number', 'event_index'],
  order: ['relay_chain', 'block_number', 'event_index'],
  materialized: 'hourly',
  select: paymentFacts,
  fold: (facts: readonly CoretimeFact[], { relay_chain }) => {
    const priceOf = pricesByDay(facts);
    return decodeBrokerEvents(facts)
      .filter(isKind('Renewed'))
      .map((renewal) => ({ relay_chain, ...renewalRow(renewal, priceOf(renewal)) }));
  },
  endpoints: [
    {
      path: '/api/coretime-renewals',
      summary: 'Renewed workloads of bulk coretime, with core and price',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      dates: { column: 'timestamp', required: false },
      isLimited: true,
      filters: { region_begin: regionBegin, who: accountFilter(sql`who_key`, 'account that paid') },
    },
  ],
});

function renewalRow(renewal: DecodedBrokerEvent<'Renewed'>, price: bigint | null): Record<string, unknown> {
  const { event, chain, prefix, decimals } = renewal;
  const place = placeOf(renewal);
  return {
    chain,
    who: encodeAddress(event.who, prefix),
    who_key: event.who,
    region_begin: event.begin,
    old_core: event.old_core,
    core: event.core,
    workload: JSON.stringify(event.workload),
    task: firstTask(event.workload),
    ...amounts('price', event.price, decimals),
    price_usd: price === null ? null : usd(usdExact(event.price, decimals, price)),
    duration: event.duration,
    auto_renewal: place.extrinsic_id === null,
    ...place,
  };
}

function firstTask(workload: Workload): number | null {
  for (const { assignment } of workload) {
    if (typeof assignment === 'object') return assignment.task;
  }
  return null;
}
