import type { DemoDocument } from '../../ingest/demo/history.ts';
import type { Random } from '../../ingest/demo/random.ts';
import { chainNamed } from '../reference/registry.ts';

/** A line that states something of a chain at a moment. */
export function snapshotLine(kind: string, chain: string, as_of: number, payload: unknown): string {
  const relay_chain = chainNamed(chain).relay;
  const head = { schema: 'snapshot/1', kind, relay_chain, chain, block_number: Math.floor(as_of / 6000) };
  return JSON.stringify({ ...head, as_of: new Date(as_of).toISOString(), payload });
}

/** Statements that a relay chain makes as well as its asset hub. */
const OF_BOTH = ['staking_state', 'issuance', 'treasury_balance'];
const LISTED_MAX = 9;

/** A statement of the demo as other services make it: of another chain, and with parts that are missing or zero. */
export function oddStatement(
  random: Random,
  { chain, snapshot }: Extract<DemoDocument, { snapshot: unknown }>,
  time: number,
): string {
  const { name, relay, aliases } = chainNamed(chain.name);
  const { kind, payload } = snapshot;
  const places = OF_BOTH.includes(kind) ? [relay, name] : [name, ...aliases];
  return snapshotLine(kind, random.pick(places), time, varied(random, '', payload));
}

/** The names of tracks, with one that nobody knows otherwise. */
export const trackTable = (random: Random, time: number): string =>
  snapshotLine('track_table', 'polkadot', time, {
    tracks: [{ id: 77, name: 'other', origin: random.pick(['Other', 'Another']) }],
  });

function varied(random: Random, key: string, value: unknown): unknown {
  if (Array.isArray(value)) {
    const some = value.slice(0, random.whole(0, LISTED_MAX)).map((one) => varied(random, '', one));
    return random.chance(0.2) ? [...some, ...some.slice(0, 1)] : some;
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, varied(random, name, one)]));
  }
  // Coins are issued before they are held.
  if (key === 'issuance' || !random.chance(0.1)) return value;
  if (key === 'decimals') return random.pick([3, 18]);
  if (key === 'asset') return 'ODD';
  if (typeof value === 'number') return 0;
  return /^\d+$/.test(String(value)) ? '0' : value;
}
