import type { Registry } from '../chains/registry.ts';
import { Bounties, type BountiesPace } from './bounties.ts';
import type { Cast } from './cast.ts';
import { Contracts, type ContractsPace } from './contracts.ts';
import { Coretime, type CoretimePace } from './coretime.ts';
import type { DayBook } from './day-book.ts';
import { Governance, type GovernancePace } from './governance.ts';
import type { Random } from './random.ts';
import { Staking, type StakingPace } from './staking.ts';
import { TokenState } from './token-state.ts';

/** Parameters of the simulated activity in the network of a relay chain. */
export interface DemoNetwork {
  readonly relay: string;
  readonly firstReferendum: number;
  readonly governance: GovernancePace;
  readonly bounties: BountiesPace;
  readonly coretime: CoretimePace;
  readonly contracts: ContractsPace;
  readonly eras: StakingPace;
  readonly state: { readonly issued: number; readonly treasury: number; readonly nominators: number };
}

export const DEMO_NETWORKS: readonly DemoNetwork[] = [
  {
    ...{ relay: 'polkadot', firstReferendum: 1790 },
    governance: { referenda: 3, votes: 1.6 },
    bounties: { children: 0.4, days: 17 },
    coretime: { corePrice: 14, purchases: 0.2, uses: 1 },
    contracts: { since: 96, calls: 9, deployments: 0.45 },
    eras: { perDay: 1, first: 2090, reward: 60, payouts: 4 },
    state: { issued: 1.63e9, treasury: 21e6, nominators: 21_000 },
  },
  {
    ...{ relay: 'kusama', firstReferendum: 610 },
    governance: { referenda: 1.4, votes: 1.2 },
    bounties: { children: 0.4, days: 17 },
    coretime: { corePrice: 0.9, purchases: 0.2, uses: 1 },
    contracts: { since: 152, calls: 4, deployments: 0.45 },
    eras: { perDay: 4, first: 9100, reward: 1.1, payouts: 4 },
    state: { issued: 17.1e6, treasury: 410_000, nominators: 7100 },
  },
];

/** Relay blocks in a timeslice of coretime. */
const SLICE_BLOCKS = 80;

/** Simulates a relay chain's network: coretime, and governance, bounties, staking and contracts of its asset hub. */
export class Network {
  readonly relay: string;
  readonly statements: TokenState;
  readonly governance: Governance;
  readonly bounties: Bounties;
  readonly #staking: Staking;
  readonly #contracts: Contracts;
  readonly #coretime: Coretime;

  constructor(size: DemoNetwork, height: number, registry: Registry, random: Random, cast: Cast) {
    const hub = chainNamed(registry, `asset-hub-${size.relay}`);
    this.relay = size.relay;
    this.statements = new TokenState(random, cast, hub, size.state);
    this.governance = new Governance(random, cast, size.firstReferendum, size.governance);
    this.bounties = new Bounties(random, cast, size.bounties);
    this.#staking = new Staking(random, cast, size.eras);
    this.#contracts = new Contracts(random, cast, hub, size.contracts);
    this.#coretime = new Coretime(random, cast, hub, Math.floor(height / SLICE_BLOCKS), size.coretime);
  }

  /** Adds the activity of the network on one of its chains. */
  write(book: DayBook, activity: number): void {
    const { role } = book.chain;
    if (role === 'coretime') this.#coretime.write(book);
    if (role !== 'asset-hub') return;
    this.#staking.write(book);
    this.governance.write(book);
    this.bounties.write(book);
    this.#contracts.write(book, activity);
  }

  staking(day: number): object {
    return this.statements.staking(this.#staking.era(day));
  }

  coretime(): object {
    return this.#coretime.state();
  }

  contracts(day: number): object {
    return this.#contracts.state(day);
  }
}

export function chainNamed(registry: Registry, name: string) {
  const chain = registry.find(name);
  if (!chain) throw new Error(`the registry has no ${name}`);
  return chain;
}
