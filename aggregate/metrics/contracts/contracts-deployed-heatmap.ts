import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { contractDeployment } from './contract-deployment.ts';
import { heatmap, heatmapColumns } from './heatmap.ts';
import { untoldCreation } from './untold-creation.ts';

export const contractsDeployedHeatmap = metric({
  record: 'ContractsDeployedHeatmap',
  title: 'Contracts created by day',
  domain: 'contracts',
  doc: 'Contracts created on an asset hub per UTC day, those that contracts created included. 0 only on days of which no block is missing; null on a day with a creation of which the runtime tells nothing.',
  columns: heatmapColumns(
    'Contracts created',
    '`revive.Instantiated` events; null where an instantiation has none: the number is unknown',
    { nullable: true },
  ),
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'whole',
  select: (window) =>
    heatmap(
      window,
      sql`SELECT relay_chain, chain, date, if(sum(untold) > 0, NULL, sum(told)) AS num
        FROM (
          SELECT relay_chain, chain, toDate(block_timestamp) AS date, 1 AS told, 0 AS untold
          FROM ${contractDeployment.table} FINAL WHERE ${ofRelays(window)}
          UNION ALL SELECT relay_chain, chain, toDate(hour), 0, 1
          FROM ${untoldCreation.table} FINAL WHERE ${ofRelays(window)}
        ) GROUP BY relay_chain, chain, date`,
    ),
  endpoints: [
    {
      path: '/api/contracts-deployed-heatmap',
      summary: 'Contracts created on an asset hub, those that contracts created included',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      dates: { column: 'date', required: false },
    },
  ],
});
