import { dailyTps } from '../../../aggregate/metrics/activity/daily-tps.ts';
import { dailyTps as reference } from '../../reference/metrics/daily-tps.ts';
import type { MetricCase } from '../../support/served.ts';

export const dailyTpsCase: MetricCase = { metric: dailyTps, reference };
