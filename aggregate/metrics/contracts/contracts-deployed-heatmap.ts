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
  doc: 'Contracts created on an asset hub per UTC day, including contracts that other contracts created. A day without creations has a row only if none of its blocks is missing. The count is null on a day with a creation that emitted no event.',
  columns: heatmapColumns(
    'Contracts created',
    '`revive.Instantiated` events; null if an instantiation emitted none, because the number is then unknown',
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
      summary: 'Contracts created on an asset hub, including contracts that other contracts created',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      dates: { column: 'date', required: false },
    },
  ],
});
