import type { z } from 'zod';
import { integerSetting } from '../infra/config/setting-types.ts';

/** Settings of the computation of metrics. */
export const aggregateSettings = {
  WORK_CONCURRENCY: integerSetting(2, 1, 256).describe(
    'windows that one work process computes at the same time, and as many of the last three days beside them',
  ),
};

/** Bounds that operators have no reason to turn. */
export const aggregateBounds = {
  /** Attempts to compute a failing metric before it waits for `rebuild`; other metrics continue. */
  METRIC_ATTEMPTS: 12,
  /** Longest time between two attempts; it doubles from one second on. */
  METRIC_RETRY_SECONDS_MAX: 900,
  /** Time between two checks for dirty days that are not yet computed. */
  SWEEP_SECONDS: 5,
};

type AggregateSettings = z.output<z.ZodObject<typeof aggregateSettings>> & typeof aggregateBounds;

/** A day is computed once for loads that follow one another; the last days do not wait. */
const ROUND_WAIT_MS_MAX = 30_000;

/** How an aggregator works by the settings. */
export const aggregatorLimits = (settings: AggregateSettings & { readonly LEASE_MS: number }) => ({
  concurrency: settings.WORK_CONCURRENCY,
  leaseMs: settings.LEASE_MS,
  sweepMs: settings.SWEEP_SECONDS * 1000,
  roundWaitMsMax: ROUND_WAIT_MS_MAX,
  attempts: {
    attemptsMax: settings.METRIC_ATTEMPTS,
    waitMsMax: settings.METRIC_RETRY_SECONDS_MAX * 1000,
  },
});
