import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { name, text } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { contractDeployment } from './contract-deployment.ts';
import { contractListing } from './contract-listing.ts';

/** Distinguishes Ethereum transactions that call contracts from plain transfers. No endpoint serves it. */
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

/** The condition that `contract_address` is a known contract. */
export const isKnownContract = sql`(relay_chain, chain, contract_address) IN (
  SELECT relay_chain, chain, contract_address FROM ${knownContract.table} FINAL)`;
