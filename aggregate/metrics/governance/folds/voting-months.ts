import { isoDay } from '../../../../infra/days.ts';
import type { Moment } from '../../shared/facts.ts';
import { type Direction, partsOf, weigh } from './account-vote.ts';
import type { Step } from './steps.ts';
import { type CastVote, type Delegation, Voting, type VotingListener } from './voting.ts';

type VoteType = 'direct' | 'delegated';

/** The key of the rows of a referendum in a month. */
interface Contribution {
  readonly referendum_index: number;
  readonly month: string;
  readonly chain: string;
  readonly vote_type: VoteType;
}

/** An account that took part, by a direct vote or by a delegation that took effect. */
interface Participant extends Contribution {
  readonly account: string;
}

/** The tokens behind one side. */
interface SideOfMonth extends Contribution {
  readonly vote_direction: Direction;
  capital: bigint;
  votes: bigint;
  number_of_votes: number;
}

/** A row for each participant and for each side, by referendum and month. */
export function votingMonths(steps: readonly Step[]): Record<string, unknown>[] {
  const voting = new Voting(steps);
  const counter = new MonthlyCounter(voting);
  voting.run(counter);
  counter.close();
  return [
    ...counter.participants.map((row) => ({ ...NO_SIDE, ...row })),
    ...counter.sides.map(({ capital, votes, ...row }) => ({
      account: '',
      ...row,
      capital_planck: capital.toString(),
      votes_planck: votes.toString(),
    })),
  ];
}

const NO_SIDE = { vote_direction: '', capital_planck: '0', votes_planck: '0', number_of_votes: 0 } as const;

/** Counts votes by month. The first step of a later month closes the current one. */
class MonthlyCounter implements VotingListener {
  readonly participants: Participant[] = [];
  readonly sides: SideOfMonth[] = [];
  readonly #voting: Voting;
  #month = '';
  #until = Number.NEGATIVE_INFINITY;
  #participants = new Map<string, Participant>();
  /** The last vote of each account on each referendum in the month, without removed votes. */
  #lastCast = new Map<string, CastVote>();
  /** By referendum and delegator: the chain on which the delegation last took effect. */
  #effects = new Map<number, Map<string, string>>();
  #sides = new Map<string, SideOfMonth>();

  constructor(voting: Voting) {
    this.#voting = voting;
  }

  onStep({ at }: Moment): void {
    if (at < this.#until) return;
    this.close();
    const [year, month] = [new Date(at).getUTCFullYear(), new Date(at).getUTCMonth()];
    this.#until = Date.UTC(year, month + 1, 1);
    this.#month = isoDay(Date.UTC(year, month + 1, 0));
  }

  onVote(vote: CastVote): void {
    this.#lastCast.set(`${vote.referendum} ${vote.voter}`, vote);
    this.#addParticipant('direct', vote.moment.chain, vote.voter, vote.referendum);
    for (const { delegator } of this.#voting.delegationsFor(vote)) {
      this.#takeEffect(delegator, vote.referendum, vote.moment.chain);
    }
  }

  onRemoval({ referendum, voter }: CastVote): void {
    this.#lastCast.delete(`${referendum} ${voter}`);
  }

  onDelegation({ delegator, target, track }: Delegation, since: Moment): void {
    for (const referendum of this.#voting.open) {
      if (this.#voting.trackOf(referendum) !== track) continue;
      if (this.#voting.standardVote(referendum, target)) this.#takeEffect(delegator, referendum, since.chain);
    }
  }

  /** Delegations count as they are when the referendum or the month ends. */
  onEnd(referendum: number): void {
    for (const [delegator, chain] of this.#effects.get(referendum) ?? []) {
      this.#countDelegated(referendum, delegator, chain);
    }
    this.#effects.delete(referendum);
  }

  close(): void {
    for (const referendum of [...this.#effects.keys()]) this.onEnd(referendum);
    for (const { vote, referendum, moment } of this.#lastCast.values()) {
      for (const { direction, capital, conviction } of partsOf(vote)) {
        this.#count(
          'direct',
          { referendum, chain: moment.chain },
          direction,
          capital,
          weigh(capital, conviction),
        );
      }
    }
    this.participants.push(...this.#participants.values());
    this.sides.push(...this.#sides.values());
    this.#participants = new Map();
    this.#lastCast = new Map();
    this.#sides = new Map();
  }

  #takeEffect(delegator: string, referendum: number, chain: string): void {
    this.#addParticipant('delegated', chain, delegator, referendum);
    const effects = this.#effects.get(referendum);
    if (effects) effects.set(delegator, chain);
    else this.#effects.set(referendum, new Map([[delegator, chain]]));
  }

  #countDelegated(referendum: number, delegator: string, chain: string): void {
    const track = this.#voting.trackOf(referendum);
    const delegation = track === null ? undefined : this.#voting.delegationOf(track, delegator);
    const cast = delegation && this.#voting.standardVote(referendum, delegation.target);
    const [side] = cast ? partsOf(cast.vote) : [];
    if (!delegation || !side) return;
    const { balance, conviction } = delegation;
    this.#count('delegated', { referendum, chain }, side.direction, balance, weigh(balance, conviction));
  }

  #addParticipant(vote_type: VoteType, chain: string, account: string, referendum_index: number): void {
    const row = { referendum_index, month: this.#month, chain, vote_type, account };
    this.#participants.set(`${vote_type} ${referendum_index} ${account} ${chain}`, row);
  }

  #count(
    vote_type: VoteType,
    { referendum, chain }: { readonly referendum: number; readonly chain: string },
    vote_direction: Direction,
    capital: bigint,
    votes: bigint,
  ): void {
    const id = `${vote_type} ${vote_direction} ${referendum} ${chain}`;
    const side = this.#sides.get(id) ?? {
      referendum_index: referendum,
      month: this.#month,
      chain,
      vote_type,
      vote_direction,
      capital: 0n,
      votes: 0n,
      number_of_votes: 0,
    };
    side.capital += capital;
    side.votes += votes;
    side.number_of_votes++;
    this.#sides.set(id, side);
  }
}
