import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, text } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { contractTransaction, newestFirst, transactionColumns } from './contract-transactions-search.ts';
import { isKnownContract } from './known-contract.ts';

export const contractCallDetail = metric({
  record: 'ContractCallDetail',
  title: 'Contract calls',
  domain: 'contracts',
  doc: 'Transactions that call a contract, with gas and input. Creations, and contracts that only emitted events, are excluded.',
  columns: {
    ...transactionColumns,
    gas_used: count('`weight_ref_time` of a native call; null for Ethereum transactions', {
      title: 'Gas used',
      unit: 'weight',
      nullable: true,
    }),
    storage_deposit_limit: text('limit of the storage deposit, in planck', {
      title: 'Storage deposit limit in planck',
      nullable: true,
    }),
    input_size: count('size of the input in bytes', { title: 'Input size', unit: 'bytes', nullable: true }),
    selector: text('first four bytes of the input; null when the input is shorter', {
      title: 'Selector',
      nullable: true,
    }),
    num_events: count('events that the contract emitted in the extrinsic', { title: 'Events' }),
  },
  internal: { is_contract_target: 'UInt8' },
  key: ['relay_chain', 'chain', 'block_number', 'extrinsic_index', 'contract_address'],
  order: newestFirst,
  materialized: 'hourly',
  servedRows: () => sql`(is_contract_target = 1 OR ${isKnownContract})`,
  select: (window) => sql`
    SELECT *, if(is_ethereum = 1, NULL, weight_ref_time) AS gas_used
    FROM ${contractTransaction.table} FINAL
    WHERE ${ofRelays(window)} AND timestamp >= ${window.from} AND timestamp < ${window.until} AND is_target = 1`,
  endpoints: [
    {
      path: '/api/contract-call-details',
      summary: 'Contract calls with gas, value and input',
      relays: SERVED_RELAYS,
      scopeParameters: ['relay_chain'],
      isLimited: true,
    },
  ],
});
