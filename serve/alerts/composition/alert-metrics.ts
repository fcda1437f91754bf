import { createConsumerMetrics } from '../events/consumer-metrics.ts';
import { createPagerHealthMetrics } from '../pager-health/pager-health-metrics.ts';
import { createPageMetrics } from '../paging/page-metrics.ts';

export const createAlertMetrics = () => ({
  ...createConsumerMetrics(),
  ...createPageMetrics(),
  ...createPagerHealthMetrics(),
});

export type AlertMetrics = ReturnType<typeof createAlertMetrics>;
