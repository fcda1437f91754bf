import type { Input } from './input.ts';
import { codeInfos, contractsWithCode } from './metrics/contract-code.ts';
import { contractInstances } from './metrics/contract-instance.ts';
import {
  type ContractTransaction,
  contractCallDetails,
  contractTransactions,
} from './metrics/contract-transaction.ts';
import { contractCallsHeatmap, contractsDeployedHeatmap } from './metrics/contracts-heatmap.ts';
import { coretimeRegionEvents, coretimeRegions } from './metrics/coretime-region.ts';
import { coretimeSaleMetrics, coretimeSales } from './metrics/coretime-sale.ts';
import {
  coretimeAccountSpend,
  coretimePurchases,
  coretimeRenewals,
  coretimeTotalBurn,
} from './metrics/coretime-spend.ts';
import { coretimeUtilization } from './metrics/coretime-utilization.ts';
import { dailyFees } from './metrics/daily-fees.ts';
import { dailyStakingRewards } from './metrics/daily-staking-rewards.ts';
import { dailySummary } from './metrics/daily-summary.ts';
import { dailyTps } from './metrics/daily-tps.ts';
import { dailyUptime } from './metrics/daily-uptime.ts';
import { explorerNetworkStats } from './metrics/explorer-network-stats.ts';
import { govChildBounty } from './metrics/gov-child-bounty.ts';
import { govParentBountySummary } from './metrics/gov-parent-bounty-summary.ts';
import { govReferendumResult } from './metrics/gov-referendum-result.ts';
import { govVoterHistory } from './metrics/gov-voter-history.ts';
import { monthlyGovParticipation } from './metrics/monthly-gov-participation.ts';
import { monthlyGovTokens } from './metrics/monthly-gov-tokens.ts';
import { monthlyUniqueAccounts } from './metrics/monthly-unique-accounts.ts';
import { recentExtrinsics } from './metrics/recent-extrinsics.ts';
import {
  dailyCoinA,
  dailyCoinB,
  dailyStakingParticipation,
  defiTvl,
  stakingOfRelay,
} from './metrics/stated-daily.ts';
import {
  monthlyActiveValidators,
  monthlyPercentStaked,
  monthlyTreasuryBalances,
} from './metrics/stated-monthly.ts';

/** A request without filters, and the rows that answer it. */
export type Answer = {
  readonly path: string;
  readonly query: string;
  readonly rows: (input: Input) => readonly object[];
  /** The day of a row that a range of dates looks at; absent where the path takes no dates. */
  readonly dayOf?: (row: Readonly<Record<string, unknown>>) => string | null;
};

/** The day in a field that holds a day or a moment. */
const on = (field: string) => (row: Readonly<Record<string, unknown>>) =>
  typeof row[field] === 'string' ? row[field].slice(0, 10) : null;

type Dated = { readonly relay_chain: string; readonly date?: string; readonly month?: string };

const EVERYTHING = '?start_date=2000-01-01&end_date=2100-01-01';
const PRODUCTION = ['polkadot', 'kusama', 'solo'];
const WITH_TEST = [...PRODUCTION, 'westend'];

/** The rows of these relay chains, none from before an endpoint's earliest date. */
const since =
  (earliest: string, rows: (input: Input) => readonly Dated[], relays: readonly string[] = PRODUCTION) =>
  (input: Input) =>
    rows(input).filter(
      ({ relay_chain, date, month }) =>
        relays.includes(relay_chain) && (date ?? month ?? earliest) >= earliest,
    );

/** What the explorer shows of one chain; without a chain it shows the primary asset hub. */
function explorerOf(chain: string): readonly Answer[] {
  const query = chain === 'asset-hub-polkadot' ? '' : `?chain=${chain}`;
  return [
    {
      path: 'explorer/network-stats',
      query,
      rows: (input) => explorerNetworkStats(input).filter((row) => row.chain === chain),
    },
    {
      path: 'explorer/recent-extrinsics',
      query,
      rows: (input) => recentExtrinsics(input).filter((row) => row.chain === chain),
    },
  ];
}

