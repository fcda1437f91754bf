import type { Moment } from '../../shared/facts.ts';
import type { AccountVote } from './account-vote.ts';
import type { DelegationTerms, Step } from './steps.ts';

export interface Delegation extends DelegationTerms {
  readonly since: Moment;
}

/** The last vote of an account on a referendum. */
export interface CastVote {
  readonly voter: string;
  readonly referendum: number;
  readonly vote: AccountVote;
  readonly isRemoved: boolean;
  /** When it was cast, or removed. */
  readonly moment: Moment;
}

/** Told of every change right after it, except of an end, which it sees before the votes are forgotten. */
export interface Witness {
  /** Time has come to this moment, and nothing of it has happened yet. */
  reached?(moment: Moment): void;
  cast?(vote: CastVote): void;
  removed?(vote: CastVote): void;
  delegated?(delegation: Delegation, since: Moment): void;
  ended(referendum: number): void;
}

/** All votes on open referenda and all delegations, moved step by step. */
export class Voting {
  readonly #tracks: ReadonlyMap<number, number>;
  readonly #votes = new Map<number, Map<string, CastVote>>();
  readonly #ended = new Set<number>();
  /** By track and delegator, who has at most one on a track; and by track and target. */
  readonly #delegations = new Map<string, Delegation>();
  readonly #backers = new Map<string, Map<string, Delegation>>();

  constructor(tracks: ReadonlyMap<number, number>) {
    this.#tracks = tracks;
  }

  run(steps: Iterable<Step>, witness: Witness): void {
    for (const step of steps) {
      witness.reached?.(step.moment);
      this.#take(step, witness);
    }
  }

  /** Referenda that have votes and have not ended. */
  get open(): number[] {
    return [...this.#votes.keys()];
  }

  /** Null for a referendum that is known by its votes only. */
  trackOf(referendum: number): number | null {
    return this.#tracks.get(referendum) ?? null;
  }

  votesOn(referendum: number): Iterable<CastVote> {
    return this.#votes.get(referendum)?.values() ?? [];
  }

  /** The vote that others can add theirs to: one that stands and takes a single side. */
  standardVote(referendum: number, voter: string): (CastVote & { vote: { type: 'Standard' } }) | null {
    const cast = this.#votes.get(referendum)?.get(voter);
    return cast && isStandard(cast) ? cast : null;
  }

  delegationOf(track: number, delegator: string): Delegation | undefined {
    return this.#delegations.get(`${track} ${delegator}`);
  }

  /** The delegations that add to a vote on a referendum; none where the vote carries none. */
  backersOf(cast: CastVote): Iterable<Delegation> {
    const track = this.trackOf(cast.referendum);
    if (track === null || !isStandard(cast)) return [];
    return this.#backers.get(`${track} ${cast.voter}`)?.values() ?? [];
  }

  #take(step: Step, witness: Witness): void {
    switch (step.kind) {
      case 'vote':
        this.#cast({ ...step, isRemoved: false }, witness);
        break;
      case 'removal':
        this.#remove(step.referendum, step.voter, step.moment, witness);
        break;
      case 'delegation':
        this.#delegate(step.terms, step.moment, witness);
        break;
      case 'undelegation':
        this.#undelegate(step.track, step.delegator);
        break;
      case 'delegations':
        this.#replaceDelegations(step.terms, step.moment, witness);
        break;
      case 'end':
        this.#end(step.referendum, witness);
        break;
    }
  }

  #cast({ voter, referendum, vote, isRemoved, moment }: CastVote, witness: Witness): void {
    if (this.#ended.has(referendum)) return;
    const cast = { voter, referendum, vote, isRemoved, moment };
    const votes = this.#votes.get(referendum);
    if (votes) votes.set(voter, cast);
    else this.#votes.set(referendum, new Map([[voter, cast]]));
    witness.cast?.(cast);
  }

  #remove(referendum: number, voter: string, moment: Moment, witness: Witness): void {
    const votes = this.#votes.get(referendum);
    const cast = votes?.get(voter);
    if (!votes || !cast || cast.isRemoved) return;
    const removed = { ...cast, isRemoved: true, moment };
    votes.set(voter, removed);
    witness.removed?.(removed);
  }

  #delegate(terms: DelegationTerms, since: Moment, witness: Witness): void {
    this.#undelegate(terms.track, terms.delegator);
    const delegation = { ...terms, since };
    this.#keep(delegation);
    witness.delegated?.(delegation, since);
  }

  #keep(delegation: Delegation): void {
    const { track, delegator, target } = delegation;
    this.#delegations.set(`${track} ${delegator}`, delegation);
    const backers = this.#backers.get(`${track} ${target}`);
    if (backers) backers.set(delegator, delegation);
    else this.#backers.set(`${track} ${target}`, new Map([[delegator, delegation]]));
  }

  #undelegate(track: number, delegator: string): void {
    const former = this.#delegations.get(`${track} ${delegator}`);
    if (!former) return;
    this.#delegations.delete(`${track} ${delegator}`);
    this.#backers.get(`${track} ${former.target}`)?.delete(delegator);
  }

  /** What a snapshot repeats goes on; what it adds starts with it, at once with all others. */
  #replaceDelegations(terms: readonly DelegationTerms[], since: Moment, witness: Witness): void {
    const stated = new Map(
      terms.map((one): [string, Delegation] => {
        const id = `${one.track} ${one.delegator}`;
        const known = this.#delegations.get(id);
        return [id, known && isSame(known, one) ? known : { ...one, since }];
      }),
    );
    this.#delegations.clear();
    this.#backers.clear();
    for (const delegation of stated.values()) this.#keep(delegation);
    for (const delegation of stated.values()) {
      if (delegation.since === since) witness.delegated?.(delegation, since);
    }
  }

  #end(referendum: number, witness: Witness): void {
    if (this.#ended.has(referendum)) return;
    this.#ended.add(referendum);
    witness.ended(referendum);
    this.#votes.delete(referendum);
  }
}

function isStandard(cast: CastVote): cast is CastVote & { vote: { type: 'Standard' } } {
  return cast.vote.type === 'Standard' && !cast.isRemoved;
}

const isSame = (known: DelegationTerms, other: DelegationTerms) =>
  known.target === other.target && known.conviction === other.conviction && known.balance === other.balance;
