import type { KeptMetric, Metric, ReadMetric } from '../metric.ts';
import { accountDay } from './account-day.ts';
import { chainDay } from './chain-day.ts';
import { codeInfo } from './code-info.ts';
import { contractCallDetail } from './contract-call-detail.ts';
import { contractCallsHeatmap } from './contract-calls-heatmap.ts';
import { contractDeployment } from './contract-deployment.ts';
import { contractInstance } from './contract-instance.ts';
import { contractListing } from './contract-listing.ts';
import { contractTransaction } from './contract-transaction.ts';
import { contractWithCodeInfo } from './contract-with-code-info.ts';
import { contractsDeployedHeatmap } from './contracts-deployed-heatmap.ts';
import { coretimeAccountSpend } from './coretime-account-spend.ts';
import { coretimePurchase } from './coretime-purchase.ts';
import { coretimeRegion } from './coretime-region.ts';
import { coretimeRegionEvent } from './coretime-region-event.ts';
import { coretimeRenewal } from './coretime-renewal.ts';
import { coretimeSale } from './coretime-sale.ts';
import { coretimeSaleMetrics } from './coretime-sale-metrics.ts';
import { coretimeTotalBurn } from './coretime-total-burn.ts';
import { coretimeUtilization } from './coretime-utilization.ts';
import { dailyCoinA } from './daily-coin-a.ts';
import { dailyCoinB } from './daily-coin-b.ts';
import { dailyFees } from './daily-fees.ts';
import { dailyStakingParticipation } from './daily-staking-participation.ts';
import { dailyStakingRewards } from './daily-staking-rewards.ts';
import { dailySummary } from './daily-summary.ts';
import { dailyTps } from './daily-tps.ts';
import { dailyUptime } from './daily-uptime.ts';
import { defiTvl } from './defi-tvl.ts';
import { explorerNetworkStats } from './explorer-network-stats.ts';
import { govChildBounty } from './gov-child-bounty.ts';
import { govParentBountySummary } from './gov-parent-bounty-summary.ts';
import { govReferendumResult } from './gov-referendum-result.ts';
import { govVoterHistory } from './gov-voter-history.ts';
import { knownContract } from './known-contract.ts';
import { monthlyActiveValidators } from './monthly-active-validators.ts';
import { monthlyGovParticipation } from './monthly-gov-participation.ts';
import { monthlyGovTokens } from './monthly-gov-tokens.ts';
import { monthlyPercentStaked } from './monthly-percent-staked.ts';
import { monthlyTreasuryBalances } from './monthly-treasury-balances.ts';
import { monthlyUniqueAccounts } from './monthly-unique-accounts.ts';
import { paraInclusionDay } from './para-inclusion-day.ts';
import { recentExtrinsic } from './recent-extrinsic.ts';
import { storedRun } from './stored-run.ts';
import { uptimeDay } from './uptime-day.ts';

/** Every metric; the order of computation follows from what each reads. */
export const metrics: readonly Metric[] = [
  chainDay,
  accountDay,
  uptimeDay,
  dailyUptime,
  dailyTps,
  dailyFees,
  dailySummary,
  monthlyUniqueAccounts,
  paraInclusionDay,
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
  dailyStakingRewards,
  monthlyActiveValidators,
  monthlyPercentStaked,
  monthlyTreasuryBalances,
  defiTvl,
  dailyCoinA,
  dailyCoinB,
  govReferendumResult,
  govVoterHistory,
  monthlyGovParticipation,
  monthlyGovTokens,
  govParentBountySummary,
  govChildBounty,
  storedRun,
  contractListing,
  contractDeployment,
  knownContract,
  contractsDeployedHeatmap,
  contractCallsHeatmap,
  contractInstance,
  contractTransaction,
  contractCallDetail,
  codeInfo,
  contractWithCodeInfo,
];

export const keptMetrics = metrics.filter((metric): metric is KeptMetric => metric.kept !== 'onRead');
export const readMetrics = metrics.filter((metric): metric is ReadMetric => metric.kept === 'onRead');
