import type { MaterializedMetric, Metric } from '../metric.ts';
import { accountChange } from './activity/account-change.ts';
import { accountHistory } from './activity/account-history.ts';
import { accountHour } from './activity/account-hour.ts';
import { chainDay } from './activity/chain-day.ts';
import { chainHour } from './activity/chain-hour.ts';
import { dailyFees } from './activity/daily-fees.ts';
import { dailySummary } from './activity/daily-summary.ts';
import { dailyTps } from './activity/daily-tps.ts';
import { dailyUptime } from './activity/daily-uptime.ts';
import { explorerNetworkStats } from './activity/explorer-network-stats.ts';
import { recentExtrinsic } from './activity/explorer-recent-extrinsics.ts';
import { monthlyUniqueAccounts } from './activity/monthly-unique-accounts.ts';
import { storedRun } from './activity/stored-run.ts';
import { uptimeHour } from './activity/uptime-hour.ts';
import { codeInfo } from './contracts/code-by-owner.ts';
import { contractCallDetail } from './contracts/contract-call-details.ts';
import { contractCallsHeatmap } from './contracts/contract-calls-heatmap.ts';
import { contractDeployment } from './contracts/contract-deployment.ts';
import { contractListing } from './contracts/contract-listing.ts';
import { contractTransaction } from './contracts/contract-transactions-search.ts';
import { contractsDeployedHeatmap } from './contracts/contracts-deployed-heatmap.ts';
import { contractInstance } from './contracts/contracts-search.ts';
import { contractWithCodeInfo } from './contracts/contracts-with-code.ts';
import { knownContract } from './contracts/known-contract.ts';
import { untoldCreation } from './contracts/untold-creation.ts';
import { coretimeAccountSpend } from './coretime/coretime-account-spend.ts';
import { coretimePurchase } from './coretime/coretime-purchases.ts';
import { coretimeRegionEvent } from './coretime/coretime-region-events.ts';
import { coretimeRegion } from './coretime/coretime-regions.ts';
import { coretimeRenewal } from './coretime/coretime-renewals.ts';
import { coretimeSaleMetrics } from './coretime/coretime-sale-metrics.ts';
import { coretimeSale } from './coretime/coretime-sales.ts';
import { coretimeTotalBurn } from './coretime/coretime-total-burn.ts';
import { coretimeUtilization } from './coretime/coretime-utilization.ts';
import { brokerEvent } from './coretime/folds/broker-event.ts';
import { dailyCoinA } from './finance/daily-coin-a.ts';
import { dailyCoinB } from './finance/daily-coin-b.ts';
import { defiTvl } from './finance/defi-tvl.ts';
import { monthlyTreasuryBalances } from './finance/monthly-treasury-balances.ts';
import { govReferendumResult } from './governance/daily-gov-referenda-results.ts';
import { govChildBounty } from './governance/gov-child-bounties.ts';
import { govParentBountySummary } from './governance/gov-parent-bounty-summary.ts';
import { govVoterHistory } from './governance/gov-voter-history.ts';
import { monthlyGovParticipation } from './governance/monthly-gov-participation.ts';
import { monthlyGovTokens } from './governance/monthly-gov-tokens.ts';
import { referendumMonth } from './governance/referendum-month.ts';
import { voteStep } from './governance/vote-step.ts';
import { dailyStakingParticipation } from './staking/daily-staking-participation.ts';
import { dailyStakingRewards } from './staking/daily-staking-rewards.ts';
import { monthlyActiveValidators } from './staking/monthly-active-validators.ts';
import { monthlyPercentStaked } from './staking/monthly-percent-staked.ts';
import { stakingRewardHour } from './staking/staking-reward-hour.ts';

/** The planner derives the order of computation from the tables that each metric reads. */
export const metrics: readonly Metric[] = [
  chainHour,
  chainDay,
  accountHour,
  accountHistory,
  accountChange,
  uptimeHour,
  dailyUptime,
  dailyTps,
  dailyFees,
  dailySummary,
  monthlyUniqueAccounts,
  brokerEvent,
  coretimeUtilization,
  coretimeSale,
  coretimeSaleMetrics,
  coretimePurchase,
  coretimeRenewal,
  coretimeAccountSpend,
  coretimeTotalBurn,
  coretimeRegion,
  coretimeRegionEvent,
  explorerNetworkStats,
  recentExtrinsic,
  dailyStakingParticipation,
  stakingRewardHour,
  dailyStakingRewards,
  monthlyActiveValidators,
  monthlyPercentStaked,
  monthlyTreasuryBalances,
  defiTvl,
  dailyCoinA,
  dailyCoinB,
  govReferendumResult,
  voteStep,
  govVoterHistory,
  referendumMonth,
  monthlyGovParticipation,
  monthlyGovTokens,
  govParentBountySummary,
  govChildBounty,
  storedRun,
  contractListing,
  contractDeployment,
  untoldCreation,
  knownContract,
  contractsDeployedHeatmap,
  contractCallsHeatmap,
  contractInstance,
  contractTransaction,
  contractCallDetail,
  codeInfo,
  contractWithCodeInfo,
];

export const materializedMetrics = metrics.filter(
  (metric): metric is MaterializedMetric => metric.materialized !== false,
);

/** Has a row for each chain and day with blocks; `last_time` is the time of its newest block. */
export const blockDays = chainDay.table;
