import { dailyFees } from '../../../aggregate/metrics/activity/daily-fees.ts';
import { dailyFees as reference } from '../../reference/metrics/daily-fees.ts';
import type { MetricCase } from '../../support/served.ts';

export const dailyFeesCase: MetricCase = { metric: dailyFees, reference };
