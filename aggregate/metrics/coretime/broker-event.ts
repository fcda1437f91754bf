import { count, name, timestamp } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { canonicalEvents, ofPallets, ofRelays } from '../../../ingest/raw/canonical.ts';
import { chains } from '../../../ingest/raw/tables.ts';
import { metric } from '../../metric.ts';

/** Input of the other coretime metrics, which read it whole; no endpoint serves it. */
export const brokerEvent = metric({
  record: 'BrokerEvent',
  doc: 'Events of the brokers of coretime, in canonical blocks.',
  columns: {
    relay_chain: name('relay chain whose cores are sold'),
    at: timestamp('time of the block'),
    chain: name('coretime chain'),
    number: count('height'),
    event_index: count('position among the events of the block'),
    extrinsic_index: count('position of the extrinsic; null outside of extrinsics', { nullable: true }),
    kind: name('name of the event'),
  },
  internal: { data: 'Array(String)' },
  key: ['relay_chain', 'at', 'chain', 'number', 'event_index'],
  materialized: 'daily',
  period: 'at',
  invalidationScope: 'day',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => sql`
    SELECT relay_chain, time AS at, chain, number, event_index, extrinsic_index, event AS kind, data
    FROM ${canonicalEvents(
      window,
      sql`chain IN (SELECT chain FROM ${chains} FINAL WHERE ${ofRelays(window)} AND role = 'coretime')
        AND ${ofPallets('broker')} AND refused = ''`,
    )}`,
  endpoints: [],
});
