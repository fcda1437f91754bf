import { type AccountVote, parseConviction, parseVote } from './account-vote.ts';
import { type AccountKey, parseAccount, parseSigner } from './accounts.ts';
import { isNamed, type PlacedEvent } from './calls.ts';
import type { ExecutedCall } from './executed.ts';
import type { Block, Extrinsic } from './facts.ts';
import type { Input } from './input.ts';
import { parseAmount, parseIndex } from './numbers.ts';
import { type Chain, chainNamed } from './registry.ts';
import { compareKeys, type TimedBlock, timedBlocks } from './rows.ts';
import { Payload, snapshotsOf } from './snapshots.ts';

/** Where and when something happened; `order` counts what happened on all chains of a relay. */
export type Moment = {
  readonly order: number;
  readonly time: number;
  readonly chain: Chain;
  /** Null for what a snapshot says. */
  readonly height: number | null;
  readonly extrinsicId: string | null;
};

export type DelegationTerms = {
  readonly delegator: AccountKey;
  readonly target: AccountKey;
  readonly track: number;
  readonly conviction: number;
  readonly balance: bigint;
};

/** A child bounty gets another number. */
export type ChildId = { readonly parent: number; readonly old: number; readonly new: number };

type What =
  | { readonly kind: 'event'; readonly event: PlacedEvent; readonly extrinsic: Extrinsic | null }
  | { readonly kind: 'vote'; readonly voter: AccountKey; readonly poll: number; readonly vote: AccountVote }
  | { readonly kind: 'remove'; readonly voter: AccountKey; readonly poll: number }
  | { readonly kind: 'delegate'; readonly terms: DelegationTerms }
  | { readonly kind: 'undelegate'; readonly delegator: AccountKey; readonly track: number }
  | { readonly kind: 'state'; readonly terms: readonly DelegationTerms[] }
  | { readonly kind: 'renumbering'; readonly ids: readonly ChildId[] }
  | { readonly kind: 'call'; readonly call: ExecutedCall; readonly extrinsic: Extrinsic };

/** One thing that happened in a governance. */
export type Happening = What & { readonly at: Moment };

/** All chains of a relay: what one of them began another may go on with, under the same index. */
export type Government = {
  readonly relay: string;
  readonly isOf: (chain: Chain) => boolean;
  readonly story: readonly Happening[];
};

/** The governments of these relay chains, each with everything that happened in it, in order. */
export function governmentsOf(input: Input, relays: readonly string[]): readonly Government[] {
  const blocks = timedBlocks(input.blocks).filter(({ chain }) => relays.includes(chain.relay));
  const groups = Map.groupBy(blocks, ({ chain }) => chain.relay);
  return [...groups].map(([relay, ofRelay]) => {
    const isOf = (chain: Chain) => chain.relay === relay;
    return { relay, isOf, story: storyOf(input, ofRelay, isOf) };
  });
}

type Unordered = What & { readonly at: Omit<Moment, 'order'> };

function storyOf(
  input: Input,
  blocks: readonly TimedBlock[],
  isOf: Government['isOf'],
): readonly Happening[] {
  const inOrder = blocks.toSorted((a, b) =>
    compareKeys([a.time, a.chain.name, a.height], [b.time, b.chain.name, b.height]),
  );
  const told: Unordered[] = inOrder.flatMap(happeningsOf);
  const renumberings = snapshotsOf(input, 'child_bounty_ids').flatMap((snapshot): readonly Unordered[] => {
    const chain = chainNamed(snapshot.chain);
    if (!isOf(chain)) return [];
    const ids = new Payload(snapshot.payload).items('ids').map((entry) => ({
      parent: entry.index('parent'),
      old: entry.index('old'),
      new: entry.index('new'),
    }));
    const at = { time: snapshot.asOf, chain, height: null, extrinsicId: null };
    return [{ kind: 'renumbering', ids, at }];
  });
  const states = snapshotsOf(input, 'delegations').flatMap((snapshot): readonly Unordered[] => {
    const chain = chainNamed(snapshot.chain);
    if (!isOf(chain)) return [];
    const terms = new Payload(snapshot.payload).items('delegations').map((entry) => ({
      delegator: entry.account('delegator'),
      target: entry.account('target'),
      track: entry.index('track'),
      conviction: entry.index('conviction'),
      balance: entry.amount('balance'),
    }));
    return [{ kind: 'state', terms, at: { time: snapshot.asOf, chain, height: null, extrinsicId: null } }];
  });
  // Sorting is stable: what is told of one moment keeps its order, and children are renumbered before the block of it.
  const named = [...renumberings, ...told].toSorted((a, b) =>
    compareKeys([a.at.time, a.at.chain.name], [b.at.time, b.at.chain.name]),
  );
  // A state of delegations follows what led to it, on whichever chain.
  const all = [...named, ...states].toSorted((a, b) => a.at.time - b.at.time);
  return all.map((one, order) => ({ ...one, at: { ...one.at, order } }));
}

function happeningsOf(block: TimedBlock): readonly Unordered[] {
  const outside = (phase: PlacedEvent['phase']) =>
    block.events.filter((event) => event.phase === phase).flatMap((event) => eventOutside(block, event));
  return [
    ...outside('onInitialize'),
    ...block.extrinsics.flatMap((extrinsic) => happeningsIn(block, extrinsic)),
    ...outside('onFinalize'),
  ];
}

