import { DAY_MS, HOUR_MS, isoDay } from '../../infra/days.ts';
import type { Registry } from '../chains/registry.ts';
import { blockPayload, type DemoEvent } from './blocks.ts';
import { Cast, hexOf } from './cast.ts';
import { DEMO_CHAINS, type DemoChain, HEIGHTS_AT } from './chains.ts';
import { DayBook } from './day-book.ts';
import { Markets } from './markets.ts';
import { chainNamed, DEMO_RELAYS, Network } from './network.ts';
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

/** The first day of a history that is made at a time. */
export const firstDemoDay = (now: number): string => isoDay(now - (DEMO_DAYS - 1) * DAY_MS);

interface DemoOptions {
  readonly firstDay: string;
  /** Milliseconds since the epoch: nothing happens later. */
  readonly now: number;
  readonly registry: Registry;
  readonly seed?: number;
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
  readonly #networks: readonly Network[];
  readonly #tips = new Map<string, ChainTip>();
  /** The midnight with which the first day begins, and the number of the day that runs. */
  readonly #start: number;
  readonly #lastDay: number;

  constructor({ firstDay, now, registry, seed = SEED }: DemoOptions) {
    const random = new Random(seed);
    this.#now = now;
    this.#registry = registry;
    this.#random = random;
    this.#start = Date.parse(firstDay);
    this.#lastDay = Math.floor((now - this.#start) / DAY_MS);
    this.#cast = new Cast(random, PEOPLE);
    this.#traffic = new Traffic(random, this.#cast, new Cast(random, PEOPLE / 2, 20));
    this.#markets = new Markets(random);
    for (const chain of DEMO_CHAINS) {
      this.#tips.set(chain.name, { number: this.#firstHeight(chain) - 1, hash: hexOf(random, 32) });
    }
    this.#networks = DEMO_RELAYS.map((relay) => {
      const { height } = DEMO_CHAINS.find(({ name }) => name === relay) as DemoChain;
      // As the relay chain had it on the first day: the newest regions have not ended yet.
      return new Network(relay, heightAt(height, this.#start), registry, random, this.#cast);
    });
  }

  /** The lines of each day. Those from a day on are the same whether or not those before are asked for, which are empty. */
  *days(from = isoDay(this.#start)): Generator<string[]> {
    const first = (Date.parse(from) - this.#start) / DAY_MS;
    for (let day = 0; day <= this.#lastDay; day++) {
      const lines = [...this.#day(day)];
      yield day >= first ? lines : [];
    }
  }

  *#day(day: number): Generator<string> {
    const midnight = this.#start + day * DAY_MS;
    const end = Math.min(midnight + DAY_MS, this.#now);
    const passed = (end - midnight) / DAY_MS;
    this.#markets.pass();
    for (const { statements } of this.#networks) statements.pass();
    const random = this.#random;
    for (const profile of DEMO_CHAINS) {
      if (day < (profile.begins ?? 0)) continue;
      const lasts = profile.blocks * BLOCK_MS * 1.4;
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
  ): Generator<string> {
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
    const network = this.#networks.find(({ relay }) => relay === chain.relay_chain);
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
        const block = { number, hash: tip.hash, parentHash, time, author, opening };
        yield lineOf(chain, {
          schema: 'block/1',
          payload: blockPayload(random, { ...block, extrinsics: [...included, ...extrinsics] }),
        });
      }
      time += nextAfter(random);
    }
  }

  /** What the relay chain includes of its parachains. */
  #inclusions(relay: string) {
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
    return { call: 'paraInherent.enter', args: { data: {} }, events };
  }

  *#snapshots(day: number, time: number): Generator<string> {
    const registry = this.#registry;
    const state = (kind: string, name: string, payload: object) =>
      lineOf(chainNamed(registry, name), {
        ...{ schema: 'snapshot/1', kind, as_of: new Date(time).toISOString() },
        ...{ block_number: this.#tips.get(name)?.number ?? null, payload },
      });
    for (const price of this.#markets.prices(day)) yield state('price', 'polkadot', price);
    for (const { chain, tvl_usd } of this.#markets.locked()) yield state('tvl', chain, { tvl_usd });
    const isLarge = day % SNAPSHOT_DAYS === 0 || day === this.#lastDay;
    for (const network of this.#networks) {
      const { relay, statements } = network;
      const hub = `asset-hub-${relay}`;
      yield state('staking_state', hub, network.staking(day));
      if (relay === 'polkadot') {
        yield state('stable_holdings', hub, statements.coins(1));
        yield state('stable_holdings', 'hydration', statements.coins(0.24));
      }
      if (!isLarge) continue;
      yield state('issuance', hub, statements.issuance());
      yield state('treasury_balance', hub, statements.treasury());
      yield state('validator_set', relay, statements.validators(chainNamed(registry, relay)));
      yield state('coretime_config', `coretime-${relay}`, network.coretime());
      if (day === this.#lastDay) yield state('contract_code', hub, network.contracts(day));
    }
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

function lineOf({ relay_chain, name }: { relay_chain: string; name: string }, document: object): string {
  return JSON.stringify({ relay_chain, chain: name, ...document });
}

const PARAS = [1000, 1002, 1004, 1005, 2000, 2004, 2006, 2026, 2030, 2031, 2034, 2043, 3338, 3369];
