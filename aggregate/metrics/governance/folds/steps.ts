import { keyOf } from '../../../../ingest/chains/address.ts';
import { parseAmount } from '../../../../ingest/decode/amount.ts';
import {
  accountKeyOf,
  asFields,
  type Fact,
  groupByExtrinsic,
  type JsonFields,
  type Moment,
  parseIndex,
  parseNested,
} from '../../shared/facts.ts';
import { type AccountVote, type Conviction, convictionOf, readConviction, readVote } from './account-vote.ts';
import { readReferendumEvent } from './referendum-events.ts';

/** The terms of a delegation on a track. */
export interface DelegationTerms {
  readonly delegator: string;
  readonly target: string;
  readonly track: number;
  readonly conviction: Conviction;
  readonly balance: bigint;
}

/** A change of a vote, a delegation or a referendum. */
export type Step = { readonly moment: Moment } & (
  | {
      readonly kind: 'submitted' | 'deciding';
      readonly referendum: number;
      readonly track: number;
    }
  | { readonly kind: 'vote'; readonly voter: string; readonly referendum: number; readonly vote: AccountVote }
  | { readonly kind: 'removal'; readonly voter: string; readonly referendum: number }
  | { readonly kind: 'delegation'; readonly terms: DelegationTerms }
  | { readonly kind: 'undelegation'; readonly delegator: string; readonly track: number }
  | { readonly kind: 'end'; readonly referendum: number }
  /** A snapshot of all delegations, which replaces the previous ones. */
  | { readonly kind: 'delegations'; readonly terms: readonly DelegationTerms[] }
);

/** Steps in chain order. Within an extrinsic, steps of referenda precede votes and delegations. */
export function* votingSteps(facts: Iterable<Fact>): Generator<Step> {
  for (const group of groupByExtrinsic(facts)) {
    for (const fact of group) yield* stepsOfReferendum(fact);
    yield* stepsOfVotes(group);
    for (const fact of group) {
      if (fact.kind === 'snapshot' && fact.name === 'delegations') yield delegationsOf(fact);
    }
  }
}

export function* stepsOfReferendum(fact: Fact): Generator<Step> {
  const event = readReferendumEvent(fact);
  if (!event) return;
  const { index: referendum, track, outcome, name } = event;
  if (track !== null)
    yield { kind: name === 'Submitted' ? 'submitted' : 'deciding', moment: fact, referendum, track };
  if (outcome) yield { kind: 'end', moment: fact, referendum };
}

/** The track of each referendum, from its submission, or else from the start of its decision. */
export function tracksOf(steps: Iterable<Step>): ReadonlyMap<number, number> {
  const submitted = new Map<number, number>();
  const deciding = new Map<number, number>();
  for (const step of steps) {
    if (step.kind !== 'submitted' && step.kind !== 'deciding') continue;
    const known = step.kind === 'submitted' ? submitted : deciding;
    if (!known.has(step.referendum)) known.set(step.referendum, step.track);
  }
  return new Map([...deciding, ...submitted]);
}

/**
 * The first runtimes did not emit `Voted`, and its oldest form lacks the referendum. So the k-th event of an account is
 * matched with its k-th executed `vote` call. Calls of unknown accounts take the remaining events.
 */
function stepsOfVotes(group: readonly Fact[]): Step[] {
  const voted = group.filter(({ name, kind }) => kind === 'event' && name === 'convictionVoting.Voted');
  const calls = group.filter(({ kind }) => kind === 'call');
  const eventOf = matchVotes(voted, calls.filter(isVote));
  const steps: Step[] = [];
  for (const call of calls) {
    const args = asFields(parseNested(call.data[0]));
    const event = eventOf.get(call);
    if (!isVote(call)) steps.push(...stepOfCall(call, args));
    else if (event) steps.push(...stepOfVoted(event, call));
    else if (voted.length === 0) steps.push(...stepOfVote(call, call.actor, args.poll_index, args.vote));
  }
  // Some votes have no call in an extrinsic, such as votes by the scheduler.
  const matched = new Set(eventOf.values());
  const unmatched = voted.filter((event) => !matched.has(event));
  return [...unmatched.flatMap((event) => stepOfVoted(event, null)), ...steps];
}

const isVote = ({ name }: Fact) => name === 'convictionVoting.vote';

/** The `Voted` event of each call that has one. */
function matchVotes(voted: readonly Fact[], calls: readonly Fact[]): ReadonlyMap<Fact, Fact> {
  const byVoter = Map.groupBy(voted, ({ data }) => accountKeyOf(data[0]));
  const eventOf = new Map<Fact, Fact>();
  const match = (call: Fact, event: Fact | undefined) => event && eventOf.set(call, event);
  for (const call of calls) match(call, byVoter.get(call.actor)?.shift());
  const matched = new Set(eventOf.values());
  const unmatched = voted.filter((event) => !matched.has(event));
  for (const call of calls) if (call.actor === '') match(call, unmatched.shift());
  return eventOf;
}

function stepOfVoted(event: Fact, call: Fact | null): Step[] {
  if (event.refused) return [];
  const [who, vote, eventIndex] = event.data;
  const index = event.data.length === 3 ? eventIndex : asFields(parseNested(call?.data[0])).poll_index;
  return stepOfVote(call ?? event, accountKeyOf(who), index, parseNested(vote));
}

function stepOfVote(moment: Moment, voter: string | null, index: unknown, value: unknown): Step[] {
  const referendum = parseIndex(index);
  const vote = readVote(value);
  if (!voter || referendum === null || vote === null) return [];
  return [{ kind: 'vote', moment, voter, referendum, vote }];
}

function stepOfCall(call: Fact, args: JsonFields): Step[] {
  const { actor, name } = call;
  const track = parseIndex(args.class);
  const referendum = parseIndex(args.index);
  switch (name) {
    case 'convictionVoting.removeVote':
      return actor === '' || referendum === null
        ? []
        : [{ kind: 'removal', moment: call, voter: actor, referendum }];
    case 'convictionVoting.removeOtherVote': {
      const voter = keyOf(args.target);
      return voter === null || referendum === null
        ? []
        : [{ kind: 'removal', moment: call, voter, referendum }];
    }
    case 'convictionVoting.undelegate':
      return actor === '' || track === null
        ? []
        : [{ kind: 'undelegation', moment: call, delegator: actor, track }];
    case 'convictionVoting.delegate': {
      const terms = readTerms(actor, keyOf(args.to), track, readConviction(args.conviction), args.balance);
      return terms === null ? [] : [{ kind: 'delegation', moment: call, terms }];
    }
    default:
      return [];
  }
}

function delegationsOf(snapshot: Fact): Step {
  const { delegations } = asFields(parseNested(snapshot.data[0]));
  const terms = (Array.isArray(delegations) ? delegations : []).map((entry) => {
    const { delegator, target, track, conviction, balance } = asFields(entry);
    return readTerms(keyOf(delegator), keyOf(target), parseIndex(track), convictionOf(conviction), balance);
  });
  return { kind: 'delegations', moment: snapshot, terms: terms.filter((read) => read !== null) };
}

function readTerms(
  delegator: string | null,
  target: string | null,
  track: number | null,
  conviction: Conviction | null,
  amount: unknown,
): DelegationTerms | null {
  const balance = parseAmount(amount);
  if (!delegator || target === null || track === null || conviction === null || balance === null) return null;
  return { delegator, target, track, conviction, balance };
}
