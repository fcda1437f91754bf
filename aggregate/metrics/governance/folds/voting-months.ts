import { Chains } from '../../shared/chains.ts';
import type { Fact, Moment } from '../../shared/facts.ts';
import { type Direction, partsOf, weigh } from './account-vote.ts';
import { tracksOf } from './referendum-events.ts';
import { votingSteps } from './steps.ts';
import { type CastVote, type Delegation, Voting, type VotingListener } from './voting.ts';

export type VoteType = 'direct' | 'delegated';

/** The number of voters and referenda of a month on a chain, by direct votes or by delegations that took effect. */
export interface Participation {
  readonly month: string;
  readonly chain: string;
  readonly vote_type: VoteType;
  readonly voters: number;
  readonly referenda: number;
}

/** The tokens behind one side in a month on a chain. */
export interface SideOfMonth {
  readonly month: string;
  readonly chain: string;
  readonly vote_type: VoteType;
  readonly direction: Direction;
  capital: bigint;
  votes: bigint;
  number_of_votes: number;
}

export interface VotingMonths {
  readonly chains: Chains;
  readonly participation: readonly Participation[];
  readonly sides: readonly SideOfMonth[];
}

export function votingMonths(relayChain: string, rows: readonly Fact[]): VotingMonths {
  const chains = new Chains(relayChain, rows);
  const voting = new Voting(tracksOf(rows));
  const counter = new MonthlyCounter(voting);
  voting.run(votingSteps(rows), counter);
  counter.close();
  return { chains, participation: counter.participation, sides: counter.sides };
}

interface Participants {
  readonly voters: Set<string>;
  readonly referenda: Set<number>;
}

/** Counts votes by month; the first step of a later month closes a month. */
class MonthlyCounter implements VotingListener {
  readonly participation: Participation[] = [];
  readonly sides: SideOfMonth[] = [];
  readonly #voting: Voting;
  #month = '';
  #until = Number.NEGATIVE_INFINITY;
  #participants = newParticipants();
  /** The last vote of each account on each referendum in the month, without removed votes. */
  #lastCast = new Map<string, CastVote>();
  /** By referendum and delegator: the chain on which the delegation last took effect. */
  #effects = new Map<number, Map<string, string>>();
  #open = new Map<string, SideOfMonth>();

  constructor(voting: Voting) {
    this.#voting = voting;
  }

  onStep({ at }: Moment): void {
    if (at < this.#until) return;
    this.close();
    const [year, month] = [new Date(at).getUTCFullYear(), new Date(at).getUTCMonth()];
    this.#until = Date.UTC(year, month + 1, 1);
    this.#month = new Date(Date.UTC(year, month + 1, 0)).toISOString().slice(0, 10);
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
    for (const { vote, moment } of this.#lastCast.values()) {
      for (const { direction, capital, conviction } of partsOf(vote)) {
        this.#count('direct', moment.chain, direction, capital, weigh(capital, conviction));
      }
    }
    for (const chain of new Set([
      ...this.#participants.direct.keys(),
      ...this.#participants.delegated.keys(),
    ])) {
      for (const vote_type of ['direct', 'delegated'] as const) {
        const { voters, referenda } = this.#participants[vote_type].get(chain) ?? NO_PARTICIPANTS;
        this.participation.push({
          month: this.#month,
          chain,
          vote_type,
          voters: voters.size,
          referenda: referenda.size,
        });
      }
    }
    this.sides.push(...this.#open.values());
    this.#participants = newParticipants();
    this.#lastCast = new Map();
    this.#open = new Map();
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
    this.#count('delegated', chain, side.direction, balance, weigh(balance, conviction));
  }

  #addParticipant(type: VoteType, chain: string, voter: string, referendum: number): void {
    const known = this.#participants[type].get(chain);
    const participants = known ?? { voters: new Set(), referenda: new Set() };
    participants.voters.add(voter);
    participants.referenda.add(referendum);
    if (!known) this.#participants[type].set(chain, participants);
  }

  #count(type: VoteType, chain: string, direction: Direction, capital: bigint, votes: bigint): void {
    const id = `${type} ${direction} ${chain}`;
    const side = this.#open.get(id) ?? {
      month: this.#month,
      chain,
      vote_type: type,
      direction,
      capital: 0n,
      votes: 0n,
      number_of_votes: 0,
    };
    side.capital += capital;
    side.votes += votes;
    side.number_of_votes++;
    this.#open.set(id, side);
  }
}

const newParticipants = (): Record<VoteType, Map<string, Participants>> => ({
  direct: new Map(),
  delegated: new Map(),
});
const NO_PARTICIPANTS: Participants = { voters: new Set(), referenda: new Set() };
