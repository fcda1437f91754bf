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
import { about, rhythm, Traffic } from './traffic.ts';

const BLOCK_MS = 6000;
/** Between the last snapshot of a day and its end. */
const BEFORE_MIDNIGHT_MS = 6000;

/** Days of a history that has just been made; each later start goes on to its own day. */
const DEMO_DAYS = 180;
const SEED = 20_26;
const PEOPLE = 900;
/** Days between two snapshots of what is large or changes little. */
const SNAPSHOT_DAYS = 5;
/** The day after which child bounties are counted within their parent. */
const RENUMBERED_ON = 60;

/** The first day of a history that is made at a time. */
export const firstDemoDay = (now: number): string => isoDay(now - (DEMO_DAYS - 1) * DAY_MS);

/** Which chains there are, how busy they are, and who uses them. */
export interface DemoWorld {
  readonly chains: readonly DemoChain[];
  readonly networks: readonly DemoNetwork[];
  readonly people: readonly DemoKey[];
  /** From one written day to the next. */
  readonly stepDays: number;
}

interface DemoOptions {
  readonly firstDay: string;
  /** Milliseconds since the epoch: nothing happens later. */
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

/** What was written of a chain so far. */
interface ChainTip {
  number: number;
  hash: string;
}

/**
 * A made-up history of several chains up to now, line by line in the order of its time, as sources write blocks and
 * snapshots. The same first day and seed give the same lines; only those of the day that runs depend on the time too.
 * Each day has a few consecutive blocks of each chain, six seconds apart: what a chain makes in a whole day would be
 * far too much to load at a start. Heights follow each other over the nights, so that no day seems incomplete, but
 * hashes do not, so that nobody takes the night for one slow block.
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
  /** The midnight with which the first day begins, and the number of the day that runs. */
  readonly #start: number;
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
      // As the relay chain had it on the first day: the newest regions have not ended yet.
      return new Network(network, heightAt(height, this.#start), registry, random, this.#cast);
    });
  }

  /** The lines of each day. Those from a day on are the same whether or not those before are asked for, which are empty. */
  *days(from = isoDay(this.#start)): Generator<string[]> {
    const first = (Date.parse(from) - this.#start) / DAY_MS;
    let day = 0;
    for (const documents of this.documents()) {
      yield day >= first ? documents.map((document) => this.#lineOf(document)) : [];
      day += this.#stepDays;
    }
  }

  /** What is written of each day. */
  *documents(): Generator<DemoDocument[]> {
    for (let day = 0; day <= this.#lastDay; day += this.#stepDays) yield [...this.#day(day)];
  }

  *#day(day: number): Generator<DemoDocument> {
    const midnight = this.#start + day * DAY_MS;
    const end = Math.min(midnight + DAY_MS, this.#now);
    const passed = (end - midnight) / DAY_MS;
    this.#markets.pass();
    for (const { statements } of this.networks) statements.pass();
    const random = this.#random;
    for (const profile of this.#chains) {
      if (day < (profile.begins ?? 0)) continue;
      const lasts = profile.blocks * BLOCK_MS;
      // The running day's blocks are the newest there can be.
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
    // A chain that stood still goes on with the child of its last block.
    if (profile.stalled === day) return;
    if (profile.stalled === undefined || profile.stalled + 1 !== day) tip.hash = hexOf(random, 32);
    const isLoaded = !profile.missing.includes(day);
    const activity = rhythm(day, new Date(midnight).getUTCDay(), profile.growth, DEMO_DAYS) * passed;
    this.#traffic.write(book, about(random, profile.transactions * activity));
    const network = this.networks.find(({ relay }) => relay === chain.relay_chain);
    // What nobody loaded is not to be missed later.
    if (isLoaded) network?.write(book, activity);
    let time = begins;
    for (const { opening, extrinsics } of book.blocks(profile.blocks)) {
      if (time >= end) break;
      const number = ++tip.number;
      const parentHash = tip.hash;
      tip.hash = hexOf(random, 32);
      if (isLoaded) {
        const author = chain.accounts === 'h160' ? undefined : book.printed(this.#cast.at(number % 40));
        const included = chain.role === 'relay' ? [this.#inclusions(chain.name)] : [];
        const place = { number, hash: tip.hash, parentHash, time, author };
        yield { chain, block: { ...place, opening, extrinsics: [...included, ...extrinsics] } };
      }
      time += passed < 1 ? BLOCK_MS : nextAfter(random);
    }
  }

  /** What the relay chain includes of its parachains. */
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
    for (const { chain, tvl_usd } of this.#markets.locked()) yield state('tvl', chain, { tvl_usd });
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
      const print = (key: DemoKey) => this.#cast.printed(key, chainNamed(registry, hub));
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
      this.#cast.printed(key, chain),
    );
    return JSON.stringify({ ...at, schema: 'block/1', payload });
  }

  #firstHeight({ height, blocks, begins = 0 }: DemoChain): number {
    return heightAt(height, this.#start + DEMO_DAYS * DAY_MS) - (DEMO_DAYS - begins) * blocks;
  }
}

const heightAt = (height: number, time: number) => height + Math.floor((time - HEIGHTS_AT) / BLOCK_MS);

/** Milliseconds to the next block: mostly six seconds, at times a few slots, seldom too many. */
function nextAfter(random: Random): number {
  const roll = random.fraction();
  if (roll < 0.004) return BLOCK_MS * random.whole(11, 30);
  return BLOCK_MS * (roll < 0.93 ? 1 : 2) + random.whole(-40, 40);
}

const PARAS = [1000, 1002, 1004, 1005, 2000, 2004, 2006, 2026, 2030, 2031, 2034, 2043, 3338, 3369];
