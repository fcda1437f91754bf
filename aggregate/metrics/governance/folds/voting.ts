import type { Moment } from '../../shared/facts.ts';
import type { AccountVote } from './account-vote.ts';
import { type DelegationTerms, type Step, tracksOf } from './steps.ts';

export interface Delegation extends DelegationTerms {
  readonly since: Moment;
}

/** The last vote of an account on a referendum. */
export interface CastVote {
  readonly voter: string;
  readonly referendum: number;
  readonly vote: AccountVote;
  readonly isRemoved: boolean;
  /** The moment of the vote, or of its removal. */
  readonly moment: Moment;
}

/** Called after each change; `onEnd` is called before the votes on the referendum are dropped. */
export interface VotingListener {
  /** Called before each step, with its moment. */
  onStep?(moment: Moment): void;
  onVote?(vote: CastVote): void;
  onRemoval?(vote: CastVote): void;
  onDelegation?(delegation: Delegation, since: Moment): void;
  onEnd(referendum: number): void;
}

/** The votes on open referenda and all delegations, after each step. */
export class Voting {
  readonly #steps: readonly Step[];
  readonly #tracks: ReadonlyMap<number, number>;
  readonly #votes = new Map<number, Map<string, CastVote>>();
  readonly #ended = new Set<number>();
  /** One delegation for each track and delegator; `#byTarget` finds it by track and target. */
  readonly #delegations = new Map<string, Delegation>();
  readonly #byTarget = new Map<string, Map<string, Delegation>>();

  /** The track of a referendum applies from the first step on, even if a later step reveals it. */
  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#tracks = tracksOf(steps);
  }

  run(listener: VotingListener): void {
    for (const step of this.#steps) {
      listener.onStep?.(step.moment);
      this.#apply(step, listener);
    }
  }

  /** Referenda that have votes and have not ended. */
  get open(): number[] {
    return [...this.#votes.keys()];
  }

  /** Null when only votes on the referendum are known. */
  trackOf(referendum: number): number | null {
    return this.#tracks.get(referendum) ?? null;
  }

  votesOn(referendum: number): Iterable<CastVote> {
    return this.#votes.get(referendum)?.values() ?? [];
  }

  /** The vote of an account if delegations add to it: a Standard vote that is not removed. */
  standardVote(referendum: number, voter: string): (CastVote & { vote: { type: 'Standard' } }) | null {
    const cast = this.#votes.get(referendum)?.get(voter);
    return cast && isStandard(cast) ? cast : null;
  }

  delegationOf(track: number, delegator: string): Delegation | undefined {
    return this.#delegations.get(`${track} ${delegator}`);
  }

  /** The delegations that add to a vote; none when it is removed or split. */
  delegationsFor(cast: CastVote): Iterable<Delegation> {
    const track = this.trackOf(cast.referendum);
    if (track === null || !isStandard(cast)) return [];
    return this.#byTarget.get(`${track} ${cast.voter}`)?.values() ?? [];
  }

  #apply(step: Step, listener: VotingListener): void {
    switch (step.kind) {
      case 'vote':
        this.#cast({ ...step, isRemoved: false }, listener);
        break;
      case 'removal':
        this.#remove(step.referendum, step.voter, step.moment, listener);
        break;
      case 'delegation':
        this.#delegate(step.terms, step.moment, listener);
        break;
      case 'undelegation':
        this.#undelegate(step.track, step.delegator);
        break;
      case 'delegations':
        this.#replaceDelegations(step.terms, step.moment, listener);
        break;
      case 'end':
        this.#end(step.referendum, listener);
        break;
    }
  }

  #cast({ voter, referendum, vote, isRemoved, moment }: CastVote, listener: VotingListener): void {
    if (this.#ended.has(referendum)) return;
    const cast = { voter, referendum, vote, isRemoved, moment };
    const votes = this.#votes.get(referendum);
    if (votes) votes.set(voter, cast);
    else this.#votes.set(referendum, new Map([[voter, cast]]));
    listener.onVote?.(cast);
  }

  #remove(referendum: number, voter: string, moment: Moment, listener: VotingListener): void {
    const votes = this.#votes.get(referendum);
    const cast = votes?.get(voter);
    if (!votes || !cast || cast.isRemoved) return;
    const removed = { ...cast, isRemoved: true, moment };
    votes.set(voter, removed);
    listener.onRemoval?.(removed);
  }

  #delegate(terms: DelegationTerms, since: Moment, listener: VotingListener): void {
    this.#undelegate(terms.track, terms.delegator);
    const delegation = { ...terms, since };
    this.#store(delegation);
    listener.onDelegation?.(delegation, since);
  }

  #store(delegation: Delegation): void {
    const { track, delegator, target } = delegation;
    this.#delegations.set(`${track} ${delegator}`, delegation);
    const known = this.#byTarget.get(`${track} ${target}`);
    if (known) known.set(delegator, delegation);
    else this.#byTarget.set(`${track} ${target}`, new Map([[delegator, delegation]]));
  }

  #undelegate(track: number, delegator: string): void {
    const former = this.#delegations.get(`${track} ${delegator}`);
    if (!former) return;
    this.#delegations.delete(`${track} ${delegator}`);
    this.#byTarget.get(`${track} ${former.target}`)?.delete(delegator);
  }

  /** An unchanged delegation keeps its start; new ones start with the snapshot. Stores all before the first callback. */
  #replaceDelegations(terms: readonly DelegationTerms[], since: Moment, listener: VotingListener): void {
    const replaced = new Map(
      terms.map((one): [string, Delegation] => {
        const id = `${one.track} ${one.delegator}`;
        const known = this.#delegations.get(id);
        return [id, known && isSame(known, one) ? known : { ...one, since }];
      }),
    );
    this.#delegations.clear();
    this.#byTarget.clear();
    for (const delegation of replaced.values()) this.#store(delegation);
    for (const delegation of replaced.values()) {
      if (delegation.since === since) listener.onDelegation?.(delegation, since);
    }
  }

  #end(referendum: number, listener: VotingListener): void {
    if (this.#ended.has(referendum)) return;
    this.#ended.add(referendum);
    listener.onEnd(referendum);
    this.#votes.delete(referendum);
  }
}

function isStandard(cast: CastVote): cast is CastVote & { vote: { type: 'Standard' } } {
  return cast.vote.type === 'Standard' && !cast.isRemoved;
}

const isSame = (known: DelegationTerms, other: DelegationTerms) =>
  known.target === other.target && known.conviction === other.conviction && known.balance === other.balance;
