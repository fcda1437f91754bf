import type { Random } from '../../ingest/demo/random.ts';
import type { Chain } from '../reference/registry.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../reference/shaped.ts';
import { PEOPLE, printed, SENDER_ACCOUNTS, SENDERS } from './accounts.ts';
import { hashOf, type Item } from './items.ts';
import { amountOf } from './spelling.ts';

/** On asset hubs also the accounts of those who send Ethereum transactions, at times as their addresses. */
function anybody(random: Random, { role }: Chain): string {
  const isOfEthereum = role === 'asset-hub' && random.chance(0.3);
  return random.pick(isOfEthereum ? [...SENDER_ACCOUNTS, ...SENDERS] : PEOPLE);
}

/** A payout of one page of an era as runtimes of all times tell it. */
export function payout(random: Random, chain: Chain): Omit<Item, 'actor'> {
  const someone = () => printed(random, random.pick(PEOPLE), chain);
  const amount = () => amountOf(random, BigInt(random.whole(0, 10 ** 9)));
  const era = random.whole(1, 30);
  const started: ShapedEvent = random.chance(0.5)
    ? ['staking.PayoutStarted', String(era), someone()]
    : ['staking.PayoutStarted', String(era), someone(), '0', null];
  const rewards = Array.from({ length: random.whole(1, 8) }, () => rewarded(random, someone(), amount()));
  const destination = random.pick([
    'None',
    { none: null },
    'Staked',
    { stash: null },
    { account: someone() },
  ]);
  const incentive: ShapedEvent = [
    'staking.ValidatorIncentivePaid',
    String(random.whole(1, 40)),
    someone(),
    destination,
    amount(),
  ];
  if (random.chance(0.4)) rewards.push(incentive);
  return {
    call: 'staking.payoutStakers',
    args: { validator_stash: someone(), era: String(era) },
    events: random.chance(0.9) ? [started, ...rewards] : rewards,
  };
}

function rewarded(random: Random, stash: string, amount: string | number): ShapedEvent {
  switch (random.pick(['old', 'short', 'staked', 'none', 'account'])) {
    case 'old':
      return ['staking.Reward', stash, amount];
    case 'short':
      return ['staking.Rewarded', stash, amount];
    case 'staked':
      return ['staking.Rewarded', stash, random.pick(['Staked', { staked: null }]), amount];
    case 'none':
      return ['staking.Rewarded', stash, random.pick(['None', { none: null }]), amount];
    default:
      return ['staking.Rewarded', stash, { account: stash }, amount];
  }
}

/** Events that no extrinsic emits. */
export function byItself(random: Random, chain: Chain): readonly ShapedEvent[] {
  const someone = printed(random, random.pick(PEOPLE), chain);
  const anyone = printed(random, anybody(random, chain), chain);
  const amount = amountOf(random, BigInt(random.whole(0, 10 ** 9)));
  return random.pick<readonly ShapedEvent[]>([
    [['staking.Slashed', someone, amount]],
    [['staking.Slash', someone, amount]],
    [['staking.Rewarded', someone, amount]],
    [
      ['staking.PayoutStarted', '31', someone],
      ['staking.Rewarded', someone, { account: someone }, amount],
    ],
    [['treasury.Deposit', amount]],
    [['system.NewAccount', anyone]],
    [['system.KilledAccount', anyone]],
    [['messageQueue.Processed', hashOf(random), { parent: null }, {}, random.chance(0.7)]],
    [['messageQueue.ProcessingFailed', hashOf(random), {}, {}]],
    [['xcmpQueue.Fail', hashOf(random), {}, {}]],
    [['balances.Transfer', someone, anyone, amount]],
  ]);
}

/** Facts that no decoder can read: an amount that is none, a field too many. */
export function unreadable(random: Random, chain: Chain): readonly ShapedEvent[] {
  const someone = printed(random, random.pick(PEOPLE), chain);
  return random.pick<readonly ShapedEvent[]>([
    [['treasury.Deposit', '-1']],
    [['balances.Transfer', someone, someone, '1,000']],
    [['staking.Rewarded', someone, { staked: null }, '1', '2']],
    [['staking.ValidatorIncentivePaid', '5', someone, '7']],
    [['staking.ValidatorIncentivePaid', '5', someone, { staked: null }, '7', '0']],
    [['childBounties.Claimed', '0', '0', '1.5', someone]],
    [['referenda.ConfirmStarted', '0', '1']],
    [['nominationPools.PaidOut', someone, '1', '-7']],
    [['referenda.Rejected', '0', { ayes: '1', nays: '2.5', support: '1' }]],
    [['referenda.Confirmed', '1', { ayes: '1', nays: '2' }]],
    [['convictionVoting.Voted', someone, { standard: { vote: '0x81', balance: '-5' } }, '0']],
    [['broker.Purchased', someone, { begin: '1', core: '1', mask: `0x${'f'.repeat(20)}` }, '1e3', '5']],
    [['convictionVoting.Voted', someone, { standard: { vote: '0x87', balance: '5' } }, '0']],
    [['convictionVoting.Voted', someone, { standard: { vote: '0x81', balance: '5' } }, 'first']],
    [['broker.Pooled', { begin: '1', core: '1', mask: '0xff' }, '5']],
    [['childBounties.Added', '0', 'one']],
    [['messageQueue.Processed', '0x00', { parent: null }, {}, 'perhaps']],
  ]);
}

/** A call that runs, but of which nothing can be taken. */
export function unreadableCall(random: Random): Omit<Item, 'actor'> {
  const to = { id: PEOPLE[0] };
  const [call, args] = random.pick<readonly [string, object]>([
    ['convictionVoting.vote', { poll_index: '0', vote: { split: { aye: '1', nay: '-2' } } }],
    ['convictionVoting.delegate', { class: '0', to, conviction: 'None', balance: '7.0' }],
    ['convictionVoting.vote', { poll_index: '0', vote: { standard: { vote: '0x07', balance: '5' } } }],
    ['convictionVoting.delegate', { class: '0', to, conviction: 'Locked7x', balance: '7' }],
    ['proxy.proxy', { real: to, force_proxy_type: null, call: shapeCall('convictionVoting.undelegate', {}) }],
    [
      'childBounties.proposeCurator',
      { parent_bounty_id: '0', child_bounty_id: '0', curator: to, fee: '1,000' },
    ],
  ]);
  return { call, args, events: [] };
}

/** The relay chain includes blocks of parachains; old runtimes name the pallet otherwise. */
export function inclusions(random: Random): ShapedExtrinsic {
  const old = random.chance(0.3);
  const candidates = Array.from({ length: random.whole(0, 8) }, (_, core): ShapedEvent => {
    const receipt = { descriptor: { paraId: String(2000 + random.whole(0, 5)) }, commitmentsHash: '0x' };
    return [
      `${old ? 'parasInclusion' : 'paraInclusion'}.CandidateIncluded`,
      receipt,
      '0x',
      String(core),
      '0',
    ];
  });
  return { call: `${old ? 'parasInherent' : 'paraInherent'}.enter`, args: { data: {} }, events: candidates };
}
