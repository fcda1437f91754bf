import type { MetricCase } from '../../support/served.ts';
import { dailyFeesCase } from './daily-fees.case.ts';
import { dailySummaryCase } from './daily-summary.case.ts';
import { dailyTpsCase } from './daily-tps.case.ts';
import { dailyUptimeCase } from './daily-uptime.case.ts';
import { explorerNetworkStatsCase } from './explorer-network-stats.case.ts';
import { recentExtrinsicCase } from './explorer-recent-extrinsics.case.ts';
import { monthlyUniqueAccountsCase } from './monthly-unique-accounts.case.ts';

/** One case for every metric with an endpoint. */
export const metricCases: readonly MetricCase[] = [
  dailyUptimeCase,
  dailyTpsCase,
  dailyFeesCase,
  dailySummaryCase,
  monthlyUniqueAccountsCase,
  explorerNetworkStatsCase,
  recentExtrinsicCase,
];
