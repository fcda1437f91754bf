import { type AccountVote, votesOf } from '../account-vote.ts';
import { printAccount } from '../accounts.ts';
import { isoOf } from '../calendar.ts';
import { governmentsOf, type Moment } from '../governance.ts';
import type { Input } from '../input.ts';
import { sum, toTokens } from '../numbers.ts';
import { compareKeys } from '../rows.ts';
import { type Delegation, delegationsIn, type Poll, standingStandard, type Vote, voting } from '../voting.ts';

export type GovVoterHistory = {
  relay_chain: string;
  chain: string;
  referendum_index: number;
  track: number | null;
  voter: string;
  vote_type: AccountVote['type'] | 'Delegated';
  vote_direction: Direction;
  conviction: number;
  conviction_name: string;
  capital: number;
  capital_planck: string;
  votes: number;
  votes_planck: string;
  delegated_votes: number;
  delegated_votes_planck: string;
  delegated_capital: number;
  delegated_capital_planck: string;
  delegated_to: string | null;
  is_final: boolean;
  voted_at: string;
  block_number: number | null;
  extrinsic_id: string | null;
};

export type Direction = 'aye' | 'nay' | 'abstain';
export type VotePart = {
  readonly direction: Direction;
  readonly capital: bigint;
  readonly conviction: number;
};

export function govVoterHistory(input: Input): GovVoterHistory[] {
  return governmentsOf(input, ['polkadot', 'kusama', 'solo'])
    .flatMap((government) => {
      const state = voting(government);
      return [...state.polls].flatMap(([index, poll]) => {
        const delegations = delegationsIn(state, poll);
        return [
          ...[...poll.votes.values()].flatMap((vote) => rowsOfVote(index, poll, vote, delegations)),
          ...delegations.flatMap((delegation) => rowsOfDelegation(index, poll, delegation)),
        ];
      });
    })
    .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
}

const keyOf = (row: GovVoterHistory) => [
  row.relay_chain,
  row.chain,
  row.referendum_index,
  row.voter,
  row.vote_type,
  row.vote_direction,
];

/** The sides of a vote with what stands behind each; a split vote locks nothing. */
export function partsOf(vote: AccountVote): readonly VotePart[] {
  if (vote.type === 'Standard') {
    return [{ direction: vote.aye ? 'aye' : 'nay', capital: vote.balance, conviction: vote.conviction }];
  }
  const sides: readonly (readonly [Direction, bigint])[] = [
    ['aye', vote.aye],
    ['nay', vote.nay],
    ['abstain', vote.type === 'SplitAbstain' ? vote.abstain : 0n],
  ];
  return sides
    .filter(([, capital]) => capital > 0n)
    .map(([direction, capital]) => ({ direction, capital, conviction: 0 }));
}

function rowsOfVote(
  index: number,
  poll: Poll,
  vote: Vote,
  delegations: readonly Delegation[],
): readonly GovVoterHistory[] {
  const takesAlong = standingStandard(poll, vote.voter) !== null;
  const followers = takesAlong ? delegations.filter(({ terms }) => terms.target === vote.voter) : [];
  return partsOf(vote.vote).map((part) => ({
    ...rowOf(index, poll, part, vote.at),
    voter: printAccount(vote.voter, vote.at.chain),
    vote_type: vote.vote.type,
    ...delegatedOf(followers, vote.at.chain.decimals),
    is_final: vote.isStanding,
  }));
}

function rowsOfDelegation(index: number, poll: Poll, { terms, at }: Delegation): readonly GovVoterHistory[] {
  const followed = standingStandard(poll, terms.target);
  if (followed === null) return [];
  const later = at.order > followed.at.order ? at : followed.at;
  const part: VotePart = {
    direction: followed.vote.aye ? 'aye' : 'nay',
    capital: terms.balance,
    conviction: terms.conviction,
  };
  return [
    {
      ...rowOf(index, poll, part, later),
      voter: printAccount(terms.delegator, later.chain),
      vote_type: 'Delegated',
      delegated_to: printAccount(terms.target, later.chain),
    },
  ];
}

function rowOf(index: number, poll: Poll, part: VotePart, at: Moment) {
  const { chain } = at;
  const votes = votesOf(part.capital, part.conviction);
  return {
    relay_chain: chain.relay,
    chain: chain.name,
    referendum_index: index,
    track: poll.track,
    vote_direction: part.direction,
    conviction: part.conviction === 0 ? 0.1 : part.conviction,
    conviction_name: part.conviction === 0 ? 'None' : `Locked${part.conviction}x`,
    capital: toTokens(part.capital, chain.decimals),
    capital_planck: part.capital.toString(),
    votes: toTokens(votes, chain.decimals),
    votes_planck: votes.toString(),
    ...delegatedOf([], chain.decimals),
    delegated_to: null as string | null,
    is_final: true,
    voted_at: isoOf(at.time),
    block_number: at.height,
    extrinsic_id: at.extrinsicId,
  };
}

function delegatedOf(followers: readonly Delegation[], decimals: number) {
  const capital = sum(followers.map(({ terms }) => terms.balance));
  const votes = sum(followers.map(({ terms }) => votesOf(terms.balance, terms.conviction)));
  return {
    delegated_votes: toTokens(votes, decimals),
    delegated_votes_planck: votes.toString(),
    delegated_capital: toTokens(capital, decimals),
    delegated_capital_planck: capital.toString(),
  };
}
