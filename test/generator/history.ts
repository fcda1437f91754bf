import { Random } from '../../ingest/demo/random.ts';
import type { InputLine } from '../reference/input.ts';
import { type Chain, chainNamed } from '../reference/registry.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeBlock, shapeHash } from '../reference/shaped.ts';
import { H160S, PADDED, PEOPLE, SENDER_ACCOUNTS } from './accounts.ts';
import type { Maker } from './actions.ts';
import { BountyModel } from './bounties.ts';
import { ContractModel } from './contracts.ts';
import { CoretimeModel } from './coretime.ts';
import { GovernanceModel, type VoteEra } from './governance.ts';
import { anyStatement, snapshotLine } from './snapshots.ts';
import { byItself, frontier, inclusions, payout, traffic, unreadable, unreadableCall } from './traffic.ts';
import { feeEvents, transaction } from './transactions.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** How often each chain makes the next block. */
const WEIGHTS: Readonly<Record<string, number>> = {
  polkadot: 22,
  'asset-hub-polkadot': 26,
  'coretime-polkadot': 18,
  kusama: 8,
  'asset-hub-kusama': 6,
  'coretime-kusama': 7,
  moonbeam: 3,
  hydration: 5,
  polymesh: 2,
  westend: 2,
  'asset-hub-westend': 2,
};
const TICKETS = Object.entries(WEIGHTS).flatMap(([name, weight]) => Array<string>(weight).fill(name));

export type HistoryOptions = {
  /** Blocks over all chains. */
  readonly blocks?: number;
  /** Every fact can be read and every block has its time. */
  readonly isWhole?: boolean;
};

type Tip = { height: number; time: number };

/** A few months of several chains, made up from a seed: the same seed gives the same lines. */
export class History {
  readonly lines: InputLine[] = [];
  readonly governance: Readonly<Record<string, GovernanceModel>>;
  readonly #random: Random;
  readonly #isWhole: boolean;
  readonly #tips = new Map<string, Tip>();
  readonly #coretime: Readonly<Record<string, CoretimeModel>>;
  readonly #bounties: Readonly<Record<string, BountyModel>>;
  readonly #contracts: Readonly<Record<string, ContractModel>>;
  #time: number;
  /** Governance, staking and bounties move from the relay chain to its asset hub; for a while both have them. */
  #migration: 'before' | 'during' | 'after' = 'before';

  constructor(seed: number, { blocks = 300, isWhole = false }: HistoryOptions = {}) {
    const random = new Random(seed);
    this.#random = random;
    this.#isWhole = isWhole;
    // Some histories begin before the earliest dates of some endpoints.
    this.#time = Date.parse(random.pick(['2025-01-29', '2024-02-27', '2023-12-20', '2022-12-15'])) + 5 * HOUR;
    const forRelays = <Model>(make: () => Model) => ({ polkadot: make(), kusama: make(), westend: make() });
    this.governance = forRelays(() => new GovernanceModel(random));
    this.#coretime = forRelays(() => new CoretimeModel(random));
    this.#bounties = forRelays(() => new BountyModel(random));
    this.#contracts = forRelays(() => new ContractModel(random, isWhole));
    for (let made = 0; made < blocks; made++) {
      this.#migration = made < 0.45 * blocks ? 'before' : made < 0.55 * blocks ? 'during' : 'after';
      this.#pass();
      this.#block(chainNamed(random.pick(TICKETS)), made / blocks);
      if (random.chance(0.3)) this.#state();
    }
  }

  /** Mostly a few blocks' time, at times hours or days. */
  #pass(): void {
    const random = this.#random;
    // Blocks of two chains can be of one moment; which came first is then said by their names.
    if (!this.#isWhole && random.chance(0.06)) return;
    this.#time += random.pick([6, 6, 12, 18, 60, 61]) * SECOND;
    if (random.chance(0.07)) this.#time += random.whole(1, 9) * HOUR + 123;
    if (random.chance(0.02)) this.#time += random.whole(1, 6) * DAY;
    // Steps of odd length, so that nothing but what should falls together with a snapshot.
    this.#time += random.whole(0, 499);
  }

