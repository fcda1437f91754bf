import type { Registry } from '../chains/registry.ts';
import { Bounties } from './bounties.ts';
import type { Cast } from './cast.ts';
import { Contracts } from './contracts.ts';
import { Coretime } from './coretime.ts';
import type { DayBook } from './day-book.ts';
import { Governance } from './governance.ts';
import type { Random } from './random.ts';
import { Staking } from './staking.ts';
import { Statements } from './statements.ts';

/** How the networks of the two relay chains differ. */
const SIZES = {
  polkadot: {
    firstReferendum: 1790,
    ...{ referenda: { referenda: 3, votes: 1.6 }, corePrice: 14 },
    contracts: { since: 96, calls: 9 },
    eras: { perDay: 1, first: 2090, reward: 60 },
    state: { issued: 1.63e9, treasury: 21e6, nominators: 21_000 },
  },
  kusama: {
    firstReferendum: 610,
    ...{ referenda: { referenda: 1.4, votes: 1.2 }, corePrice: 0.9 },
    contracts: { since: 152, calls: 4 },
    eras: { perDay: 4, first: 9100, reward: 1.1 },
    state: { issued: 17.1e6, treasury: 410_000, nominators: 7100 },
  },
} as const;

type DemoRelay = keyof typeof SIZES;
export const DEMO_RELAYS = Object.keys(SIZES) as DemoRelay[];

/** Relay blocks in a timeslice of coretime. */
const SLICE_BLOCKS = 80;

/** What the chains of one relay chain share: governance, staking and contracts of its asset hub, coretime. */
export class Network {
  readonly relay: DemoRelay;
  readonly statements: Statements;
  readonly #governance: Governance;
  readonly #bounties: Bounties;
  readonly #staking: Staking;
  readonly #contracts: Contracts;
  readonly #coretime: Coretime;

  constructor(relay: DemoRelay, height: number, registry: Registry, random: Random, cast: Cast) {
    const size = SIZES[relay];
    const hub = chainNamed(registry, `asset-hub-${relay}`);
    this.relay = relay;
    this.statements = new Statements(random, cast, hub, size.state);
    this.#governance = new Governance(random, cast, size.firstReferendum, size.referenda);
    this.#bounties = new Bounties(random, cast);
    this.#staking = new Staking(random, cast, size.eras);
    this.#contracts = new Contracts(random, cast, hub, size.contracts);
    this.#coretime = new Coretime(random, cast, hub, {
      firstSlice: Math.floor(height / SLICE_BLOCKS),
      endPrice: size.corePrice,
    });
  }

  /** Writes what the relay chain's token and cores do on one of its chains. */
  write(book: DayBook, activity: number): void {
    const { role } = book.chain;
    if (role === 'coretime') this.#coretime.write(book);
    if (role !== 'asset-hub') return;
    this.#staking.write(book);
    this.#governance.write(book);
    this.#bounties.write(book);
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
