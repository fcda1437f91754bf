import { monthOf } from '../calendar.ts';
import { governmentsOf } from '../governance.ts';
import type { Input } from '../input.ts';
import { compareKeys, distinct } from '../rows.ts';
import { voting } from '../voting.ts';

export type MonthlyGovParticipation = {
  relay_chain: string;
  chain: string;
  month: string;
  vote_type: 'direct' | 'delegated';
  number_of_voters: number;
  number_of_referenda: number;
};

export function monthlyGovParticipation(input: Input): MonthlyGovParticipation[] {
  return governmentsOf(input, ['polkadot'])
    .flatMap((government) => {
      const { casts, effects } = voting(government);
      const direct = casts.map(({ voter, poll, at }) => ({ vote_type: 'direct' as const, voter, poll, at }));
      const delegated = effects.map(({ delegator, poll, at }) => ({
        vote_type: 'delegated' as const,
        voter: delegator,
        poll,
        at,
      }));
      const all = [...direct, ...delegated];
      const byRow = Map.groupBy(all, ({ at }) => `${monthOf(at.time)} ${at.chain.name}`);
      return [...byRow].flatMap(([row, ofRow]) => {
        const [month = '', chain = ''] = row.split(' ');
        return (['delegated', 'direct'] as const).map((vote_type) => {
          const ofType = ofRow.filter((one) => one.vote_type === vote_type);
          return {
            relay_chain: government.relay,
            chain,
            month,
            vote_type,
            number_of_voters: distinct(ofType.map(({ voter }) => voter)).size,
            number_of_referenda: distinct(ofType.map(({ poll }) => poll)).size,
          };
        });
      });
    })
    .sort((a, b) =>
      compareKeys(
        [a.month, a.relay_chain, a.chain, a.vote_type],
        [b.month, b.relay_chain, b.chain, b.vote_type],
      ),
    );
}
