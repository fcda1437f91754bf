import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { name, text } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { contractDeployment } from './contract-deployment.ts';
import { contractListing } from './contract-listing.ts';

/** Distinguishes contract calls from plain transfers, which are Ethereum transactions as well; no endpoint serves it. */
export const knownContract = metric({
  record: 'KnownContract',
  title: 'Known contracts',
  domain: 'contracts',
  doc: 'Addresses of contracts that a stored block created or any snapshot lists.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain'),
    contract_address: text('address of the contract, H160'),
  },
  key: ['relay_chain', 'chain', 'contract_address'],
  materialized: 'whole',
  select: (window) => sql`
    SELECT relay_chain, chain, contract_address
    FROM ${contractDeployment.table} FINAL WHERE ${ofRelays(window)}
    UNION DISTINCT
    SELECT relay_chain, chain, contract_address
    FROM ${contractListing.table} FINAL WHERE ${ofRelays(window)}`,
  endpoints: [],
});

/** Whether the address of a row is a known contract, over all relay chains. */
export const isKnownContract = sql`(relay_chain, chain, contract_address) IN (
  SELECT relay_chain, chain, contract_address FROM ${knownContract.table} FINAL)`;
