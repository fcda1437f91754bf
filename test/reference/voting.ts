import type { AccountVote, StandardVote } from './account-vote.ts';
import type { AccountKey } from './accounts.ts';
import { monthOf } from './calendar.ts';
import type { DelegationTerms, Government, Happening, Moment } from './governance.ts';
import { isEnding, referendaOf, referendumOf } from './referenda.ts';

/** The vote of an account on a referendum as last cast, or as it was when it was taken back. */
export type Vote = {
  readonly voter: AccountKey;
  readonly poll: number;
  readonly vote: AccountVote;
  readonly isStanding: boolean;
  readonly at: Moment;
};

export type Delegation = { readonly terms: DelegationTerms; readonly at: Moment };

/** A delegation begins to count in a referendum: its target votes there, or it joins one who has voted. */
export type Effect = { readonly delegator: AccountKey; readonly poll: number; readonly at: Moment };

export type Poll = {
  readonly track: number | null;
  end: Moment | null;
  /** By voter. */
  readonly votes: Map<AccountKey, Vote>;
  /** Those on its track when it ended. */
  delegationsAtEnd: readonly Delegation[];
};

/** All votes and delegations at one moment, and what led to it. */
export type Voting = {
  /** A referendum has the track that is told of it at any time. */
  readonly tracks: ReadonlyMap<number, number | null>;
  readonly polls: Map<number, Poll>;
  readonly delegations: Delegation[];
  readonly casts: Vote[];
  readonly removals: Vote[];
  readonly effects: Effect[];
};

/** Replays a government until something, or to its end. */
export function voting(government: Government, until: (one: Happening) => boolean = () => false): Voting {
  const tracks = new Map(referendaOf(government).map(({ index, track }) => [index, track]));
  const state: Voting = { tracks, polls: new Map(), delegations: [], casts: [], removals: [], effects: [] };
  for (const happening of government.story) {
    if (until(happening)) break;
    step(state, happening);
  }
  return state;
}

/** The delegations that count in a poll: those at its end, or those of now. */
export function delegationsIn(state: Voting, poll: Poll): readonly Delegation[] {
  return poll.end === null ? onTrack(state, poll.track) : poll.delegationsAtEnd;
}

/** A vote that delegations count with: only a standard one that stands takes them along. */
export function standingStandard(poll: Poll, voter: AccountKey): (Vote & { vote: StandardVote }) | null {
  const vote = poll.votes.get(voter);
  return vote?.isStanding && vote.vote.type === 'Standard' ? { ...vote, vote: vote.vote } : null;
}

export function isInMonth(moment: Moment, month: string): boolean {
  return monthOf(moment.time) === month;
}

function onTrack(state: Voting, track: number | null): readonly Delegation[] {
  return state.delegations.filter(({ terms }) => terms.track === track);
}

function step(state: Voting, one: Happening): void {
  switch (one.kind) {
    case 'event':
      stepEvent(state, one);
      break;
    case 'vote':
      stepVote(state, one);
      break;
    case 'remove':
      stepRemoval(state, one);
      break;
    case 'delegate':
      withdraw(state, one.terms.delegator, one.terms.track);
      begin(state, { terms: one.terms, at: one.at });
      break;
    case 'undelegate':
      withdraw(state, one.delegator, one.track);
      break;
    case 'state':
      stepState(state, one);
      break;
    case 'call':
    case 'renumbering':
  }
}

function stepEvent(state: Voting, { event, at }: Happening & { kind: 'event' }): void {
  const index = referendumOf(event);
  if (index === null) return;
  const poll = pollOf(state, index);
  if (isEnding(event) && poll.end === null) {
    poll.end = at;
    poll.delegationsAtEnd = onTrack(state, poll.track);
  }
}

function stepVote(state: Voting, { voter, poll: index, vote, at }: Happening & { kind: 'vote' }): void {
  const poll = pollOf(state, index);
  if (poll.end !== null) return;
  const cast = { voter, poll: index, vote, isStanding: true, at };
  poll.votes.set(voter, cast);
  state.casts.push(cast);
  if (vote.type !== 'Standard') return;
  for (const { terms } of onTrack(state, poll.track)) {
    if (terms.target === voter) state.effects.push({ delegator: terms.delegator, poll: index, at });
  }
}

function stepRemoval(state: Voting, { voter, poll: index, at }: Happening & { kind: 'remove' }): void {
  const poll = pollOf(state, index);
  const vote = poll.votes.get(voter);
  if (!vote?.isStanding || poll.end !== null) return;
  const removed = { ...vote, isStanding: false, at };
  poll.votes.set(voter, removed);
  state.removals.push(removed);
}

function begin(state: Voting, delegation: Delegation): void {
  state.delegations.push(delegation);
  const { delegator, target, track } = delegation.terms;
  for (const [index, poll] of state.polls) {
    const counts = poll.end === null && poll.track === track && standingStandard(poll, target) !== null;
    if (counts) state.effects.push({ delegator, poll: index, at: delegation.at });
  }
}

function withdraw(state: Voting, delegator: AccountKey, track: number): void {
  const at = state.delegations.findIndex(
    ({ terms }) => terms.delegator === delegator && terms.track === track,
  );
  if (at >= 0) state.delegations.splice(at, 1);
}

/** A state replaces all delegations; those that were known go on from where they began. */
function stepState(state: Voting, { terms, at }: Happening & { kind: 'state' }): void {
  const known = state.delegations.splice(0);
  for (const entry of terms) {
    const same = known.find((one) => isSame(one.terms, entry));
    if (same) state.delegations.push(same);
    else begin(state, { terms: entry, at });
  }
}

function isSame(a: DelegationTerms, b: DelegationTerms): boolean {
  const isBetween = a.delegator === b.delegator && a.target === b.target && a.track === b.track;
  return isBetween && a.conviction === b.conviction && a.balance === b.balance;
}

function pollOf(state: Voting, index: number): Poll {
  const poll = state.polls.get(index) ?? {
    track: state.tracks.get(index) ?? null,
    end: null,
    votes: new Map(),
    delegationsAtEnd: [],
  };
  state.polls.set(index, poll);
  return poll;
}