function eventOutside(block: TimedBlock, event: PlacedEvent): readonly Unordered[] {
  const at = momentOf(block, null);
  if (!isNamed(event, 'convictionVoting', 'Voted')) return [{ kind: 'event', event, extrinsic: null, at }];
  // Without its index a vote that no call tells of cannot be placed.
  const poll = event.data.length === 3 ? parseIndex(event.data[2]) : null;
  return poll === null ? [] : voteHappening(event, poll, at);
}

/** First what the events say, then what the calls did. */
function happeningsIn(block: TimedBlock, extrinsic: Extrinsic): readonly Unordered[] {
  const at = momentOf(block, extrinsic.index);
  const events = extrinsic.events
    .filter((event) => !isNamed(event, 'convictionVoting', 'Voted'))
    .map((event): Unordered => ({ kind: 'event', event, extrinsic, at }));
  const voted = extrinsic.everyEvent.filter((event) => isNamed(event, 'convictionVoting', 'Voted'));
  const eventsOfCalls = votedEvents(extrinsic, voted);
  const left = new Set(voted).difference(new Set(eventsOfCalls.values()));
  const calls = extrinsic.executed.flatMap((call): readonly Unordered[] => {
    if (!isNamed(call, 'convictionVoting', 'vote')) return callHappening(call, extrinsic, at);
    if (voted.length === 0) return voteOfCall(call, at);
    const event = eventsOfCalls.get(call);
    if (!event || !extrinsic.events.includes(event)) return [];
    const poll = parseIndex(event.data.length === 3 ? event.data[2] : call.args.poll_index);
    return poll === null ? [] : voteHappening(event, poll, at);
  });
  const withoutCall = [...left].flatMap((event) => {
    const isReadable = extrinsic.events.includes(event);
    const poll = isReadable && event.data.length === 3 ? parseIndex(event.data[2]) : null;
    return poll === null ? [] : voteHappening(event, poll, at);
  });
  return [...events, ...withoutCall, ...calls];
}

/**
 * The event of each vote that a call cast. A known account takes the next event that names it; whoever is unknown
 * takes what those leave, since the event names them.
 */
function votedEvents(
  { executed }: Extrinsic,
  voted: readonly PlacedEvent[],
): ReadonlyMap<ExecutedCall, PlacedEvent> {
  const votes = executed.filter((call) => isNamed(call, 'convictionVoting', 'vote'));
  const left = new Set(voted);
  const taken = new Map<ExecutedCall, PlacedEvent>();
  for (const isKnown of [true, false]) {
    for (const call of votes.filter(({ isActorKnown }) => isActorKnown === isKnown)) {
      const event = [...left].find(({ data }) => !isKnown || parseAccount(data[0]) === (call.actor ?? ''));
      if (!event) continue;
      left.delete(event);
      taken.set(call, event);
    }
  }
  return taken;
}

function momentOf(block: Block & { time: number }, extrinsic: number | null): Omit<Moment, 'order'> {
  const { time, chain, height } = block;
  return { time, chain, height, extrinsicId: extrinsic === null ? null : `${height}-${extrinsic}` };
}

function voteHappening(event: PlacedEvent, poll: number, at: Omit<Moment, 'order'>): readonly Unordered[] {
  const voter = parseAccount(event.data[0]);
  const vote = parseVote(event.data[1]);
  return voter !== null && vote !== null ? [{ kind: 'vote', voter, poll, vote, at }] : [];
}

function voteOfCall(call: ExecutedCall, at: Omit<Moment, 'order'>): readonly Unordered[] {
  const poll = parseIndex(call.args.poll_index);
  const vote = parseVote(call.args.vote);
  if (call.actor === null || poll === null || vote === null) return [];
  return [{ kind: 'vote', voter: call.actor, poll, vote, at }];
}

function callHappening(
  call: ExecutedCall,
  extrinsic: Extrinsic,
  at: Omit<Moment, 'order'>,
): readonly Unordered[] {
  const { actor, args } = call;
  if (call.pallet !== 'convictionVoting') return [{ kind: 'call', call, extrinsic, at }];
  const [track, poll] = [parseIndex(args.class), parseIndex(args.index)];
  switch (call.method) {
    case 'removeVote':
      return actor !== null && poll !== null ? [{ kind: 'remove', voter: actor, poll, at }] : [];
    case 'removeOtherVote': {
      const voter = parseSigner(args.target);
      return voter !== null && poll !== null ? [{ kind: 'remove', voter, poll, at }] : [];
    }
    case 'undelegate':
      return actor !== null && track !== null ? [{ kind: 'undelegate', delegator: actor, track, at }] : [];
    case 'delegate': {
      const target = parseSigner(args.to);
      const conviction = parseConviction(args.conviction);
      const balance = parseAmount(args.balance);
      if (actor === null || target === null || track === null) return [];
      if (conviction === null || balance === null) return [];
      return [{ kind: 'delegate', terms: { delegator: actor, target, track, conviction, balance }, at }];
    }
    default:
      return [];
  }
}
