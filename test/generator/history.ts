import { readRegistry } from '../../ingest/chains/registry.ts';
import type { DemoBlock } from '../../ingest/demo/blocks.ts';
import { type DemoDocument, DemoHistory } from '../../ingest/demo/history.ts';
import { Random } from '../../ingest/demo/random.ts';
import type { InputLine } from '../reference/input.ts';
import { type Chain, chainNamed } from '../reference/registry.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeBlock } from '../reference/shaped.ts';
import { PEOPLE } from './accounts.ts';
import { ENDED, OddBlocks } from './odd-blocks.ts';
import { OddStates } from './odd-states.ts';
import { oddStatement, snapshotLine, trackTable } from './snapshots.ts';
import type { VoteEra } from './spelling.ts';
import { testWorld } from './world.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

export type HistoryOptions = {
  /** Blocks over all chains. */
  readonly blocks?: number;
  /** Every fact can be read and every block has its time. */
  readonly isWhole?: boolean;
};

/** The votes on a referendum that has ended, as its last event tells them. */
type Tally = { readonly ayes: bigint; readonly nays: bigint; readonly support: bigint };
type Tip = { readonly height: number; readonly time: number };
type Step = { readonly chain: Chain; readonly block: Pick<DemoBlock, 'number' | 'opening' | 'extrinsics'> };

/** Pallets that move from the relay chain to its asset hub; for a while both have them. */
const MOVED = /^(referenda|convictionVoting|bounties|childBounties|staking|nominationPools)\./;
type Home = 'relay' | 'hub';
const RELAY: readonly Home[] = ['relay'];
const HUB: readonly Home[] = ['hub'];
type DemoStatement = Extract<DemoDocument, { snapshot: unknown }>;
const ofModels = ({ snapshot }: DemoStatement) =>
  ['delegations', 'child_bounty_ids', 'coretime_config', 'contract_code'].includes(snapshot.kind);
const SMALL = ['moonbeam', 'polymesh', 'westend', 'asset-hub-westend'];
/** Blocks of the relay chain while a region is used. */
const REGION_BLOCKS = 5040 * 80;

/**
 * A few months of several chains: the blocks of the demo, in a world of few people, with the rare cases that sources and
 * runtimes of all times have. The same seed gives the same lines.
 */
export class History {
  readonly lines: InputLine[] = [];
  /** By relay chain and referendum. */
  readonly tallies: Readonly<Record<string, Map<number, Tally>>> = { polkadot: new Map(), kusama: new Map() };
  readonly #random: Random;
  readonly #isWhole: boolean;
  readonly #tips = new Map<string, Tip>();
  readonly #blocks: OddBlocks;
  readonly #states: OddStates;
  #time: number;
  #made = 0;

