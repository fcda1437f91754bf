import { randomUUID } from 'node:crypto';
import { Lease } from '../../infra/coordination/lock.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import { LOADING } from '../../ingest/loads-in-progress.ts';
import { ANY_PALLET, dirtyDays } from '../../ingest/raw/tables.ts';
import type { DirtyDay } from '../planner/dirty-groups.ts';

interface MarkOptions {
  readonly runtime: Pick<Runtime, 'store' | 'keyValue'>;
  readonly numbers: Numbers;
  readonly leaseMs: number;
}

/**
 * Marks days as dirty once more, those with blocks as if each had lost some. A process that stood still for longer than
 * its lease may have written rows of older facts behind its successor, which knows nothing of them. As a load, so that no
 * round of that one passes over the marks while they are written.
 */
export async function markAgain(
  { runtime: { store, keyValue }, numbers, leaseMs }: MarkOptions,
  days: readonly DirtyDay[],
): Promise<void> {
  const places = days.map(({ stream, pallet, relay_chain, chain, day }) => ({
    stream,
    pallet: stream === 'blocks' ? ANY_PALLET : pallet,
    relay_chain,
    chain,
    day,
  }));
  const distinct = [...new Map(places.map((place) => [JSON.stringify(place), place])).values()];
  for (;;) {
    const member = `${await numbers.take(1)}|${randomUUID()}`;
    const lease = (await Lease.acquire(keyValue, LOADING, leaseMs, 0, member)) as Lease;
    try {
      const sequence = (await numbers.take(1)).toString();
      await store.insert(
        dirtyDays,
        distinct.map((place) => ({ ...place, sequence })),
      );
    } catch (error) {
      await lease.release().catch(() => undefined);
      throw error;
    }
    if (await lease.release()) return;
  }
}
