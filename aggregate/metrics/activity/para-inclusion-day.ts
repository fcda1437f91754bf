import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { canonicalEvents, ofPallets } from '../../../ingest/raw/canonical.ts';
import { metric } from '../../metric.ts';

/** Input of the utilization of cores; no endpoint serves it. */
export const paraInclusionDay = metric({
  record: 'ParaInclusionDay',
  doc: 'Parachain blocks that a relay chain included on one UTC day.',
  columns: {
    date: day('UTC day of the relay blocks'),
    relay_chain: name('relay chain'),
    included_candidates: count('CandidateIncluded events'),
    distinct_paras: count('parachains among them'),
  },
  key: ['date', 'relay_chain'],
  materialized: 'daily',
  period: 'date',
  invalidationScope: 'day',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => sql`
    SELECT relay_chain, toDate(time) AS date, count() AS included_candidates,
      uniqExactIf(data[1], data[1] != '') AS distinct_paras
    FROM ${canonicalEvents(
      window,
      sql`chain = relay_chain AND ${ofPallets('paraInclusion')} AND event = 'CandidateIncluded' AND refused = ''`,
    )} GROUP BY relay_chain, date`,
  endpoints: [],
});
