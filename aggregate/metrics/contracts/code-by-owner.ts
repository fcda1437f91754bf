import { sql } from '../../../infra/sql.ts';
import { relayOf } from '../../../ingest/raw/canonical.ts';
import { count, name, text } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { accountKey, anyOf } from '../shared/filters.ts';
import { amountColumns, amounts } from '../shared/native-amounts.ts';
import { snapshotColumns } from '../shared/snapshot.ts';
import { type ContractCodeFact, codesIn, newestCodes } from './folds/contract-codes.ts';

export const codeInfo = metric({
  record: 'CodeInfo',
  title: 'Contract codes',
  domain: 'contracts',
  doc: 'Contract codes and their owners, from the newest `contract_code` snapshot of a chain.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot', { title: 'Chain' }),
    code_hash: text('hash of the code', { title: 'Code hash' }),
    owner: text('account that uploaded the code, as SS58 of the chain', { title: 'Owner' }),
    code_type: name('PVM or EVM', { title: 'Kind of code', values: ['PVM', 'EVM'] }),
    code_len: count('bytes of the code', { title: 'Code size', unit: 'bytes', overTime: 'last' }),
    ...amountColumns('deposit', 'deposit of the owner for the code', {
      title: 'Deposit',
      overTime: 'last',
    }),
    refcount: count('contracts that use the code', { title: 'Contracts that use it', overTime: 'last' }),
    behaviour_version: count('behaviour version under which the code was uploaded', {
      title: 'Behaviour version',
      unit: 'identifier',
    }),
    ...snapshotColumns,
  },
  internal: { owner_key: 'String' },
  key: ['relay_chain', 'chain', 'code_hash'],
  materialized: 'whole',
  select: (window) => newestCodes(relayOf(window)),
  fold: (facts: readonly ContractCodeFact[]) =>
    facts.flatMap((fact) =>
      [...codesIn(fact).values()].map(({ deposit, ...code }) => ({
        relay_chain: fact.relay_chain,
        chain: fact.chain,
        ...code,
        ...amounts('deposit', BigInt(deposit), fact.decimals),
        snapshot_block: fact.block_number,
        snapshot_at: fact.as_of,
      })),
    ),
  endpoints: [
    {
      path: '/api/code-by-owner',
      summary: 'Contract codes with owner, kind, size and the number of contracts that use them',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      filters: {
        addresses: {
          schema: anyOf(accountKey()).describe('owners, as SS58 with any prefix'),
          required: true,
          condition: (keys: string[]) => sql`owner_key IN ${keys}`,
        },
      },
      isLimited: true,
    },
  ],
});
