import type { KeptMetric, Metric, ReadMetric } from '../metric.ts';
import { accountDay } from './account-day.ts';
import { chainDay } from './chain-day.ts';
import { dailyFees } from './daily-fees.ts';
import { dailySummary } from './daily-summary.ts';
import { dailyTps } from './daily-tps.ts';
import { dailyUptime } from './daily-uptime.ts';
import { explorerNetworkStats } from './explorer-network-stats.ts';
import { monthlyUniqueAccounts } from './monthly-unique-accounts.ts';
import { recentExtrinsic } from './recent-extrinsic.ts';
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
  explorerNetworkStats,
  recentExtrinsic,
];

export const keptMetrics = metrics.filter((metric): metric is KeptMetric => metric.kept !== 'onRead');
export const readMetrics = metrics.filter((metric): metric is ReadMetric => metric.kept === 'onRead');
