import type { z } from 'zod';
import { whole } from '../infra/config/kinds.ts';

/** Settings of the computation of metrics. */
export const aggregateSettings = {
  WORK_CONCURRENCY: whole(2, 1, 256).describe(
    'windows that one work process computes at the same time, and as many of the last three days beside them',
  ),
  ROUND_WAIT_SECONDS_MAX: whole(30, 0, 3600).describe(
    'longest wait of a round for further loads, so that a day is computed once; the last days do not wait',
  ),
  METRIC_ATTEMPTS: whole(12, 1, 1000).describe(
    'attempts to compute a failing metric before it waits for `rebuild`; other metrics continue',
  ),
  METRIC_RETRY_SECONDS_MAX: whole(900, 1, 86_400).describe(
    'longest time between two attempts; it doubles from one second on',
  ),
  SWEEP_SECONDS: whole(5, 1, 3600).describe(
    'time between two checks for dirty days that are not yet computed',
  ),
};

type AggregateSettings = z.output<z.ZodObject<typeof aggregateSettings>>;

/** How an aggregator works by the settings. */
export const aggregatorLimits = (settings: AggregateSettings & { readonly LEASE_MS: number }) => ({
  concurrency: settings.WORK_CONCURRENCY,
  leaseMs: settings.LEASE_MS,
  sweepMs: settings.SWEEP_SECONDS * 1000,
  roundWaitMsMax: settings.ROUND_WAIT_SECONDS_MAX * 1000,
  attempts: {
    attemptsMax: settings.METRIC_ATTEMPTS,
    waitMsMax: settings.METRIC_RETRY_SECONDS_MAX * 1000,
  },
});
