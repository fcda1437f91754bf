/**
 * Every path of the interface, typed by hand from its description and from nowhere else: what the product says
 * of itself is checked against this table, so it must not be derived from the product.
 */

export interface Parameter {
  readonly type:
    | 'relay_chain'
    | 'chain'
    | 'date'
    | 'integer'
    | 'string'
    | 'enum'
    | 'hex'
    | 'account'
    | 'h160';
  readonly required: boolean;
  /** Of a relay chain or an enumeration: these and no others. */
  readonly values?: readonly string[];
  /** May be given several times. */
  readonly repeated?: true;
}

export interface Endpoint {
  readonly path: string;
  readonly record: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** Parameters of ours, beyond the described ones. */
  readonly ours?: readonly string[];
  readonly defaults?: Readonly<Record<string, string>>;
  /** Rows of earlier days are never served. */
  readonly earliest?: string;
}

/** Parameters of ours on every path. */
export const OURS_EVERYWHERE = ['order', 'limit', 'cursor', 'format', 'bom'];
/** Paths without `changed_since`. */
export const WITHOUT_CHANGES = [
  '/api/explorer/network-stats',
  '/api/explorer/recent-extrinsics',
  '/api/contract-transactions-search',
  '/api/contract-call-details',
];
/** Paths of ours beyond the described ones. */
export const OUR_PATHS = [
  '/api/changes',
  '/api/metrics',
  '/api/metrics/{metric}/schema',
  '/api/series',
  '/api/status',
  '/api/coverage',
  '/health/live',
  '/health/ready',
  '/health/startup',
  '/metrics',
];

const PRIMARY = ['polkadot'];
const SERVED = ['polkadot', 'kusama', 'solo'];
const relay = (values: readonly string[] = SERVED): Parameter => ({
  type: 'relay_chain',
  required: false,
  values,
});
const optional = (type: Parameter['type']): Parameter => ({ type, required: false });
const required = (type: Parameter['type']): Parameter => ({ type, required: true });
const oneOf = (...values: string[]): Parameter => ({ type: 'enum', required: false, values });
const list = (type: Parameter['type'], isRequired: boolean): Parameter => ({
  type,
  required: isRequired,
  repeated: true,
});
const chain = optional('chain');
const optionalDates = { start_date: optional('date'), end_date: optional('date') };
const requiredDates = { start_date: required('date'), end_date: required('date') };

/** Paths with relay chain, chain and dates. */
function series(
  path: string,
  record: string,
  relays: readonly string[],
  dates: typeof optionalDates,
  earliest: string,
): Endpoint {
  return {
    path,
    record,
    parameters: { relay_chain: relay(relays), chain, ...dates },
    earliest,
  };
}

function other(
  path: string,
  record: string,
  parameters: Endpoint['parameters'],
  more: Partial<Endpoint> = {},
): Endpoint {
  return { path, record, parameters, ...more };
}

