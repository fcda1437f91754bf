import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { snapshots } from '../../../ingest/raw/tables.ts';
import { day, name, text } from '../../columns.ts';
import { metric } from '../../metric.ts';

/** Finds contracts that are older than the stored blocks. No endpoint serves it. */
export const contractListing = metric({
  record: 'ContractListing',
  title: 'Contracts in snapshots',
  domain: 'contracts',
  doc: 'Code of each contract, from the last `contract_code` snapshot of a UTC day that lists it.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain of the snapshot'),
    date: day('UTC day of the snapshot'),
    contract_address: text('address of the contract, H160'),
    code_hash: text('hash of its code'),
  },
  key: ['relay_chain', 'chain', 'date', 'contract_address'],
  materialized: 'daily',
  select: (window) => sql`
    SELECT relay_chain, chain, toDate(as_of) AS date, listed.contract_address AS contract_address,
      argMax(listed.code_hash, as_of) AS code_hash
    FROM (
      SELECT relay_chain, chain, as_of,
        JSONExtract(payload, 'contracts', 'Array(Tuple(contract_address String, code_hash String))') AS contracts
      FROM ${snapshots} FINAL
      WHERE ${ofRelays(window)} AND kind = 'contract_code'
        AND as_of >= toDateTime64(${window.from}, 3, 'UTC') AND as_of < toDateTime64(${window.until}, 3, 'UTC')
    ) ARRAY JOIN contracts AS listed
    GROUP BY relay_chain, chain, date, contract_address`,
  endpoints: [],
});
