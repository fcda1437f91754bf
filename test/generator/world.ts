import type { DemoChain } from '../../ingest/demo/chains.ts';
import type { DemoWorld } from '../../ingest/demo/history.ts';
import type { DemoNetwork } from '../../ingest/demo/network.ts';
import type { Random } from '../../ingest/demo/random.ts';
import { DERIVED, PADDED, PEOPLE, SENDER_ACCOUNTS } from './accounts.ts';

const chain = (name: string, blocks: number, transactions: number): DemoChain => ({
  ...{ name, blocks, transactions, growth: 1, height: 30_000_000, fee: 0.01, transfer: 5, missing: [] },
});

/** Few transactions, so that most calls are those of the models. */
const CHAINS: readonly DemoChain[] = [
  chain('polkadot', 3, 2),
  chain('asset-hub-polkadot', 4, 2),
  chain('coretime-polkadot', 3, 1),
  chain('kusama', 2, 1),
  chain('asset-hub-kusama', 2, 1),
  chain('coretime-kusama', 2, 1),
  chain('moonbeam', 1, 2),
  chain('hydration', 1, 2),
  chain('polymesh', 1, 1),
  chain('westend', 1, 1),
  chain('asset-hub-westend', 1, 1),
];

const network = (relay: string, referenda: number, purchases: number): DemoNetwork => ({
  ...{ relay, firstReferendum: 0 },
  governance: { referenda, votes: 0.5 },
  bounties: { children: 0.9, days: 4 },
  coretime: { corePrice: 2, purchases, uses: 2 },
  contracts: { since: 0, calls: 1, deployments: 0.3 },
  eras: { perDay: 1, first: 30, reward: 2, payouts: 1 },
  state: { issued: 10 ** 9, treasury: 10 ** 6, nominators: 1000 },
});

/** The chains of the demo with few people, who do as much in a few blocks as others in weeks. */
export const testWorld = (random: Random): DemoWorld => ({
  ...{ chains: CHAINS, stepDays: 5 },
  networks: [network('polkadot', 9, 0.9), network('kusama', 6, 0.3), network('westend', 1, 0)],
  people: random.shuffled([...PEOPLE, ...DERIVED.keys(), PADDED, ...SENDER_ACCOUNTS]),
});
