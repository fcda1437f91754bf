import { dailyUptime } from '../../../aggregate/metrics/activity/daily-uptime.ts';
import { dailyUptime as reference } from '../../reference/metrics/daily-uptime.ts';
import type { MetricCase } from '../../support/served.ts';

export const dailyUptimeCase: MetricCase = { metric: dailyUptime, reference };
