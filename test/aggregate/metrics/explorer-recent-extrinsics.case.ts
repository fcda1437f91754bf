import { recentExtrinsic } from '../../../aggregate/metrics/activity/explorer-recent-extrinsics.ts';
import { recentExtrinsics } from '../../reference/metrics/recent-extrinsics.ts';
import type { MetricCase } from '../../support/served.ts';

/** The summary is for people and may change; all other fields are compared. */
export const recentExtrinsicCase: MetricCase = {
  metric: recentExtrinsic,
  reference: recentExtrinsics,
  free: ['summary'],
};
