import { dailySummary } from '../../../aggregate/metrics/activity/daily-summary.ts';
import { dailySummary as reference } from '../../reference/metrics/daily-summary.ts';
import type { MetricCase } from '../../support/served.ts';

export const dailySummaryCase: MetricCase = { metric: dailySummary, reference };
