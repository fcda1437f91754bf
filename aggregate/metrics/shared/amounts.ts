import { USD_SCALE } from './exact.ts';

/** Exact amounts in folds: bigint until the last step, and one rounding to a double there. */

/** `integer / 10^scale` as the nearest double. */
export function scaledDown(integer: bigint, scale: number): number {
  if (integer < 0n) return -scaledDown(-integer, scale);
  const digits = integer.toString().padStart(scale + 1, '0');
  return Number(`${digits.slice(0, digits.length - scale)}.${digits.slice(digits.length - scale)}`);
}

/** `integer / divisor / 10^scale` as a double; thirty more digits than the integer has decide the rounding. */
export function dividedDown(integer: bigint, divisor: bigint, scale: number): number {
  return scaledDown((integer * 10n ** 30n) / divisor, scale + 30);
}

/** `numerator / denominator` as the nearest double, however far apart the two are. */
export function quotient(numerator: bigint, denominator: bigint): number {
  const shift = Math.max(0, 30 + denominator.toString().length - numerator.toString().length);
  return scaledDown((numerator * 10n ** BigInt(shift)) / denominator, shift);
}

/** Planck times price (`usd_scaled` of the prices table), as an integer of 10^-48 USD; such amounts may be summed. */
export function usdExact(planck: bigint, decimals: number, usdScaled: bigint): bigint {
  return planck * usdScaled * 10n ** BigInt(18 - decimals);
}

/** An exact USD amount as the nearest double. */
export function usd(exact: bigint): number {
  return scaledDown(exact, USD_SCALE);
}
