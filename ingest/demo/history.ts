import { DAY_MS, HOUR_MS, isoDay } from '../../infra/days.ts';
import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import { blockPayload, type DemoBlock, type DemoEvent, type DemoExtrinsic } from './blocks.ts';
import { Cast, type DemoKey, hexOf } from './cast.ts';
import { DEMO_CHAINS, type DemoChain, HEIGHTS_AT } from './chains.ts';
import { DayBook } from './day-book.ts';
import { Markets } from './markets.ts';
import { chainNamed, DEMO_NETWORKS, type DemoNetwork, Network } from './network.ts';
import { Random } from './random.ts';
import { activityOf, randomCount, Traffic } from './traffic.ts';

const BLOCK_MS = 6000;
/** Time between the last snapshot of a day and midnight. */
const BEFORE_MIDNIGHT_MS = 6000;

/** Days of a new history. Each later start extends it to the current day. */
const DEMO_DAYS = 180;
const SEED = 20_26;
const PEOPLE = 900;
/** Days between two snapshots of kinds that are large or change little. */
const SNAPSHOT_DAYS = 5;
/** The day on which child bounties are renumbered within their parents. */
const RENUMBERED_ON = 60;

/** The first day of a history that ends at `now`. */
export const firstDemoDay = (now: number): string => isoDay(now - (DEMO_DAYS - 1) * DAY_MS);

/** The chains of a history, their activity, and their accounts. */
export interface DemoWorld {
  readonly chains: readonly DemoChain[];
  readonly networks: readonly DemoNetwork[];
  readonly people: readonly DemoKey[];
  /** Days from one written day to the next. */
  readonly stepDays: number;
}

interface DemoOptions {
  readonly firstDay: string;
  /** End of the history, in milliseconds since the epoch. */
  readonly now: number;
  readonly registry: Registry;
  readonly seed?: number;
  readonly world?: DemoWorld;
}

function demoWorld(): DemoWorld {
  const random = new Random(PEOPLE);
  const people = Array.from({ length: PEOPLE }, () => hexOf(random, 32));
  return { chains: DEMO_CHAINS, networks: DEMO_NETWORKS, people, stepDays: 1 };
}

/** A block or a snapshot of a chain. */
export type DemoDocument =
  | { readonly chain: Chain; readonly block: DemoBlock }
  | { readonly chain: Chain; readonly snapshot: DemoSnapshot };

interface DemoSnapshot {
  readonly kind: string;
  readonly as_of: string;
  readonly block_number: number | null;
  readonly payload: object;
}

/** The newest block of a chain so far. */
interface ChainTip {
  number: number;
  hash: string;
}

/**
 * Generates a history of several chains up to now, in order of time, as lines of blocks and snapshots. The same first day
 * and seed give the same lines, except for the current day, which depends on the time too. A day has only a few
 * consecutive blocks of each chain, six seconds apart, because all blocks would take too long to load. Heights continue
 * from day to day, so that no day seems incomplete. Parent hashes do not, so that the gap does not count as a slow block.
 */
export class DemoHistory {
  readonly #now: number;
  readonly #registry: Registry;
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #traffic: Traffic;
  readonly #markets: Markets;
  readonly networks: readonly Network[];
  readonly #chains: readonly DemoChain[];
  readonly #stepDays: number;
  readonly #tips = new Map<string, ChainTip>();
  /** Midnight before the first day. */
  readonly #start: number;
  /** Number of the current day, from 0. */
  readonly #lastDay: number;

