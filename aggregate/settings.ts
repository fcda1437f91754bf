import type { z } from 'zod';
import { integerSetting } from '../infra/config/setting-types.ts';

export const aggregateSettings = {
  WORK_CONCURRENCY: integerSetting(2, 1, 256).describe(
    'windows that a `work` process computes at the same time; it can compute as many more if they are of the last three days',
  ),
};

/** Bounds that only tests change. */
export const aggregateBounds = {
  /** Attempts of a failing metric before it waits for `rebuild`; other metrics continue. */
  METRIC_ATTEMPTS: 12,
  /** Longest wait between two attempts; waits double from one second. */
  METRIC_RETRY_SECONDS_MAX: 900,
  /** Time between two checks for dirty days without a round. */
  SWEEP_SECONDS: 5,
};

type AggregateSettings = z.output<z.ZodObject<typeof aggregateSettings>> & typeof aggregateBounds;

/** Longest wait of a round while loads follow one another, so that a day is computed once. The last days do not wait. */
const ROUND_WAIT_MS_MAX = 30_000;

/** The limits of an aggregator, from the settings. */
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
