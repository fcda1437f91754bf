import { sql } from '../../../../infra/sql.ts';
import { canonicalEvents, ofPallets } from '../../../../ingest/raw/canonical.ts';
import { count, name, timestamp } from '../../../columns.ts';
import { metric } from '../../../metric.ts';

/**
 * The input of the other coretime metrics. No endpoint serves it. They read a few kinds of events over all time, so the
 * table is sorted by kind; most events are of kinds that no metric reads.
 */
export const brokerEvent = metric({
  record: 'BrokerEvent',
  title: 'Events of the broker pallet',
  domain: 'coretime',
  doc: 'Events of the pallet `broker` in canonical blocks.',
  columns: {
    relay_chain: name('relay chain whose cores are sold'),
    at: timestamp('time of the block'),
    chain: name('chain of the broker'),
    number: count('height'),
    event_index: count('position among the events of the block'),
    extrinsic_index: count('position of the extrinsic; null outside of extrinsics', { nullable: true }),
    kind: name('name of the event'),
  },
  internal: { data: 'Array(String)' },
  key: ['relay_chain', 'kind', 'at', 'chain', 'number', 'event_index'],
  materialized: 'hourly',
  select: (window) => sql`
    SELECT relay_chain, time AS at, chain, number, event_index, extrinsic_index, event AS kind, data
    FROM ${canonicalEvents(window, sql`${ofPallets('broker')} AND refused = ''`)}`,
  endpoints: [],
});
