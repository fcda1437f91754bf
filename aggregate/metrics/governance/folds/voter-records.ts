import type { Chains } from '../../shared/chains.ts';
import { extrinsicId, isoTimeOf, type Moment } from '../../shared/facts.ts';
import {
  type Conviction,
  convictionName,
  type Direction,
  multiplierOf,
  partsOf,
  weigh,
} from './account-vote.ts';
import type { Step } from './steps.ts';
import { type CastVote, type Delegation, Voting } from './voting.ts';

/** The vote of each account on each referendum, as of the end of the referendum or of the last step. */
export function voterRecords(
  relayChain: string,
  chains: Chains,
  steps: readonly Step[],
): Record<string, unknown>[] {
  const records: Record<string, unknown>[] = [];
  const voting = new Voting(steps);
  const record = (referendum: number) => {
    for (const cast of voting.votesOn(referendum)) {
      for (const entry of recordsOf(voting, cast)) records.push(toRow(relayChain, chains, entry));
    }
  };
  voting.run({ onEnd: record });
  for (const referendum of voting.open) record(referendum);
  return records;
}

interface VoterRecord {
  readonly referendum: number;
  readonly track: number | null;
  readonly voter: string;
  readonly type: 'Standard' | 'Split' | 'SplitAbstain' | 'Delegated';
  readonly direction: Direction;
  readonly conviction: Conviction;
  readonly capital: bigint;
  /** The sum of the delegations to the voter. */
  readonly delegated: { readonly capital: bigint; readonly votes: bigint };
  readonly delegatedTo: string | null;
  readonly isFinal: boolean;
  readonly moment: Moment;
}

const NO_DELEGATIONS = { capital: 0n, votes: 0n };

function* recordsOf(voting: Voting, cast: CastVote): Generator<VoterRecord> {
  const { referendum, voter, vote, moment } = cast;
  const track = voting.trackOf(referendum);
  const backers = [...voting.delegationsFor(cast)];
  const delegated = backers.reduce(
    ({ capital, votes }, { balance, conviction }) => ({
      capital: capital + balance,
      votes: votes + weigh(balance, conviction),
    }),
    NO_DELEGATIONS,
  );
  const base = {
    referendum,
    track,
    voter,
    type: vote.type,
    delegated,
    delegatedTo: null,
    isFinal: !cast.isRemoved,
  };
  for (const part of partsOf(vote)) yield { ...base, ...part, moment };
  const [side] = partsOf(vote);
  if (side) for (const backer of backers) yield delegatedRecord(backer, cast, track, side.direction);
}

function delegatedRecord(
  { delegator, target, conviction, balance, since }: Delegation,
  { referendum, moment }: CastVote,
  track: number | null,
  direction: Direction,
): VoterRecord {
  return {
    referendum,
    track,
    voter: delegator,
    type: 'Delegated',
    direction,
    conviction,
    capital: balance,
    delegated: NO_DELEGATIONS,
    delegatedTo: target,
    isFinal: true,
    // The delegation takes effect with the later of the delegation and the vote.
    moment: since.order > moment.order ? since : moment,
  };
}

function toRow(relayChain: string, chains: Chains, record: VoterRecord): Record<string, unknown> {
  const { chain, at, number } = record.moment;
  const votes = weigh(record.capital, record.conviction);
  return {
    relay_chain: relayChain,
    chain,
    referendum_index: record.referendum,
    track: record.track,
    voter: chains.address(record.voter, chain),
    voter_key: record.voter,
    vote_type: record.type,
    vote_direction: record.direction,
    conviction: multiplierOf(record.conviction),
    conviction_name: convictionName(record.conviction),
    capital: chains.native(record.capital, chain),
    capital_planck: record.capital.toString(),
    votes: chains.native(votes, chain),
    votes_planck: votes.toString(),
    delegated_votes: chains.native(record.delegated.votes, chain),
    delegated_votes_planck: record.delegated.votes.toString(),
    delegated_capital: chains.native(record.delegated.capital, chain),
    delegated_capital_planck: record.delegated.capital.toString(),
    delegated_to: record.delegatedTo === null ? null : chains.address(record.delegatedTo, chain),
    is_final: record.isFinal,
    voted_at: isoTimeOf(at),
    block_number: number,
    extrinsic_id: extrinsicId(record.moment),
  };
}
