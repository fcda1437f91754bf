import { blake2b } from '@noble/hashes/blake2.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { printAccount } from '../accounts.ts';
import { dayOf } from '../calendar.ts';
import { type Government, governmentsOf } from '../governance.ts';
import type { Input } from '../input.ts';
import { isObject, type Json } from '../json.ts';
import { amountFields } from '../money.ts';
import { quotient } from '../numbers.ts';
import { type Referendum, referendaOf } from '../referenda.ts';
import { chainNamed } from '../registry.ts';
import { compareKeys } from '../rows.ts';
import { Payload, snapshotsOf } from '../snapshots.ts';

export type GovReferendumResult = {
  relay_chain: string;
  chain: string;
  referendum_index: number;
  track: number | null;
  origin: string | null;
  ayes: number | null;
  ayes_planck: string | null;
  nays: number | null;
  nays_planck: string | null;
  support: number | null;
  support_planck: string | null;
  approval: number | null;
  outcome: Referendum['outcome'];
  submitted_block: number | null;
  end_block: number | null;
  start_date: string | null;
  end_date: string | null;
  deciding_block: number | null;
  confirm_block: number | null;
  decision_deposit: number | null;
  decision_deposit_planck: string | null;
  submitter: string | null;
  proposal_hash: string | null;
};

const TRACKS: Readonly<Record<number, string>> = {
  0: 'Root',
  1: 'WhitelistedCaller',
  2: 'WishForChange',
  10: 'StakingAdmin',
  11: 'Treasurer',
  12: 'LeaseAdmin',
  13: 'FellowshipAdmin',
  14: 'GeneralAdmin',
  15: 'AuctionAdmin',
  20: 'ReferendumCanceller',
  21: 'ReferendumKiller',
  30: 'SmallTipper',
  31: 'BigTipper',
  32: 'SmallSpender',
  33: 'MediumSpender',
  34: 'BigSpender',
};

export function govReferendumResult(input: Input): GovReferendumResult[] {
  return governmentsOf(input, ['polkadot'])
    .flatMap((government) =>
      referendaOf(government).map((referendum) => rowOf(input, referendum, government)),
    )
    .sort((a, b) => compareKeys([a.referendum_index, a.chain], [b.referendum_index, b.chain]));
}

function rowOf(input: Input, referendum: Referendum, government: Government): GovReferendumResult {
  const { chain } = referendum.last;
  const { tally, submission } = referendum;
  const cast = tally ? tally.ayes + tally.nays : 0n;
  const submitter = submission?.actor ?? null;
  return {
    relay_chain: government.relay,
    chain: chain.name,
    referendum_index: referendum.index,
    track: referendum.track,
    origin:
      originName(submission?.args.proposal_origin) ?? originOfTrack(input, government, referendum.track),
    ...amountFields('ayes', tally?.ayes ?? null, chain),
    ...amountFields('nays', tally?.nays ?? null, chain),
    ...amountFields('support', tally?.support ?? null, chain),
    approval: tally && cast > 0n ? quotient(tally.ayes, cast) : null,
    outcome: referendum.outcome,
    submitted_block: referendum.submitted?.height ?? null,
    end_block: referendum.end?.height ?? null,
    start_date: referendum.submitted && dayOf(referendum.submitted.time),
    end_date: referendum.end && dayOf(referendum.end.time),
    deciding_block: referendum.deciding?.height ?? null,
    confirm_block: referendum.confirming?.height ?? null,
    ...amountFields('decision_deposit', referendum.deposit, chain),
    submitter: submitter && printAccount(submitter, chain),
    proposal_hash: hashOf(referendum.proposal),
  };
}

/** `{"system": {"root": null}}` is Root, `{"origins": "SmallTipper"}` is SmallTipper; others have no name. */
function originName(origin: Json | undefined): string | null {
  const [[family = '', inner] = []] = isObject(origin) ? Object.entries(origin) : [];
  const name = isObject(inner) ? Object.keys(inner)[0] : inner;
  if (typeof name !== 'string') return null;
  const capital = name.charAt(0).toUpperCase() + name.slice(1);
  if (family === 'system') return capital === 'Root' ? capital : null;
  return family === 'origins' ? capital : null;
}

function originOfTrack(input: Input, government: Government, track: number | null): string | null {
  if (track === null) return null;
  const table = snapshotsOf(input, 'track_table').findLast((table) =>
    government.isOf(chainNamed(table.chain)),
  );
  const tracks = table ? new Payload(table.payload).items('tracks') : [];
  const named = tracks.find((entry) => entry.index('id') === track);
  return named?.text('origin') ?? TRACKS[track] ?? null;
}

function hashOf(proposal: Json | undefined): string | null {
  const [[kind = '', inner] = []] = isObject(proposal) ? Object.entries(proposal) : [];
  if (kind.toLowerCase() === 'inline') {
    return typeof inner === 'string' ? `0x${bytesToHex(blake2b(bytesOf(inner), { dkLen: 32 }))}` : null;
  }
  const hash = isObject(inner) ? (inner.hash ?? inner.hash_) : undefined;
  return typeof hash === 'string' ? hash.toLowerCase() : null;
}

const bytesOf = (hex: string) => hexToBytes(hex.replace(/^0x/, ''));
