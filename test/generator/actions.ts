import type { Random } from '../../ingest/demo/random.ts';
import type { ShapedEvent } from '../reference/shaped.ts';
import type { Key } from './accounts.ts';

/** A call that somebody wants to make. `perform` does what it says to the model and returns its events. */
export type Action = {
  readonly call: string;
  readonly args: object;
  readonly perform: () => readonly ShapedEvent[];
};

/** Makes the action for whoever turns out to act; null stands for the root. */
export type Maker = (actor: Key) => Action;

/** An amount in one of the spellings of sources. */
export function amountOf(random: Random, planck: bigint): string | number {
  if (random.chance(0.05)) return `0x${planck.toString(16).padStart(32, '0')}`;
  return random.chance(0.05) && planck < 2n ** 53n ? Number(planck) : planck.toString();
}

export function hashOf(random: Random): string {
  const part = () => random.whole(0, 0xffffffff).toString(16).padStart(8, '0');
  return `0x${Array.from({ length: 8 }, part).join('')}`;
}

/** Why a call fails. */
export const BAD_ORIGIN = { badOrigin: null };
