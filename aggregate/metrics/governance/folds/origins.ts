import { blake2b } from '@noble/hashes/blake2.js';
import { asFields, type Fact, parseIndex, parseNested, variantOf } from '../../shared/facts.ts';

/** The dispatch origin in `proposal_origin` of a call; null when it names none. */
export function readOrigin(value: unknown): string | null {
  const outer = variantOf(value);
  const inner = variantOf(outer?.value);
  if (inner === null) return null;
  if (outer?.name === 'system') return inner.name === 'root' ? 'Root' : null;
  return outer?.name === 'origins' ? inner.name.charAt(0).toUpperCase() + inner.name.slice(1) : null;
}

/** Used if a store has neither the submission of a referendum nor a `track_table` snapshot. */
const POLKADOT_TRACKS: ReadonlyMap<number, string> = new Map([
  [0, 'Root'],
  [1, 'WhitelistedCaller'],
  [2, 'WishForChange'],
  [10, 'StakingAdmin'],
  [11, 'Treasurer'],
  [12, 'LeaseAdmin'],
  [13, 'FellowshipAdmin'],
  [14, 'GeneralAdmin'],
  [15, 'AuctionAdmin'],
  [20, 'ReferendumCanceller'],
  [21, 'ReferendumKiller'],
  [30, 'SmallTipper'],
  [31, 'BigTipper'],
  [32, 'SmallSpender'],
  [33, 'MediumSpender'],
  [34, 'BigSpender'],
]);

/** The origin of each track, from the newest `track_table` snapshot, else from the built-in table. */
export function originsOfTracks(facts: readonly Fact[]): ReadonlyMap<number, string> {
  const newest = facts.findLast(({ kind, name }) => kind === 'snapshot' && name === 'track_table');
  const { tracks } = asFields(parseNested(newest?.data[0]));
  const fromSnapshot = (Array.isArray(tracks) ? tracks : []).flatMap((track): [number, string][] => {
    const { id, origin } = asFields(track);
    const index = parseIndex(id);
    return index === null || typeof origin !== 'string' ? [] : [[index, origin]];
  });
  return new Map([...POLKADOT_TRACKS, ...fromSnapshot]);
}

/** The hash of the proposed call: that of its preimage, or of its inline bytes. */
export function proposalHash(proposal: unknown): string | null {
  if (typeof proposal === 'string') return hashText(proposal);
  const { lookup, legacy, inline } = lowerKeys(proposal);
  for (const preimage of [lookup, legacy]) {
    const { hash, hash_ } = asFields(preimage);
    if (preimage !== undefined) return hashText(hash ?? hash_ ?? preimage);
  }
  if (typeof inline !== 'string') return null;
  const bytes = /^0x([0-9a-f]{2})*$/i.test(inline)
    ? Buffer.from(inline.slice(2), 'hex')
    : Buffer.from(inline, 'utf8');
  return `0x${Buffer.from(blake2b(bytes, { dkLen: 32 })).toString('hex')}`;
}

const hashText = (value: unknown): string | null =>
  typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value) ? value.toLowerCase() : null;

function lowerKeys(value: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(asFields(value)).map(([key, of]) => [key.toLowerCase(), of]));
}
