import { type ListPage, type ListRow, type ListSection, rowsOf, sourceOf } from './list-page.ts';

const ADDRESSES = {
  name: 'addresses',
  label: 'Addresses',
  hint: 'H160, one or more',
  isLong: true,
} as const;

const transactionsOf = (column: string) => rowsOf('/contracts/transactions', 'addresses', column);
const codesOf = rowsOf('/contracts/codes', 'addresses', 'owner');

const ON_ASSET_HUB = 'The blocks of an asset hub fill this list.';
const IN_SNAPSHOTS = 'Snapshots of kind contract_code fill this list.';

export const contractList: ListPage = {
  path: '/contracts',
  tab: 'Contracts',
  title: 'Contracts',
  lead: 'Smart contracts with their deployer and how they were deployed; most recent blocks first. Search by address to find others.',
  source: sourceOf('/api/contracts-search'),
  filters: [ADDRESSES],
  columns: [
    { column: 'contract_address', as: 'hash', to: contractPath },
    { column: 'deployer_account', as: 'account' },
    { column: 'deployer', as: 'hash', to: transactionsOf('deployer') },
    { column: 'deploy_method', as: 'state' },
    { column: 'code_hash', as: 'hash' },
    { column: 'value' },
    { column: 'block_timestamp', title: 'Deployed' },
    { column: 'block_number' },
    { column: 'chain' },
  ],
  empty: `No contract is stored yet. ${ON_ASSET_HUB}`,
};

const contractCalls: ListPage = {
  path: '/contracts/calls',
  tab: 'Calls',
  title: 'Contract calls',
  lead: 'Contract calls with their gas, value and input; most recent blocks first.',
  source: sourceOf('/api/contract-call-details'),
  columns: [
    { column: 'timestamp', title: 'Time' },
    { column: 'contract_address', as: 'hash', to: contractPath },
    { column: 'from_address', as: 'hash', to: transactionsOf('from_address') },
    { column: 'method' },
    { column: 'selector', as: 'hash' },
    { column: 'success', as: 'state' },
    { column: 'value' },
    { column: 'fee' },
    { column: 'gas_used' },
    { column: 'input_size' },
    { column: 'num_events' },
    { column: 'block_number' },
    { column: 'chain' },
  ],
  empty: `No call of a contract is stored yet. ${ON_ASSET_HUB}`,
};

export const contractTransactions: ListPage = {
  path: '/contracts/transactions',
  tab: 'Transactions',
  title: 'Contract transactions',
  lead: 'Transactions that called or created a contract, or in which it emitted events. Search by the address of a sender, receiver or contract.',
  source: sourceOf('/api/contract-transactions-search'),
  filters: [ADDRESSES],
  columns: [
    { column: 'timestamp', title: 'Time' },
    { column: 'transaction_hash', as: 'hash' },
    { column: 'contract_address', as: 'hash', to: contractPath },
    { column: 'from_address', as: 'hash', to: transactionsOf('from_address') },
    { column: 'to_address', as: 'hash', to: transactionsOf('to_address') },
    { column: 'method' },
    { column: 'success', as: 'state' },
    { column: 'value' },
    { column: 'fee' },
    { column: 'block_number' },
    { column: 'chain' },
  ],
  empty: `No transaction of a contract is stored yet. ${ON_ASSET_HUB}`,
};

const codes: ListPage = {
  path: '/contracts/codes',
  tab: 'Codes',
  title: 'Contract codes',
  lead: 'Contract codes and their owners, from the newest snapshot of each chain.',
  source: sourceOf('/api/code-by-owner'),
  filters: [{ name: 'addresses', label: 'Owners', hint: 'SS58 with any prefix, one or more', isLong: true }],
  columns: [
    { column: 'code_hash', as: 'hash' },
    { column: 'owner', as: 'account', to: codesOf },
    { column: 'code_type', as: 'state' },
    { column: 'code_len' },
    { column: 'refcount' },
    { column: 'deposit' },
    { column: 'snapshot_at' },
    { column: 'chain' },
  ],
  empty: `No code of a contract is stored yet. ${IN_SNAPSHOTS}`,
};

export const contractsWithCode: ListPage = {
  path: '/contracts/with-code',
  tab: 'Contracts with code',
  title: 'Contracts with their code',
  lead: 'Contracts with their storage and with the owner and kind of their code, from the newest snapshot of each chain.',
  source: sourceOf('/api/contracts-with-code'),
  filters: [
    { name: 'contract_address', label: 'Contract', hint: 'H160', isLong: true },
    { name: 'owner', label: 'Owner', hint: 'SS58 with any prefix', isLong: true },
  ],
  columns: [
    { column: 'contract_address', as: 'hash', to: contractPath },
    { column: 'code_hash', as: 'hash' },
    // The list of codes does not cover westend.
    { column: 'owner', as: 'account', to: (row) => (row.relay_chain === 'westend' ? null : codesOf(row)) },
    { column: 'code_type', as: 'state' },
    { column: 'code_len' },
    { column: 'storage_bytes' },
    { column: 'storage_items' },
    { column: 'snapshot_at' },
    { column: 'chain' },
  ],
  empty: `No contract with its code is stored yet. ${IN_SNAPSHOTS}`,
};

export const contracts: ListSection = {
  name: 'Contracts',
  pages: [contractList, contractCalls, contractTransactions, codes, contractsWithCode],
};

function contractPath({ chain, contract_address }: ListRow): string {
  return `/contracts/${chain}/${contract_address}`;
}
