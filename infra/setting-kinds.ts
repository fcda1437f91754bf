import { z } from 'zod';

/** A whole number of the environment, within a range. */
export const whole = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^-?\d+$/, 'expected a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(fallback);

/** `true` or `false`. */
export const yesNo = (fallback: 'true' | 'false') =>
  z
    .enum(['true', 'false'])
    .default(fallback)
    .transform((value) => value === 'true');
