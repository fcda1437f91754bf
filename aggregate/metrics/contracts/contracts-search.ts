import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, name, text, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { anyOf, contractAddress } from '../shared/filters.ts';
import { contractDeployment } from './contract-deployment.ts';
import { contractListing } from './contract-listing.ts';
import { DEPLOY_METHODS, valueColumns } from './folds/contract-calls.ts';

export const contractInstance = metric({
  record: 'ContractInstance',
  title: 'Contracts',
  domain: 'contracts',
  doc: 'Contracts with a `revive.Instantiated` event, and the calls that deployed them. An address with several creations has the newest one.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the contract', { title: 'Chain' }),
    contract_address: text('H160 address of the contract', { title: 'Contract' }),
    deployer: text('H160 address that created the contract', { title: 'Deployer' }),
    deployer_account: text(
      'account that made the deploying call, as SS58 of the chain; null when another contract created it',
      { title: 'Account of the deployer', nullable: true },
    ),
    code_hash: text(
      'hash of the code, from the deploying call, or else from the newest snapshot that lists the contract; null when neither has it',
      { title: 'Code hash', nullable: true },
    ),
    block_number: count('block of the creation', { title: 'Block', unit: 'height' }),
    block_timestamp: timestamp('time of the block', { title: 'Time' }),
    extrinsic_id: text('`<block>-<extrinsic>`; null outside of extrinsics', {
      title: 'Extrinsic',
      nullable: true,
    }),
    extrinsic_hash: text('hash of the extrinsic', { title: 'Extrinsic hash', nullable: true }),
    deploy_method: name('call that deployed it; `internal` when another contract created it', {
      title: 'Deploying call',
      values: DEPLOY_METHODS,
    }),
    ...valueColumns,
  },
  internal: { place: 'UInt64' },
  key: ['relay_chain', 'chain', 'contract_address'],
  order: [
    { column: 'block_number', descending: true },
    { column: 'place', descending: true },
    'contract_address',
    'relay_chain',
    'chain',
  ],
  materialized: 'whole',
  select: (window) => sql`
    SELECT relay_chain, chain, contract_address, deployer, deployer_account,
      coalesce(deployed.code_hash, nullIf(listed.code_hash, '')) AS code_hash,
      block_number, block_timestamp, extrinsic_id, extrinsic_hash, deploy_method, value, value_planck, place
    FROM (
      SELECT * FROM ${contractDeployment.table} FINAL WHERE ${ofRelays(window)}
      ORDER BY block_number DESC, event_index DESC LIMIT 1 BY relay_chain, chain, contract_address
    ) AS deployed
    LEFT JOIN (
      SELECT relay_chain, chain, contract_address, argMax(listings.code_hash, date) AS code_hash
      FROM ${contractListing.table} AS listings FINAL WHERE ${ofRelays(window)}
      GROUP BY relay_chain, chain, contract_address
    ) AS listed USING (relay_chain, chain, contract_address)`,
  endpoints: [
    {
      path: '/api/contracts-search',
      summary: 'Contracts by address, with their deployer, code and the call that deployed them',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      dates: { column: null, required: false },
      filters: {
        addresses: {
          schema: anyOf(contractAddress()).describe('H160 addresses of contracts'),
          required: true,
          condition: (addresses: string[]) => sql`contract_address IN ${addresses}`,
        },
      },
      isLimited: true,
    },
  ],
});
