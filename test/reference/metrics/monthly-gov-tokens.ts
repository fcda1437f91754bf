import { votesOf } from '../account-vote.ts';
import { monthOf } from '../calendar.ts';
import { type Government, governmentsOf, type Moment } from '../governance.ts';
import type { Input } from '../input.ts';
import { sum, toTokens } from '../numbers.ts';
import type { Chain } from '../registry.ts';
import { compareKeys } from '../rows.ts';
import { delegationsIn, isInMonth, standingStandard, type Voting, voting } from '../voting.ts';
import { type Direction, partsOf } from './gov-voter-history.ts';

export type MonthlyGovTokens = {
  relay_chain: string;
  chain: string;
  month: string;
  vote_type: 'direct' | 'delegated';
  vote_direction: Direction;
  capital: number;
  capital_planck: string;
  votes: number;
  votes_planck: string;
  number_of_votes: number;
};

/** What one voter contributes to one side of one referendum in a month. */
type Contribution = {
  readonly chain: Chain;
  readonly vote_type: 'direct' | 'delegated';
  readonly vote_direction: Direction;
  readonly capital: bigint;
  readonly conviction: number;
};

export function monthlyGovTokens(input: Input): MonthlyGovTokens[] {
  return governmentsOf(input, ['polkadot'])
    .flatMap((government) => {
      const whole = voting(government);
      const moments = [...whole.casts, ...whole.effects].map(({ at }) => at);
      const months = new Set(moments.map(({ time }) => monthOf(time)));
      return [...months].flatMap((month) => rowsOfMonth(government, whole, month));
    })
    .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
}

const keyOf = (row: MonthlyGovTokens) => [
  row.month,
  row.relay_chain,
  row.chain,
  row.vote_type,
  row.vote_direction,
];

function rowsOfMonth(government: Government, whole: Voting, month: string): readonly MonthlyGovTokens[] {
  const atMonthsEnd = voting(government, ({ at }) => monthOf(at.time) > month);
  const all = [...directOf(whole, month), ...delegatedOf(whole, atMonthsEnd, month)];
  const byRow = Map.groupBy(all, (one) => [one.chain.name, one.vote_type, one.vote_direction].join(' '));
  return [...byRow.values()].flatMap((ofRow) =>
    ofRow.slice(0, 1).map(({ chain, vote_type, vote_direction }) => {
      const capital = sum(ofRow.map((one) => one.capital));
      const votes = sum(ofRow.map((one) => votesOf(one.capital, one.conviction)));
      return {
        relay_chain: government.relay,
        chain: chain.name,
        month,
        vote_type,
        vote_direction,
        capital: toTokens(capital, chain.decimals),
        capital_planck: capital.toString(),
        votes: toTokens(votes, chain.decimals),
        votes_planck: votes.toString(),
        number_of_votes: ofRow.length,
      };
    }),
  );
}

/** The last vote that an account cast on a referendum in the month, unless it was taken back in the month. */
function directOf({ casts, removals }: Voting, month: string): readonly Contribution[] {
  const ofMonth = casts.filter(({ at }) => isInMonth(at, month));
  const last = new Map(ofMonth.map((cast) => [`${cast.voter} ${cast.poll}`, cast]));
  return [...last.values()].flatMap((cast) => {
    const isTakenBack = removals.some(
      ({ voter, poll, at }) =>
        voter === cast.voter && poll === cast.poll && at.order > cast.at.order && isInMonth(at, month),
    );
    if (isTakenBack) return [];
    return partsOf(cast.vote).map(({ direction, capital, conviction }) => ({
      chain: cast.at.chain,
      vote_type: 'direct' as const,
      vote_direction: direction,
      capital,
      conviction,
    }));
  });
}

/** Delegations that took effect in the month and still count at its end, or at that of their referendum. */
function delegatedOf(whole: Voting, atMonthsEnd: Voting, month: string): readonly Contribution[] {
  const ofMonth = whole.effects.filter(({ at }) => isInMonth(at, month));
  const last = new Map(ofMonth.map((effect) => [`${effect.delegator} ${effect.poll}`, effect]));
  return [...last.values()].flatMap(({ delegator, poll: index, at }) =>
    countedThen(atMonthsEnd, delegator, index, at),
  );
}

function countedThen(state: Voting, delegator: string, index: number, at: Moment): readonly Contribution[] {
  const poll = state.polls.get(index);
  if (!poll) return [];
  const delegation = delegationsIn(state, poll).find(({ terms }) => terms.delegator === delegator);
  const followed = delegation ? standingStandard(poll, delegation.terms.target) : null;
  if (!delegation || !followed) return [];
  return [
    {
      chain: at.chain,
      vote_type: 'delegated',
      vote_direction: followed.vote.aye ? 'aye' : 'nay',
      capital: delegation.terms.balance,
      conviction: delegation.terms.conviction,
    },
  ];
}
