import { z } from 'zod';

/** An integer setting within a range. */
export const integerSetting = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^-?\d+$/, 'expected a whole number')
    .transform(Number)
    .pipe(
      z
        .number()
        .refine((value) => value >= min && value <= max, `expected a whole number ${range(min, max)}`),
    )
    .default(fallback);

/** Retention in days: 0 keeps everything, any other value is at least `min`. */
export const retentionDays = (min: number, fallback = 0) =>
  integerSetting(fallback, 0, DAYS_MAX).refine(
    (value) => value === 0 || value >= min,
    `expected 0, or a whole number ${range(min, DAYS_MAX)}`,
  );
const DAYS_MAX = 36_500;

const range = (min: number, max: number) =>
  max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;

/** A setting that is `true` or `false`. */
export const booleanSetting = (fallback: 'true' | 'false') =>
  z
    .enum(['true', 'false'])
    .default(fallback)
    .transform((value) => value === 'true');
