import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { contractTransaction } from './contract-transactions-search.ts';
import { heatmap, heatmapColumns } from './heatmap.ts';
import { isKnownContract } from './known-contract.ts';

export const contractCallsHeatmap = metric({
  record: 'ContractCallsHeatmap',
  title: 'Contract calls by day',
  domain: 'contracts',
  doc: 'Contract calls on an asset hub per UTC day: executed `revive.call` calls, nested calls included, and Ethereum transactions to contracts that did not revert. Creations do not count. A day without calls has a row only if none of its blocks is missing.',
  columns: heatmapColumns('Contract calls', 'executed contract calls'),
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'whole',
  select: (window) =>
    heatmap(
      window,
      sql`SELECT relay_chain, chain, toDate(timestamp) AS date,
          sum(native_calls + if(ethereum_calls > 0 AND ${isKnownContract}, ethereum_calls, 0)) AS num
        FROM ${contractTransaction.table} FINAL WHERE ${ofRelays(window)} GROUP BY relay_chain, chain, date`,
    ),
  endpoints: [
    {
      path: '/api/contract-calls-heatmap',
      summary: 'Executed contract calls on an asset hub, nested calls and Ethereum transactions included',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      dates: { column: 'date', required: false },
    },
  ],
});
