import type { z } from 'zod';
import { whole } from '../infra/config/kinds.ts';

/** Settings of the computation of metrics. */
export const aggregateSettings = {
  WORK_CONCURRENCY: whole(2, 1, 256).describe('windows that one work process computes at the same time'),
  SWEEP_SECONDS: whole(5, 1, 3600).describe(
    'time between two checks for dirty days that are not yet computed',
  ),
};

export type AggregateSettings = z.output<z.ZodObject<typeof aggregateSettings>>;