  constructor({ firstDay, now, registry, seed = SEED, world = demoWorld() }: DemoOptions) {
    const random = new Random(seed);
    const { chains, networks, people, stepDays } = world;
    this.#chains = chains;
    this.#stepDays = stepDays;
    this.#now = now;
    this.#registry = registry;
    this.#random = random;
    this.#start = Date.parse(firstDay);
    this.#lastDay = Math.floor((now - this.#start) / DAY_MS);
    this.#cast = new Cast(random, people);
    const ethereum = Array.from({ length: people.length / 2 }, () => hexOf(random, 20));
    this.#traffic = new Traffic(random, this.#cast, new Cast(random, ethereum));
    this.#markets = new Markets(random);
    for (const chain of chains) {
      this.#tips.set(chain.name, { number: this.#firstHeight(chain) - 1, hash: hexOf(random, 32) });
    }
    this.networks = networks.map((network) => {
      const { height } = chains.find(({ name }) => name === network.relay) as DemoChain;
      // The height on the first day, so that the newest regions have not ended yet.
      return new Network(network, heightAt(height, this.#start), registry, random, this.#cast);
    });
  }

  /** The lines of each day. Days before `from` are empty, and do not change the lines of later days. */
  *days(from = isoDay(this.#start)): Generator<string[]> {
    const first = (Date.parse(from) - this.#start) / DAY_MS;
    let day = 0;
    for (const documents of this.documents()) {
      yield day >= first ? documents.map((document) => this.#lineOf(document)) : [];
      day += this.#stepDays;
    }
  }

  /** The blocks and snapshots of each day. */
  *documents(): Generator<DemoDocument[]> {
    for (let day = 0; day <= this.#lastDay; day += this.#stepDays) yield [...this.#day(day)];
  }

  *#day(day: number): Generator<DemoDocument> {
    const midnight = this.#start + day * DAY_MS;
    const end = Math.min(midnight + DAY_MS, this.#now);
    const passed = (end - midnight) / DAY_MS;
    this.#markets.nextDay();
    for (const { statements } of this.networks) statements.nextDay();
    const random = this.#random;
    for (const profile of this.#chains) {
      if (day < (profile.begins ?? 0)) continue;
      const lasts = profile.blocks * BLOCK_MS;
      // The blocks of the current day end now.
      const begins =
        passed < 1
          ? Math.max(midnight, end - lasts)
          : midnight + random.whole(8 * HOUR_MS, 20 * HOUR_MS) + random.whole(0, 5999);
      yield* this.#blocks(profile, day, { midnight, begins, end, passed });
    }
    yield* this.#snapshots(day, Math.min(midnight + DAY_MS - BEFORE_MIDNIGHT_MS, this.#now));
  }

  *#blocks(
    profile: DemoChain,
    day: number,
    { midnight, begins, end, passed }: { midnight: number; begins: number; end: number; passed: number },
  ): Generator<DemoDocument> {
    const random = this.#random;
    const chain = chainNamed(this.#registry, profile.name);
    const book = new DayBook({ chain, profile, day, passed }, random, this.#cast);
    const tip = this.#tips.get(profile.name) as ChainTip;
    // A chain that stalled continues with the child of its last block.
    if (profile.stalled === day) return;
    if (profile.stalled === undefined || profile.stalled + 1 !== day) tip.hash = hexOf(random, 32);
    const isLoaded = !profile.missing.includes(day);
    const activity = activityOf(day, new Date(midnight).getUTCDay(), profile.growth, DEMO_DAYS) * passed;
    this.#traffic.write(book, randomCount(random, profile.transactions * activity));
    const network = this.networks.find(({ relay }) => relay === chain.relay_chain);
    // A day without data has no network activity, because later days would refer to it.
    if (isLoaded) network?.write(book, activity);
    let time = begins;
    for (const { opening, extrinsics } of book.blocks(profile.blocks)) {
      if (time >= end) break;
      const number = ++tip.number;
      const parentHash = tip.hash;
      tip.hash = hexOf(random, 32);
      if (isLoaded) {
        const author = chain.accounts === 'h160' ? undefined : book.addressOf(this.#cast.at(number % 40));
        const included = chain.role === 'relay' ? [this.#inclusions(chain.name)] : [];
        const place = { number, hash: tip.hash, parentHash, time, author };
        yield { chain, block: { ...place, opening, extrinsics: [...included, ...extrinsics] } };
      }
      time += passed < 1 ? BLOCK_MS : nextAfter(random);
    }
  }

  /** The inclusions of parachain blocks in a relay chain block. */
  #inclusions(relay: string): DemoExtrinsic {
    const most = relay === 'polkadot' ? 13 : 10;
    const count = this.#random.whole(Math.floor(most / 2), most);
    const events = Array.from(
      { length: count },
      (_, core): DemoEvent => [
        'paraInclusion.CandidateIncluded',
        { descriptor: { paraId: String(PARAS[core]) }, commitmentsHash: '0x' },
        '0x',
        ...[String(core), '0'],
      ],
    );
    return { call: 'paraInherent.enter', args: { data: {} }, events, success: true, hash: '0x' };
  }

  *#snapshots(day: number, time: number): Generator<DemoDocument> {
    const registry = this.#registry;
    const state = (kind: string, name: string, payload: object): DemoDocument => ({
      chain: chainNamed(registry, name),
      snapshot: {
        ...{ kind, as_of: new Date(time).toISOString() },
        ...{ block_number: this.#tips.get(name)?.number ?? null, payload },
      },
    });
    for (const price of this.#markets.prices(day)) yield state('price', 'polkadot', price);
    for (const { chain, tvl_usd } of this.#markets.lockedValues()) yield state('tvl', chain, { tvl_usd });
    const isLarge = day % SNAPSHOT_DAYS === 0 || day === this.#lastDay;
    for (const network of this.networks) {
      const { relay, statements, governance, bounties } = network;
      const hub = `asset-hub-${relay}`;
      yield state('staking_state', hub, network.staking(day));
      if (relay === 'polkadot') {
        yield state('stable_holdings', hub, statements.coins(1));
        yield state('stable_holdings', 'hydration', statements.coins(0.24));
      }
      if (day === RENUMBERED_ON) yield state('child_bounty_ids', hub, bounties.renumber());
      if (!isLarge) continue;
      const print = (key: DemoKey) => this.#cast.addressOf(key, chainNamed(registry, hub));
      yield state('delegations', hub, governance.state(print));
      yield state('issuance', hub, statements.issuance());
      yield state('treasury_balance', hub, statements.treasury());
      yield state('validator_set', relay, statements.validators(chainNamed(registry, relay)));
      yield state('coretime_config', `coretime-${relay}`, network.coretime());
      if (day === this.#lastDay) yield state('contract_code', hub, network.contracts(day));
    }
  }

  #lineOf(document: DemoDocument): string {
    const { relay_chain, name } = document.chain;
    const at = { relay_chain, chain: name };
    if ('snapshot' in document) return JSON.stringify({ ...at, schema: 'snapshot/1', ...document.snapshot });
    const payload = blockPayload(document.block, document.chain, (key, chain) =>
      this.#cast.addressOf(key, chain),
    );
    return JSON.stringify({ ...at, schema: 'block/1', payload });
  }

  #firstHeight({ height, blocks, begins = 0 }: DemoChain): number {
    return heightAt(height, this.#start + DEMO_DAYS * DAY_MS) - (DEMO_DAYS - begins) * blocks;
  }
}

const heightAt = (height: number, time: number) => height + Math.floor((time - HEIGHTS_AT) / BLOCK_MS);

/** Milliseconds to the next block: mostly six seconds, sometimes two slots, rarely a long gap. */
function nextAfter(random: Random): number {
  const roll = random.fraction();
  if (roll < 0.004) return BLOCK_MS * random.whole(11, 30);
  return BLOCK_MS * (roll < 0.93 ? 1 : 2) + random.whole(-40, 40);
}

const PARAS = [1000, 1002, 1004, 1005, 2000, 2004, 2006, 2026, 2030, 2031, 2034, 2043, 3338, 3369];
