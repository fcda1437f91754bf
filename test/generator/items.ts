import type { Random } from '../../ingest/demo/random.ts';
import type { ShapedEvent } from '../reference/shaped.ts';
import type { Key } from './accounts.ts';

/** A call of an account, and the events that it emits when it runs. */
export type Item = {
  readonly call: string;
  readonly args: object;
  readonly actor: Key;
  readonly events: readonly ShapedEvent[];
};

export function hashOf(random: Random): string {
  const part = () => random.whole(0, 0xffffffff).toString(16).padStart(8, '0');
  return `0x${Array.from({ length: 8 }, part).join('')}`;
}

/** Why a call fails. */
export const BAD_ORIGIN = { badOrigin: null };
