import { recentExtrinsic } from '../../../aggregate/metrics/activity/recent-extrinsic.ts';
import { recentExtrinsics } from '../../reference/metrics/recent-extrinsics.ts';
import type { MetricCase } from '../../support/served.ts';

/** Its words are for people and may change; everything else is exact. */
export const recentExtrinsicCase: MetricCase = {
  metric: recentExtrinsic,
  reference: recentExtrinsics,
  free: ['summary'],
};
