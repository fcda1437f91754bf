import { createConsequenceMetrics } from '../consequences/consequence-metrics.ts';
import { createPagerHealthMetrics } from '../health/pager-health-metrics.ts';
import { createPageMetrics } from '../paging/page-metrics.ts';

export const createAlertMetrics = () => ({
  ...createConsequenceMetrics(),
  ...createPageMetrics(),
  ...createPagerHealthMetrics(),
});

export type AlertMetrics = ReturnType<typeof createAlertMetrics>;
