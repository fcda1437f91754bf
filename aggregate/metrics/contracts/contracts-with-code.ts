import { sql } from '../../../infra/sql.ts';
import { relayOf } from '../../../ingest/raw/canonical.ts';
import { count, name, text } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { accountKey, contractAddress } from '../shared/filters.ts';
import { snapshotColumns } from '../shared/snapshot.ts';
import { type ContractCodeFact, codesIn, contractsIn, newestCodes } from './folds/contract-codes.ts';

export const contractWithCodeInfo = metric({
  record: 'ContractWithCodeInfo',
  title: 'Contracts with code',
  domain: 'contracts',
  doc: 'Contracts with the owner and kind of their code, from the newest `contract_code` snapshot of a chain.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot', { title: 'Chain' }),
    contract_address: text('H160 address of the contract', { title: 'Contract' }),
    code_hash: text('hash of its code', { title: 'Code hash' }),
    owner: text('owner of the code, as SS58 of the chain; null when the snapshot does not list the code', {
      title: 'Owner of the code',
      nullable: true,
    }),
    code_type: text('PVM or EVM; null when the snapshot does not list the code', {
      title: 'Kind of code',
      nullable: true,
      values: ['PVM', 'EVM'],
    }),
    code_len: count('size of the code in bytes; null when the snapshot does not list the code', {
      title: 'Code size',
      unit: 'bytes',
      overTime: 'last',
      nullable: true,
    }),
    storage_bytes: count('bytes that the contract stores', {
      title: 'Storage size',
      unit: 'bytes',
      overTime: 'last',
    }),
    storage_items: count('items that the contract stores', { title: 'Storage items', overTime: 'last' }),
    ...snapshotColumns,
  },
  internal: { owner_key: 'String' },
  key: ['relay_chain', 'chain', 'contract_address'],
  materialized: 'whole',
  select: (window) => newestCodes(relayOf(window)),
  fold: (facts: readonly ContractCodeFact[]) =>
    facts.flatMap((fact) => {
      const codes = codesIn(fact);
      return contractsIn(fact).map((contract) => {
        const code = codes.get(contract.code_hash);
        return {
          relay_chain: fact.relay_chain,
          chain: fact.chain,
          ...contract,
          owner: code?.owner ?? null,
          owner_key: code?.owner_key ?? '',
          code_type: code?.code_type ?? null,
          code_len: code?.code_len ?? null,
          snapshot_block: fact.block_number,
          snapshot_at: fact.as_of,
        };
      });
    }),
  endpoints: [
    {
      path: '/api/contracts-with-code',
      summary: 'Contracts with the owner and kind of their code',
      relays: [...SERVED_RELAYS, 'westend'],
      scopeParameters: ['relay_chain'],
      filters: {
        contract_address: {
          schema: contractAddress().describe('H160 address of a contract'),
          condition: (address: string) => sql`contract_address = ${address}`,
        },
        owner: {
          schema: accountKey().describe('owner of the code, as SS58 with any prefix'),
          condition: (key: string) => sql`owner_key = ${key}`,
        },
      },
      isLimited: true,
    },
  ],
});