export const ENDPOINTS: readonly Endpoint[] = [
  series('/api/daily-uptime', 'DailyUptime', SERVED, optionalDates, '2023-01-01'),
  series('/api/daily-tps', 'DailyTps', SERVED, optionalDates, '2023-01-01'),
  series('/api/daily-fees', 'DailyFees', [...SERVED, 'westend'], optionalDates, '2023-01-01'),
  series('/api/daily-gov-referenda-results', 'GovReferendumResult', PRIMARY, optionalDates, '2023-01-01'),
  series(
    '/api/daily-staking-participation',
    'DailyStakingParticipation',
    PRIMARY,
    requiredDates,
    '2022-01-01',
  ),
  series('/api/daily-summary', 'DailySummary', SERVED, requiredDates, '2023-01-01'),
  series('/api/daily-coin-a', 'DailyCoinA', PRIMARY, requiredDates, '2023-01-01'),
  series('/api/daily-coin-b', 'DailyCoinB', PRIMARY, requiredDates, '2023-01-01'),
  series('/api/monthly-active-validators', 'MonthlyActiveValidators', SERVED, optionalDates, '2023-01-01'),
  series('/api/monthly-gov-participation', 'MonthlyGovParticipation', PRIMARY, optionalDates, '2023-01-01'),
  series('/api/monthly-gov-tokens', 'MonthlyGovTokens', PRIMARY, optionalDates, '2023-01-01'),
  series('/api/monthly-percent-staked', 'MonthlyPercentStaked', PRIMARY, requiredDates, '2022-01-01'),
  series('/api/monthly-treasury-balances', 'MonthlyTreasuryBalances', SERVED, optionalDates, '2023-01-01'),
  series('/api/monthly-unique-accounts', 'MonthlyUniqueAccounts', SERVED, optionalDates, '2023-01-01'),

  other(
    '/api/daily-staking-rewards',
    'DailyStakingRewards',
    { chain, ...requiredDates, accounts: list('account', false) },
    { earliest: '2024-01-01' },
  ),
  other(
    '/api/coretime-utilization',
    'CoretimeUtilization',
    { relay_chain: relay(['polkadot', 'kusama']), ...optionalDates },
    { defaults: { relay_chain: 'polkadot' } },
  ),
  other('/api/defi-tvl', 'DefiTvl', optionalDates),
  other('/api/contracts-deployed-heatmap', 'ContractsDeployedHeatmap', optionalDates),
  other('/api/contract-calls-heatmap', 'ContractCallsHeatmap', optionalDates),
  other('/api/contracts-search', 'ContractInstance', { addresses: list('h160', true), ...optionalDates }),
  other('/api/contract-transactions-search', 'ContractTransaction', {
    addresses: list('h160', true),
    ...optionalDates,
  }),
  other('/api/code-by-owner', 'CodeInfo', { addresses: list('account', true) }),
  other('/api/contracts-with-code', 'ContractWithCodeInfo', {
    relay_chain: relay([...SERVED, 'westend']),
    contract_address: optional('h160'),
    owner: optional('account'),
  }),
  other('/api/contract-call-details', 'ContractCallDetail', { relay_chain: relay() }),
  other('/api/coretime-sales', 'CoretimeSale', {
    relay_chain: relay(),
    region_begin: optional('integer'),
    ...optionalDates,
  }),
  other('/api/coretime-sale-metrics', 'CoretimeSaleMetrics', {
    relay_chain: relay(),
    region_begin: optional('integer'),
  }),
  other('/api/coretime-purchases', 'CoretimePurchase', {
    relay_chain: relay(),
    region_begin: optional('integer'),
    who: optional('account'),
    purchase_type: oneOf('bulk', 'renewal'),
    ...optionalDates,
  }),
  other('/api/coretime-renewals', 'CoretimeRenewal', {
    relay_chain: relay(),
    region_begin: optional('integer'),
    who: optional('account'),
    ...optionalDates,
  }),
  other('/api/coretime-account-spend', 'CoretimeAccountSpend', {
    relay_chain: relay(),
    who: optional('account'),
  }),
  other('/api/coretime-total-burn', 'CoretimeTotalBurn', { relay_chain: relay() }),
  other('/api/coretime-regions', 'CoretimeRegion', {
    relay_chain: relay(),
    region_begin: optional('integer'),
    r_core: optional('integer'),
    r_mask: optional('hex'),
    owner: optional('account'),
  }),
  other('/api/coretime-region-events', 'CoretimeRegionEvent', {
    relay_chain: relay(),
    event_type: oneOf('Transfer', 'Partition', 'Interlace', 'Assign'),
    region_begin: optional('integer'),
    r_core: optional('integer'),
    r_mask: optional('hex'),
    ...optionalDates,
  }),
  other('/api/coretime-region-history', 'CoretimeRegionEvent', {
    region_begin: required('integer'),
    r_core: required('integer'),
    relay_chain: relay(),
    r_mask: optional('hex'),
  }),
  other('/api/gov-voter-history', 'GovVoterHistory', {
    referendum_index: optional('string'),
    voter: optional('account'),
  }),
  other('/api/gov-parent-bounty-summary', 'GovParentBountySummary', { parent_bounty_id: optional('string') }),
  other('/api/gov-child-bounties', 'GovChildBounty', {
    chain,
    parent_bounty_id: optional('string'),
    ...optionalDates,
  }),
  other(
    '/api/explorer/network-stats',
    'ExplorerNetworkStats',
    { chain, relay_chain: relay() },
    { defaults: { chain: 'asset-hub-polkadot', relay_chain: 'polkadot' } },
  ),
  other(
    '/api/explorer/recent-extrinsics',
    'RecentExtrinsic',
    // The description leaves the name of the filter by signer open.
    { chain, address: optional('account') },
    { ours: ['relay_chain', 'exclude_domains'], defaults: { chain: 'asset-hub-polkadot' } },
  ),
];