/** Every path whose answer does not need to be asked for one thing. */
export const ANSWERS: readonly Answer[] = [
  { path: 'daily-uptime', query: '', rows: since('2023-01-01', dailyUptime), dayOf: on('date') },
  { path: 'daily-tps', query: '', rows: since('2023-01-01', dailyTps), dayOf: on('date') },
  { path: 'daily-fees', query: '', rows: since('2023-01-01', dailyFees, WITH_TEST), dayOf: on('date') },
  { path: 'daily-summary', query: EVERYTHING, rows: since('2023-01-01', dailySummary), dayOf: on('date') },
  {
    path: 'monthly-unique-accounts',
    query: '',
    rows: since('2023-01-01', monthlyUniqueAccounts),
    dayOf: on('month'),
  },
  {
    path: 'daily-gov-referenda-results',
    query: '',
    rows: (input) =>
      govReferendumResult(input).filter(({ start_date }) => (start_date ?? '2023-01-01') >= '2023-01-01'),
    dayOf: on('start_date'),
  },
  {
    path: 'daily-staking-participation',
    query: EVERYTHING,
    rows: since('2022-01-01', dailyStakingParticipation),
    dayOf: on('date'),
  },
  {
    path: 'daily-staking-participation',
    query: `${EVERYTHING}&chain=polkadot`,
    rows: since('2022-01-01', stakingOfRelay),
    dayOf: on('date'),
  },
  { path: 'daily-coin-a', query: EVERYTHING, rows: since('2023-01-01', dailyCoinA), dayOf: on('date') },
  { path: 'daily-coin-b', query: EVERYTHING, rows: since('2023-01-01', dailyCoinB), dayOf: on('date') },
  {
    path: 'monthly-active-validators',
    query: '',
    rows: since('2023-01-01', monthlyActiveValidators),
    dayOf: on('month'),
  },
  {
    path: 'monthly-gov-participation',
    query: '',
    rows: since('2023-01-01', monthlyGovParticipation),
    dayOf: on('month'),
  },
  { path: 'monthly-gov-tokens', query: '', rows: since('2023-01-01', monthlyGovTokens), dayOf: on('month') },
  {
    path: 'monthly-percent-staked',
    query: EVERYTHING,
    rows: since('2022-01-01', monthlyPercentStaked),
    dayOf: on('month'),
  },
  {
    path: 'monthly-treasury-balances',
    query: '',
    rows: since('2023-01-01', monthlyTreasuryBalances),
    dayOf: on('month'),
  },
  {
    path: 'daily-staking-rewards',
    query: EVERYTHING,
    rows: since('2024-01-01', dailyStakingRewards),
    dayOf: on('date'),
  },
  {
    path: 'coretime-utilization',
    query: '?relay_chain=polkadot',
    rows: (input) => coretimeUtilization(input).filter(({ relay_chain }) => relay_chain === 'polkadot'),
    dayOf: on('date'),
  },
  {
    path: 'coretime-utilization',
    query: '?relay_chain=kusama',
    rows: (input) => coretimeUtilization(input).filter(({ relay_chain }) => relay_chain === 'kusama'),
    dayOf: on('date'),
  },
  { path: 'defi-tvl', query: '', rows: defiTvl, dayOf: on('date') },
  { path: 'contracts-deployed-heatmap', query: '', rows: contractsDeployedHeatmap, dayOf: on('date') },
  { path: 'contract-calls-heatmap', query: '', rows: contractCallsHeatmap, dayOf: on('date') },
  { path: 'contracts-with-code', query: '', rows: contractsWithCode },
  { path: 'contract-call-details', query: '', rows: contractCallDetails },
  { path: 'coretime-sales', query: '', rows: coretimeSales, dayOf: on('sale_init_at') },
  { path: 'coretime-sale-metrics', query: '', rows: coretimeSaleMetrics },
  { path: 'coretime-purchases', query: '', rows: coretimePurchases, dayOf: on('timestamp') },
  { path: 'coretime-renewals', query: '', rows: coretimeRenewals, dayOf: on('timestamp') },
  { path: 'coretime-account-spend', query: '', rows: coretimeAccountSpend },
  { path: 'coretime-total-burn', query: '', rows: coretimeTotalBurn },
  { path: 'coretime-regions', query: '', rows: coretimeRegions },
  { path: 'coretime-region-events', query: '', rows: coretimeRegionEvents, dayOf: on('timestamp') },
  { path: 'gov-voter-history', query: '', rows: govVoterHistory },
  { path: 'gov-parent-bounty-summary', query: '', rows: govParentBountySummary },
  ...['asset-hub-polkadot', 'polkadot', 'moonbeam', 'polymesh'].flatMap(explorerOf),
  { path: 'gov-child-bounties', query: '', rows: govChildBounty, dayOf: on('parent_bounty_start_date') },
];

export type Search = {
  readonly path: string;
  readonly rows: (input: Input) => readonly object[];
  /** What a row is found by. */
  readonly keysOf: (row: never) => readonly (string | null)[];
  readonly dayOf?: Answer['dayOf'];
};

/** Paths that only answer for given addresses: asked for all of them they give all rows. */
export const SEARCHES: readonly Search[] = [
  {
    path: 'contracts-search',
    rows: contractInstances,
    keysOf: ({ contract_address }: { contract_address: string }) => [contract_address],
  },
  {
    path: 'contract-transactions-search',
    rows: contractTransactions,
    keysOf: ({ contract_address, from_address, to_address }: ContractTransaction) => [
      contract_address,
      from_address,
      to_address,
    ],
    dayOf: on('timestamp'),
  },
  { path: 'code-by-owner', rows: codeInfos, keysOf: ({ owner }: { owner: string }) => [owner] },
];
