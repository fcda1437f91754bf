import { explorerNetworkStats } from '../../../aggregate/metrics/activity/explorer-network-stats.ts';
import { explorerNetworkStats as reference } from '../../reference/metrics/explorer-network-stats.ts';
import type { MetricCase } from '../../support/served.ts';

export const explorerNetworkStatsCase: MetricCase = { metric: explorerNetworkStats, reference };
