import type { Random } from '../../ingest/demo/random.ts';
import { printAccount } from '../reference/accounts.ts';
import { type Chain, chainNamed } from '../reference/registry.ts';
import { PEOPLE } from './accounts.ts';

/** A line that states something of a chain at a moment. */
export function snapshotLine(kind: string, chain: string, as_of: number, payload: object): string {
  const relay_chain = chainNamed(chain).relay;
  const head = { schema: 'snapshot/1', kind, relay_chain, chain, block_number: Math.floor(as_of / 6000) };
  return JSON.stringify({ ...head, as_of: new Date(as_of).toISOString(), payload });
}

const SYMBOLS = ['DOT', 'KSM', 'USDC', 'MYTH', 'GLMR'];
const amount = (random: Random) =>
  (BigInt(random.whole(0, 10 ** 9)) * BigInt(random.whole(0, 10 ** 7))).toString();

/** Something that a service or a feed states, of any kind that needs no model. */
export function anyStatement(random: Random, time: number): string {
  const relay = random.pick(['polkadot', 'polkadot', 'kusama']);
  const hub = `asset-hub-${relay}`;
  switch (
    random.pick(['staking', 'validators', 'issuance', 'treasury', 'coins', 'tvl', 'price', 'price', 'tracks'])
  ) {
    case 'staking':
      return snapshotLine('staking_state', random.pick([relay, hub]), time, staking(random));
    case 'validators': {
      const active = PEOPLE.slice(0, random.whole(0, 9)).map((key) => printAccount(key, chainNamed(relay)));
      const payload = { active, waiting: random.whole(0, 99), nominators: random.whole(0, 10 ** 5) };
      return snapshotLine('validator_set', relay, time, payload);
    }
    case 'issuance': {
      const total = random.chance(0.1) ? '0' : amount(random);
      return snapshotLine('issuance', random.pick([relay, hub]), time, { total, inactive: '0' });
    }
    case 'treasury':
      return snapshotLine(
        'treasury_balance',
        random.pick([relay, hub]),
        time,
        treasury(random, chainNamed(relay)),
      );
    case 'coins':
      return snapshotLine(
        'stable_holdings',
        random.pick(['asset-hub-polkadot', 'hydration', 'statemint']),
        time,
        coins(random),
      );
    case 'tvl': {
      const tvl_usd = random.pick([0, random.fraction() * 10 ** 8, 12345]);
      return snapshotLine('tvl', random.pick(['acala', 'hydradx', 'astar', 'bifrost', 'moonbeam']), time, {
        tvl_usd,
      });
    }
    case 'price': {
      const usd = random.pick([0, Math.round(random.fraction() * 10 ** 6) / 10 ** 5, 7]);
      return snapshotLine('price', relay, time, { symbol: random.pick(SYMBOLS), usd });
    }
    default:
      return snapshotLine('track_table', 'polkadot', time, {
        tracks: [{ id: 77, name: 'other', origin: random.pick(['Other', 'Another']) }],
      });
  }
}

function staking(random: Random): object {
  const counts = ['active_era', 'validators', 'nominators', 'pools', 'pool_members', 'addresses_staking'];
  const amounts = ['staked', 'staked_in_pools', 'unbonding', 'min_active_stake'];
  return Object.fromEntries([
    ...counts.map((name) => [name, random.whole(0, 10 ** 5)]),
    ...amounts.map((name) => [name, amount(random)]),
  ]);
}

function treasury(random: Random, relay: Chain): object {
  const assets = [
    { asset: relay.symbol, decimals: relay.decimals },
    { asset: 'USDC', decimals: 6 },
    { asset: 'MYTH', decimals: 18 },
    { asset: 'ODD', decimals: 3 },
  ];
  const balances = Array.from({ length: random.whole(0, 5) }, () => ({
    account: printAccount(random.pick(PEOPLE), relay),
    ...random.pick(assets),
    amount: amount(random),
  }));
  return { balances };
}

function coins(random: Random): object {
  const holdings = Array.from({ length: random.whole(0, 3) }, (_, i) => {
    const held = BigInt(random.whole(0, 10 ** 9));
    return {
      coin: random.pick(['coin_a', 'coin_b']),
      asset_id: String(1337 + i),
      decimals: random.pick([6, 6, 18]),
      issuance: (held + BigInt(random.whole(0, 10 ** 9))).toString(),
      sovereign_held: held.toString(),
    };
  });
  return { holdings };
}
