import { z } from 'zod';
import { sql } from '../../../infra/sql.ts';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import type { RegionId } from '../../../ingest/decode/broker.ts';
import { count, name, nested, text } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { core, mask, regionBegin } from './coretime-filters.ts';
import { namedRegion, REGION_TYPE, regionSchema } from './coretime-regions.ts';
import { placeColumns, placeOf } from './event-place.ts';
import {
  brokerEventsWithin,
  type CoretimeFact,
  type DecodedBrokerEvent,
  decodeBrokerEvents,
  orderByTime,
} from './folds/coretime-facts.ts';

const TYPES = {
  Transferred: 'Transfer',
  Partitioned: 'Partition',
  Interlaced: 'Interlace',
  Assigned: 'Assign',
} as const;
type Logged = DecodedBrokerEvent<keyof typeof TYPES>;

const order = ['timestamp', 'relay_chain', 'block_number', 'event_index'] as const;

export const coretimeRegionEvent = metric({
  record: 'CoretimeRegionEvent',
  title: 'Coretime region events',
  domain: 'coretime',
  doc: 'Log of the transfers, partitions, interlacings and assignments of bulk coretime regions.',
  columns: {
    relay_chain: name('relay chain of the core', { title: 'Relay chain' }),
    chain: name('coretime chain', { title: 'Chain' }),
    event_type: name('kind of event', { title: 'Kind of event', values: Object.values(TYPES) }),
    region_begin: count('first timeslice of the region that the event acted on', {
      title: 'First timeslice',
      unit: 'identifier',
    }),
    r_core: count('index of the core of the region', { title: 'Core', unit: 'identifier' }),
    r_mask: text('mask of the parts of the core in the region, as hex', { title: 'Mask' }),
    duration: count(
      'length of the region in timeslices; null for partitions and interlacings, whose events lack it',
      {
        title: 'Timeslices',
        nullable: true,
      },
    ),
    old_owner: text('owner before the transfer; null when there was none, and for other events', {
      title: 'Owner before',
      nullable: true,
    }),
    owner: text('owner after the transfer; null when there is none, and for other events', {
      title: 'Owner after',
      nullable: true,
    }),
    new_regions: nested(
      z.array(regionSchema),
      { type: `Array(${REGION_TYPE})` },
      'regions that the partition or interlacing created; empty for other events',
      { title: 'New regions' },
    ),
    task: count('task that the region was assigned to; null for other events', {
      title: 'Task',
      unit: 'identifier',
      nullable: true,
    }),
    ...placeColumns,
  },
  // Ids of the region of the event and of the regions that the event created.
  internal: { begins: 'Array(UInt64)', cores: 'Array(UInt64)', masks: 'Array(String)' },
  key: order,
  order: order.map((column) => ({ column, descending: true })),
  materialized: 'hourly',
  select: (window) => orderByTime(brokerEventsWithin(window, Object.keys(TYPES) as (keyof typeof TYPES)[])),
  fold: (facts: readonly CoretimeFact[], { relay_chain }) =>
    decodeBrokerEvents(facts).map((occurrence) => ({ relay_chain, ...eventRow(occurrence as Logged) })),
  endpoints: [
    {
      path: '/api/coretime-region-events',
      summary: 'Transfers, partitions, interlacings and assignments of regions, newest first',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      dates: { column: 'timestamp', required: false },
      isLimited: true,
      filters: {
        event_type: {
          schema: z.enum(Object.values(TYPES)).describe('kind of event'),
          condition: (type: string) => sql`event_type = ${type}`,
        },
        region_begin: regionBegin,
        r_core: { schema: core, condition: (index: number) => sql`r_core = ${index}` },
        r_mask: { schema: mask, condition: (bits: string) => sql`r_mask = ${bits}` },
      },
    },
    {
      path: '/api/coretime-region-history',
      title: 'Coretime region history',
      summary:
        'All events of one region, oldest first, including the partition or interlacing that created it',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      isLimited: true,
      order,
      // A partition keeps core and mask, an interlacing keeps begin and core, so each part of the id has its own filter.
      filters: {
        region_begin: {
          ...regionBegin,
          required: true,
          condition: (begin: number) => sql`has(begins, ${begin})`,
        },
        r_core: { schema: core, required: true, condition: (index: number) => sql`has(cores, ${index})` },
        r_mask: { schema: mask, condition: (bits: string) => sql`has(masks, ${bits})` },
      },
    },
  ],
});

function eventRow(occurrence: Logged): Record<string, unknown> {
  const { event, chain, prefix } = occurrence;
  const parts: readonly RegionId[] = 'parts' in event ? event.parts : [];
  const regions = [event.region, ...parts];
  const transfer = event.kind === 'Transferred' ? event : { old_owner: null, owner: null };
  const address = (key: string | null) => (key === null ? null : encodeAddress(key, prefix));
  return {
    chain,
    event_type: TYPES[event.kind],
    ...namedRegion(event.region),
    duration: 'duration' in event ? event.duration : null,
    old_owner: address(transfer.old_owner),
    owner: address(transfer.owner),
    new_regions: JSON.stringify(parts.map(namedRegion)),
    task: event.kind === 'Assigned' ? event.task : null,
    ...placeOf(occurrence),
    begins: regions.map(({ begin }) => begin),
    cores: regions.map(({ core }) => core),
    masks: regions.map(({ mask }) => mask),
  };
}