  #block(chain: Chain, progress: number): void {
    const random = this.#random;
    const tip = this.#tips.get(chain.name) ?? { height: random.whole(100, 2000), time: 0 };
    const number = tip.height + 1;
    this.#tips.set(chain.name, { height: number, time: this.#time });
    const opening = [
      ...(chain.addresses !== 'h160' && random.chance(0.25) ? byItself(random, chain) : []),
      ...(!this.#isWhole && random.chance(0.02) ? unreadable(random, chain) : []),
      ...this.#openingOf(chain, progress),
    ];
    const extrinsics = Array.from({ length: random.whole(0, 3) }, () => this.#extrinsic(chain, progress));
    const inherents = chain.role === 'relay' ? [inclusions(random)] : [];
    // What happens before anybody tells the time has no day.
    const isTimed = this.#isWhole || !random.chance(0.01);
    const block = shapeBlock({
      number,
      ...(isTimed ? { time: new Date(this.#time).toISOString() } : {}),
      extrinsics: [...inherents, ...extrinsics],
      opening,
      authorId: PEOPLE[0],
    });
    this.lines.push(lineOf(chain, block));
  }

  /** Where governance, bounties and staking of this chain's network live now. */
  #isHome(chain: Chain): boolean {
    if (chain.relay !== 'polkadot' || this.#migration === 'before') return chain.role === 'relay';
    return chain.role === 'asset-hub' || (chain.role === 'relay' && this.#migration === 'during');
  }

  #bountiesOf({ name, relay }: Chain): BountyModel | undefined {
    return name === relay || name.startsWith('asset-hub') ? this.#bounties[relay] : undefined;
  }

  #openingOf(chain: Chain, progress: number): readonly ShapedEvent[] {
    const random = this.#random;
    const coretime = this.#coretime[chain.relay];
    if (chain.role === 'coretime' && coretime) {
      if (random.chance(0.2)) return coretime.openSale();
      return random.chance(0.2) ? coretime.renewByItself(chain) : [];
    }
    if (!this.#isHome(chain)) return [];
    return [
      ...(random.chance(0.35) ? (this.governance[chain.relay]?.progress(chain, eraOf(progress)) ?? []) : []),
      ...(random.chance(0.15) ? (this.#bountiesOf(chain)?.progress() ?? []) : []),
    ];
  }

  #extrinsic(chain: Chain, progress: number): ShapedExtrinsic {
    const random = this.#random;
    if (chain.addresses === 'h160') {
      return random.chance(0.7) ? frontier(random) : this.#remarkOfAddress();
    }
    const contracts = this.#contracts[chain.relay];
    if (chain.role === 'asset-hub' && contracts && random.chance(0.2)) return contracts.ethereum(chain);
    const isOfEthereum = chain.role === 'asset-hub' && random.chance(0.08);
    const signer = random.pick(isOfEthereum ? [PADDED, ...SENDER_ACCOUNTS] : PEOPLE);
    const makers = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => this.#maker(chain, progress));
    return transaction(random, chain, signer, makers, this.#isWhole);
  }

  #remarkOfAddress(): ShapedExtrinsic {
    const random = this.#random;
    const signer = random.pick(H160S);
    return {
      call: 'system.remark',
      args: { remark: '0x' },
      nonce: '1',
      ...(random.chance(0.2) ? {} : { signer }),
      events: random.chance(0.5) ? feeEvents(random, signer) : [],
    };
  }

  #maker(chain: Chain, progress: number): Maker {
    const random = this.#random;
    if (!this.#isWhole && random.chance(0.01)) return unreadableCall(random);
    const choices: Maker[] = [traffic(random, chain)];
    const { relay } = chain;
    if (chain.role === 'coretime')
      choices.push(...this.#several(this.#coretime[relay], (it) => it.action(chain)));
    if (chain.role === 'asset-hub')
      choices.push(...this.#several(this.#contracts[relay], (it) => it.action()));
    if (this.#isHome(chain)) {
      choices.push(
        payout(random, chain),
        ...this.#several(this.governance[chain.relay], (it) => it.action(chain, eraOf(progress))),
        ...this.#several(this.#bountiesOf(chain), (it) => it.action(chain)),
      );
    }
    return random.pick(choices);
  }

  /** What a model would do, with more weight than plain traffic. */
  #several<Model>(model: Model | undefined, make: (model: Model) => Maker): readonly Maker[] {
    return model === undefined ? [] : [make(model), make(model), make(model)];
  }

  #state(): void {
    const random = this.#random;
    this.#time += random.whole(501, 900);
    const relay = random.pick(['polkadot', 'polkadot', 'kusama']);
    const hub = `asset-hub-${relay}`;
    const line = () => {
      switch (random.pick(['any', 'any', 'any', 'any', 'coretime', 'contracts', 'delegations', 'children'])) {
        case 'coretime':
          return this.#stated('coretime_config', `coretime-${relay}`, this.#coretime[relay]?.state());
        case 'contracts':
          return this.#stated('contract_code', hub, this.#contracts[relay]?.state(chainNamed(hub)));
        case 'delegations': {
          if (random.chance(0.5)) this.governance[relay]?.delegateUnseen();
          return this.#stated('delegations', relay, this.governance[relay]?.state(chainNamed(relay)));
        }
        case 'children':
          return this.#renumbered(relay);
        default:
          return anyStatement(random, this.#time);
      }
    };
    this.lines.push({ line: line() });
  }

  /** Child bounties begin again at 0, at the moment of a block or between two. */
  #renumbered(relay: string): string {
    const chain = relay === 'polkadot' && this.#migration === 'after' ? `asset-hub-${relay}` : relay;
    const block = this.#tips.get(chain);
    const time = block && this.#random.chance(0.4) ? block.time : this.#time;
    return snapshotLine('child_bounty_ids', chain, time, this.#bounties[relay]?.renumber() ?? { ids: [] });
  }

  #stated(kind: string, chain: string, payload: object | undefined): string {
    return snapshotLine(kind, chain, this.#time, payload ?? {});
  }
}

function lineOf(chain: Chain, payload: object): InputLine {
  const [alias] = chain.aliases;
  return {
    line: JSON.stringify({
      schema: 'block/1',
      relay_chain: chain.relay,
      chain: alias ?? chain.name,
      payload,
    }),
  };
}

/** Runtimes told more and more of votes. */
function eraOf(progress: number): VoteEra {
  return progress < 0.3 ? 'silent' : progress < 0.65 ? 'unplaced' : 'placed';
}

/** What happens to lines on their way: they come twice, late, out of order, in versions, or not at all. */
export function disturbed(lines: readonly InputLine[], seed: number): InputLine[] {
  const random = new Random(seed);
  const kept = lines.filter(({ line }) => !isBlock(line) || !random.chance(0.02));
  const several = kept.flatMap((one) => {
    if (random.chance(0.06)) return [one, one];
    if (!isBlock(one.line)) return [one];
    if (random.chance(0.06)) return [forkOf(one, random), one];
    return random.chance(0.06) ? withLost(one, random) : [one];
  });
  const reach = random.pick([60, 60, 60, several.length]);
  const moved = several.map((one, index) => ({
    one,
    place: index + (random.chance(0.1) ? random.whole(-reach, reach) : 0),
  }));
  return moved.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
}

const isBlock = (line: string) => line.includes('"block/1"');

/** Another block of the same height, without its last extrinsic; one that is not final may be of another day. */
function forkOf({ line }: InputLine, random: Random): InputLine {
  const document = JSON.parse(line);
  const { payload } = document;
  const isFinal = random.chance(0.3);
  const shift = !isFinal && random.chance(0.5) ? DAY : 0;
  const extrinsics: { args: { now?: string } }[] = payload.extrinsics
    .filter((_: unknown, index: number, all: readonly unknown[]) => index === 0 || index < all.length - 1)
    .map((extrinsic: { args: { now?: string } }) =>
      extrinsic.args.now === undefined
        ? extrinsic
        : { ...extrinsic, args: { now: String(Number(extrinsic.args.now) - shift) } },
    );
  const hash = shapeHash(random.whole(10 ** 6, 10 ** 9));
  return {
    line: JSON.stringify({ ...document, payload: { ...payload, hash, finalized: isFinal, extrinsics } }),
  };
}

/** A source that lost the events of a block answers too: before another one, after it, or alone. */
function withLost(one: InputLine, random: Random): readonly InputLine[] {
  const lost = lostOf(one, random);
  return random.pick([[lost, one], [one, lost], [lost, one, lost], [lost]]);
}

/** The same block without what it needs to be taken in. */
function lostOf({ line }: InputLine, random: Random): InputLine {
  const document = JSON.parse(line);
  const { payload } = document;
  const extrinsics: readonly object[] = payload.extrinsics;
  const emptied = extrinsics.map((extrinsic) => ({ ...extrinsic, events: [] }));
  const untold = 'Unable to fetch Events, cannot confirm extrinsic status.';
  const one = random.whole(0, extrinsics.length - 1);
  const kept = random.pick([
    [],
    emptied,
    emptied.map((extrinsic) => ({ ...extrinsic, success: untold })),
    extrinsics.map((extrinsic, index) => (index === one ? { ...extrinsic, success: untold } : extrinsic)),
  ]);
  return {
    line: JSON.stringify({
      ...document,
      payload: { ...payload, finalized: random.chance(0.8), extrinsics: kept },
    }),
  };
}
