import { parseAccount, printAccount } from '../accounts.ts';
import { dayOf } from '../calendar.ts';
import { isNamed, type PlacedEvent } from '../calls.ts';
import type { Block } from '../facts.ts';
import type { Input } from '../input.ts';
import { isObject, type Json } from '../json.ts';
import { amountFields, worthOn } from '../money.ts';
import { decimalToNumber, parseAmount, parseIndex, sum } from '../numbers.ts';
import { chainGroups, compareKeys } from '../rows.ts';

export type DailyStakingRewards = {
  relay_chain: string;
  chain: string;
  date: string;
  account: string;
  reward: number | null;
  reward_planck: string | null;
  staking_reward: number | null;
  staking_reward_planck: string | null;
  pool_reward: number | null;
  pool_reward_planck: string | null;
  reward_usd: number | null;
  num_payouts: number;
  era_min: number | null;
  era_max: number | null;
  slashed: number | null;
  slashed_planck: string | null;
};

type Payout = {
  readonly kind: 'staking' | 'pool' | 'slash';
  readonly account: string;
  readonly amount: bigint;
  readonly era: number | null;
};

export function dailyStakingRewards(input: Input): DailyStakingRewards[] {
  return chainGroups(input.blocks, dayOf).flatMap(({ relay, chain, period: date, parts, blocks }) => {
    const [part] = parts;
    if (!part || !['polkadot', 'kusama', 'solo'].includes(relay)) return [];
    const byAccount = Map.groupBy(blocks.flatMap(payoutsOf), ({ account }) => account);
    return [...byAccount]
      .filter(([, payouts]) => payouts.some(({ kind }) => kind !== 'slash'))
      .map(([account, payouts]) => {
        const of = (...kinds: Payout['kind'][]) => payouts.filter(({ kind }) => kinds.includes(kind));
        const total = (...kinds: Payout['kind'][]) => sum(of(...kinds).map(({ amount }) => amount));
        const eras = of('staking').flatMap(({ era }) => (era === null ? [] : [era]));
        const reward = total('staking', 'pool');
        return {
          relay_chain: relay,
          chain,
          date,
          account: printAccount(account, part.chain),
          ...amountFields('reward', reward, part.chain),
          ...amountFields('staking_reward', total('staking'), part.chain),
          ...amountFields('pool_reward', total('pool'), part.chain),
          reward_usd: decimalToNumber(worthOn(input, part.chain, date, reward)),
          num_payouts: of('staking', 'pool').length,
          era_min: eras.length === 0 ? null : Math.min(...eras),
          era_max: eras.length === 0 ? null : Math.max(...eras),
          ...amountFields('slashed', total('slash'), part.chain),
        };
      })
      .toSorted((a, b) => compareKeys([a.account], [b.account]));
  });
}

function payoutsOf(block: Block): readonly Payout[] {
  return block.events.flatMap((event, at): readonly Payout[] => {
    const amount = parseAmount(event.data.at(-1));
    if (isNamed(event, 'staking', 'ValidatorIncentivePaid')) {
      const [era, stash, destination] = event.data;
      const validator = parseAccount(stash);
      if (validator === null || amount === null || isNone(destination)) return [];
      return [{ kind: 'staking', account: validator, amount, era: parseIndex(era) }];
    }
    const account = parseAccount(event.data[0]);
    if (account === null || amount === null) return [];
    if (isNamed(event, 'staking', 'Reward', 'Rewarded')) {
      const paysNobody = event.data.length === 3 && isNone(event.data[1]);
      return paysNobody ? [] : [{ kind: 'staking', account, amount, era: eraAt(block.events, at) }];
    }
    if (isNamed(event, 'nominationPools', 'PaidOut')) return [{ kind: 'pool', account, amount, era: null }];
    const isSlash = isNamed(event, 'staking', 'Slash', 'Slashed');
    return isSlash ? [{ kind: 'slash', account, amount, era: null }] : [];
  });
}

const isNone = (destination: Json | undefined) =>
  (isObject(destination) ? Object.keys(destination)[0] : String(destination))?.toLowerCase() === 'none';

/** The era that was being paid out when this event came, in the same extrinsic or the same phase. */
function eraAt(events: readonly PlacedEvent[], at: number): number | null {
  const { phase, extrinsic } = events[at] as PlacedEvent;
  const started = events
    .slice(0, at)
    .findLast(
      (event) =>
        isNamed(event, 'staking', 'PayoutStarted') && event.phase === phase && event.extrinsic === extrinsic,
    );
  return started ? parseIndex(started.data[0]) : null;
}
