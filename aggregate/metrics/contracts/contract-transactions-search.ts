import { sql } from '../../../infra/sql.ts';
import { count, flag, name, text, timestamp, wideCount } from '../../columns.ts';
import { metric, type Ordering, SERVED_RELAYS } from '../../metric.ts';
import { anyOf, contractAddress } from '../shared/filters.ts';
import { amountColumns } from '../shared/native-amounts.ts';
import { valueColumns } from './folds/contract-calls.ts';
import { contractExtrinsics } from './folds/contract-extrinsics.ts';
import { type ContractFact, contractFacts } from './folds/contract-facts.ts';
import { contractTransactions } from './folds/contract-transactions.ts';
import { isKnownContract } from './known-contract.ts';

export const transactionColumns = {
  relay_chain: name('relay chain', { title: 'Relay chain' }),
  chain: name('chain', { title: 'Chain' }),
  transaction_hash: text('hash of the extrinsic', { title: 'Extrinsic hash', nullable: true }),
  eth_hash: text('hash of the Ethereum transaction; null for native ones', {
    title: 'Ethereum transaction hash',
    nullable: true,
  }),
  block_number: count('height of the block', { title: 'Block', unit: 'height' }),
  extrinsic_index: count('index in the block, from 0', { title: 'Extrinsic index', unit: 'identifier' }),
  timestamp: timestamp('time of the block', { title: 'Time' }),
  contract_address: text('H160 address of the contract', { title: 'Contract' }),
  from_address: text(
    'H160 address on whose behalf the call was made; null for root, and when it is unknown',
    {
      title: 'From',
      nullable: true,
    },
  ),
  to_address: text('H160 address that was called; null for creations', { title: 'To', nullable: true }),
  method: name('name of the contract call', { title: 'Call' }),
  ...valueColumns,
  gas_limit: wideCount('`ref_time` of the weight limit, or the gas limit of an Ethereum transaction', {
    title: 'Gas limit',
    unit: 'weight',
    nullable: true,
  }),
  gas_price: wideCount('maximum price per unit of gas, in wei; null for native calls', {
    title: 'Gas price in wei',
    unit: 'number',
    nullable: true,
  }),
  weight_ref_time: count('computation time of the whole extrinsic, in picoseconds', {
    title: 'Computation time',
    unit: 'weight',
    nullable: true,
  }),
  weight_proof_size: count('proof size of the whole extrinsic, in bytes', {
    title: 'Proof size',
    unit: 'bytes',
    nullable: true,
  }),
  ...amountColumns('fee', 'fee of the whole extrinsic', { title: 'Fee', nullable: true }),
  success: flag('true if it succeeded and did not revert; null when the outcome is unknown', {
    title: 'Success',
    nullable: true,
  }),
  error: text('error of a failed dispatch or of a revert, as JSON', { title: 'Error', nullable: true }),
} as const;

export const newestFirst: readonly Ordering[] = [
  { column: 'block_number', descending: true },
  { column: 'extrinsic_index', descending: true },
  'contract_address',
  'relay_chain',
  'chain',
];

/**
 * A later block or snapshot can show that the target of an Ethereum transaction is a contract. So the table also holds
 * plain transfers, and each query selects the rows of known contracts.
 */
export const contractTransaction = metric({
  record: 'ContractTransaction',
  title: 'Contract transactions',
  domain: 'contracts',
  doc: 'Extrinsics with contract calls: one row for each contract that the extrinsic called or created, or that emitted an event in it. Addresses, method, value and gas are those of the first call that targets or creates the contract, or else of the first contract call of the extrinsic.',
  columns: transactionColumns,
  internal: {
    storage_deposit_limit: 'Nullable(String)',
    input_size: 'Nullable(UInt64)',
    selector: 'Nullable(String)',
    num_events: 'UInt64',
    is_ethereum: 'UInt8',
    // `is_target`: target of any call. `is_contract`: target of a native call, created, or emitter of an event.
    // `is_contract_target`: target of a native call.
    is_target: 'UInt8',
    is_contract: 'UInt8',
    is_contract_target: 'UInt8',
    native_calls: 'UInt64',
    ethereum_calls: 'UInt64',
  },
  key: ['relay_chain', 'chain', 'block_number', 'extrinsic_index', 'contract_address'],
  order: newestFirst,
  materialized: 'hourly',
  servedRows: () => sql`(is_contract = 1 OR ${isKnownContract})`,
  select: contractFacts,
  version: 3,
  fold: (facts: readonly ContractFact[], { relay_chain }) =>
    contractExtrinsics(facts).flatMap((extrinsic) => contractTransactions(relay_chain, extrinsic)),
  endpoints: [
    {
      path: '/api/contract-transactions-search',
      summary:
        'Extrinsics that called or created a contract, or in which it emitted events, with fee and outcome',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      dates: { column: 'timestamp', required: false },
      filters: {
        addresses: {
          schema: anyOf(contractAddress()).describe('H160 addresses of senders, receivers or contracts'),
          required: true,
          condition: (addresses: string[]) =>
            sql`(contract_address IN ${addresses} OR from_address IN ${addresses} OR to_address IN ${addresses})`,
        },
      },
      isLimited: true,
    },
  ],
});