  constructor(seed: number, { blocks = 300, isWhole = false }: HistoryOptions = {}) {
    const random = new Random(seed);
    const demo = new DemoHistory({
      ...{ firstDay: '2025-01-01', now: Date.parse('2027-01-01'), seed, world: testWorld(random) },
      registry: readRegistry({ CHAINS_FILE: undefined }),
    });
    this.#random = random;
    this.#isWhole = isWhole;
    this.#blocks = new OddBlocks(random, isWhole);
    this.#states = new OddStates(random, demo.networks, this.#blocks);
    // Some histories begin before the earliest dates of some endpoints.
    this.#time = Date.parse(random.pick(['2025-01-29', '2024-02-27', '2023-12-20', '2022-12-15'])) + 5 * HOUR;
    for (const documents of demo.documents()) {
      if (this.#made >= blocks) break;
      this.#step(documents, blocks);
    }
  }

  #step(documents: readonly DemoDocument[], blocks: number): void {
    const random = this.#random;
    const all = documents.flatMap((document): Step[] =>
      'block' in document ? [{ chain: chainNamed(document.chain.name), block: document.block }] : [],
    );
    const steps = all.filter(({ chain }) => !SMALL.includes(chain.name) || random.chance(0.6));
    // Those of the models are made below, when the blocks before them are written.
    const statements = documents.filter(
      (one): one is DemoStatement =>
        'snapshot' in one && !ofModels(one) && one.chain.relay_chain !== 'westend',
    );
    const progress = this.#made / blocks;
    const home = random.pick(progress < 0.45 ? RELAY : progress < 0.55 ? [...RELAY, ...HUB] : HUB);
    const unseen = random.chance(0.3) ? random.pick(['polkadot', 'kusama']) : null;
    const moved = atHome(withoutDelegations(steps, unseen), home);
    for (const { chain, block } of interleaved(random, moved)) {
      this.#pass();
      this.#block(chain, block, eraOf(progress));
      if (random.chance(0.15)) {
        const stated = random.pick(statements);
        this.lines.push({ line: oddStatement(random, stated, this.#later()) });
      }
    }
    if (unseen !== null) this.lines.push({ line: this.#states.delegations(unseen, this.#later()) });
    if (random.chance(0.1)) this.lines.push({ line: trackTable(random, this.#later()) });
    for (const relay of ['polkadot', 'kusama']) this.#state(relay, home);
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

  #later(): number {
    this.#time += this.#random.whole(501, 900);
    return this.#time;
  }

  #block(chain: Chain, block: Step['block'], era: VoteEra): void {
    const random = this.#random;
    const isRelay = chain.role === 'relay';
    const first = isRelay ? block.number : random.whole(100, 2000);
    const tip = this.#tips.get(chain.name) ?? { height: first - 1, time: 0 };
    // At times nobody loaded the blocks of many weeks, in which regions ended.
    const number = tip.height + 1 + (isRelay && random.chance(0.02) ? random.whole(1, 3) * REGION_BLOCKS : 0);
    this.#made++;
    this.#tips.set(chain.name, { height: number, time: this.#time });
    const { opening, extrinsics } = this.#blocks.write(chain, block, era);
    for (const event of block.opening) this.#note(chain, event);
    this.#write(chain, number, opening, extrinsics);
  }

  #write(
    chain: Chain,
    number: number,
    opening: readonly ShapedEvent[],
    extrinsics: readonly ShapedExtrinsic[],
  ): void {
    // What happens before anybody tells the time has no day.
    const isTimed = this.#isWhole || !this.#random.chance(0.01);
    const time = isTimed ? { time: new Date(this.#time).toISOString() } : {};
    const payload = shapeBlock({ number, ...time, extrinsics, opening, authorId: PEOPLE[0] });
    const [alias] = chain.aliases;
    const at = { relay_chain: chain.relay, chain: alias ?? chain.name };
    this.lines.push({ line: JSON.stringify({ schema: 'block/1', ...at, payload }) });
  }

  #note({ relay }: Chain, [name, index, tally]: ShapedEvent): void {
    if (!ENDED.test(name)) return;
    const { ayes, nays, support } = tally as Record<keyof Tally, string>;
    const told = { ayes: BigInt(ayes), nays: BigInt(nays), support: BigInt(support) };
    this.tallies[relay]?.set(Number(index), told);
  }

  #state(relay: string, home: Home): void {
    const random = this.#random;
    const hub = `asset-hub-${relay}`;
    const states = this.#states;
    if (random.chance(0.5)) this.lines.push({ line: states.coretime(relay, this.#later()) });
    if (random.chance(0.4)) this.lines.push({ line: states.contracts(relay, this.#later()) });
    if (random.chance(0.3)) this.lines.push({ line: states.delegations(relay, this.#later()) });
    if (!random.chance(0.2)) return;
    // At the moment of a block or between two.
    const chain = relay === 'polkadot' && home === 'hub' ? hub : relay;
    const last = this.#tips.get(chain)?.time;
    const time = last !== undefined && random.chance(0.4) ? last : this.#later();
    this.lines.push({ line: snapshotLine('child_bounty_ids', chain, time, states.renumbered(relay)) });
  }
}

/** Runtimes told more and more of votes. */
function eraOf(progress: number): VoteEra {
  return progress < 0.3 ? 'silent' : progress < 0.65 ? 'unplaced' : 'placed';
}

/** Governance, staking and bounties where they live: of Polkadot on one of two chains, of others on the relay chain. */
function atHome(steps: readonly Step[], home: Home): Step[] {
  const isOfHub = ({ relay }: Chain) => home === 'hub' && relay === 'polkadot';
  return steps.map((step) => {
    const { chain, block } = step;
    if (isOfHub(chain)) return step;
    if (chain.role === 'asset-hub') return { chain, block: only(block, (name) => !MOVED.test(name)) };
    if (chain.role !== 'relay') return step;
    // In their order, divided among the blocks of the relay chain.
    const own = steps.filter((one) => one.chain === chain);
    const ofHub = steps.filter((one) => one.chain.role === 'asset-hub' && one.chain.relay === chain.relay);
    const parts = ofHub
      .filter((_, i) => Math.min(i, own.length - 1) === own.indexOf(step))
      .map((one) => only(one.block, (name) => MOVED.test(name)));
    const opening = [block, ...parts].flatMap((part) => part.opening);
    return {
      chain,
      block: { ...block, opening, extrinsics: [block, ...parts].flatMap((part) => part.extrinsics) },
    };
  });
}

const only = (block: Step['block'], isOf: (name: string) => boolean): Step['block'] => ({
  ...block,
  opening: block.opening.filter(([name]) => isOf(name)),
  extrinsics: block.extrinsics.filter(({ call }) => isOf(call)),
});

/** Somebody delegates without any block that tells of it. */
function withoutDelegations(steps: readonly Step[], relay: string | null): readonly Step[] {
  return steps.map(({ chain, block }) => {
    if (chain.relay !== relay) return { chain, block };
    const seen = block.extrinsics.filter(({ call }) => call !== 'convictionVoting.delegate');
    return { chain, block: { ...block, extrinsics: seen } };
  });
}

/** In any order of the chains, those of one chain in theirs. */
function interleaved(random: Random, steps: readonly Step[]): Step[] {
  const ofChains = Map.groupBy(steps, ({ chain }) => chain.name);
  return random.shuffled(steps).map(({ chain }) => ofChains.get(chain.name)?.shift() as Step);
}
