import type { Random } from '../../ingest/demo/random.ts';
import type { Chain } from '../reference/registry.ts';
import type { ShapedEvent } from '../reference/shaped.ts';
import { type Key, PEOPLE, printed } from './accounts.ts';
import { amountOf, type Maker } from './actions.ts';

type Id = { readonly begin: number; readonly core: number; readonly mask: bigint };
type Owned = Id & { readonly end: number; owner: Key; use: 'none' | 'assigned' | 'pooled' };

const BITS = 80n;
const WHOLE = (1n << BITS) - 1n;
const LENGTH = 6;
const TASKS = [2000, 2004, 3333, 1000];

const maskText = (mask: bigint) => `0x${mask.toString(16).padStart(20, '0')}`;

/** The coretime chain of one relay chain: sales one after another, and what becomes of what they sold. */
export class CoretimeModel {
  readonly #random: Random;
  #cycle = 0;
  #nextCore = 0;
  #sold = 0;
  #offered = 0;
  #endPrice = 10n ** 10n;
  #regions: Owned[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  get #begin(): number {
    return this.#cycle * LENGTH;
  }

  /** The next sale opens; what it offers begins when the former ends. */
  openSale(): readonly ShapedEvent[] {
    const random = this.#random;
    this.#cycle += 1;
    this.#sold = 0;
    this.#nextCore = 10;
    this.#offered = random.whole(0, 5);
    this.#endPrice = BigInt(random.whole(1, 50)) * 10n ** 9n;
    const numbers = [this.#cycle * 480, 40].map(String);
    const prices = [this.#endPrice * 2n, this.#endPrice].map((price) => amountOf(random, price));
    const rest = [this.#begin, this.#begin + LENGTH, 2, this.#offered].map(String);
    return [['broker.SaleInitialized', ...numbers, ...prices, ...rest]];
  }

  /** What the chain does by itself: renewals of those who asked for them once and for all. */
  renewByItself(chain: Chain): readonly ShapedEvent[] {
    return this.#cycle > 0 && this.#random.chance(0.5)
      ? [this.#renewed(chain, this.#random.pick(PEOPLE))]
      : [];
  }

  action(chain: Chain): Maker {
    const random = this.#random;
    const roll = random.fraction();
    if (roll < 0.35 || this.#regions.length === 0) return this.#purchase(chain);
    if (roll < 0.47) {
      return (actor) => this.#said('renew', () => [this.#renewed(chain, actor)]);
    }
    const region = random.pick(this.#regions);
    const [call, act] = this.#useOf(chain, region, roll);
    // Another call of the same extrinsic may have divided the region before.
    return () => this.#said(call, () => (this.#regions.includes(region) ? act() : []));
  }

  #useOf(
    chain: Chain,
    region: Owned,
    roll: number,
  ): readonly [call: string, act: () => readonly ShapedEvent[]] {
    if (roll < 0.6) return ['transfer', () => this.#transfer(chain, region)];
    if (roll < 0.7) return ['partition', () => this.#partition(region)];
    if (roll < 0.78) return ['interlace', () => this.#interlace(region)];
    if (roll < 0.88) return ['assign', () => this.#assign(region)];
    if (roll < 0.93) return ['pool', () => this.#pool(region)];
    if (roll < 0.96) return ['dropRegion', () => this.#drop(region)];
    return ['removeAssignment', () => this.#undo(region)];
  }

  /** What the broker's state says now. */
  state(): object {
    const random = this.#random;
    const reservation = (task: number) => [
      { mask: maskText(WHOLE), assignment: random.pick([{ task }, 'Pool']) },
    ];
    return {
      sale_info: {
        sale_start: this.#cycle * 480,
        leadin_length: 40,
        end_price: this.#endPrice.toString(),
        region_begin: this.#begin,
        region_end: this.#begin + LENGTH,
        ideal_cores_sold: 2,
        cores_offered: this.#offered,
        first_core: 10,
        sellout_price: random.chance(0.5) ? null : (this.#endPrice + 7n).toString(),
        cores_sold: this.#sold,
      },
      reservations: Array.from({ length: random.whole(0, 5) }, (_, i) => reservation(1000 + i)),
      leases: [{ task: 2006, until: 99 }],
      core_count: 50,
    };
  }

  #said(call: string, perform: () => readonly ShapedEvent[]) {
    return { call: `broker.${call}`, args: {}, perform };
  }

  #purchase(chain: Chain): Maker {
    return (actor) =>
      this.#said('purchase', () => {
        const random = this.#random;
        // At times for a cycle whose sale nobody saw.
        const begin = random.chance(0.1) ? this.#begin + 1000 : this.#begin;
        const id = { begin, core: this.#nextCore++, mask: WHOLE };
        this.#sold += 1;
        this.#regions.push({ ...id, end: begin + LENGTH, owner: actor, use: 'none' });
        // The price falls from the start price to the end price while the sale leads in.
        const price = this.#endPrice + (this.#endPrice * BigInt(random.whole(0, 100))) / 100n;
        const who = printed(random, actor, chain);
        return [['broker.Purchased', who, written(id), amountOf(random, price), String(LENGTH)]];
      });
  }

  #renewed(chain: Chain, who: Key): ShapedEvent {
    const random = this.#random;
    const workload = random.pick([
      [{ mask: maskText(WHOLE), assignment: { task: String(random.pick(TASKS)) } }],
      [
        { mask: maskText(WHOLE >> 40n), assignment: 'Pool' },
        { mask: maskText(WHOLE ^ (WHOLE >> 40n)), assignment: { task: 2031 } },
      ],
      [{ mask: maskText(WHOLE), assignment: { pool: null } }],
      [{ mask: maskText(WHOLE), assignment: { idle: null } }],
    ]);
    const price = amountOf(random, this.#endPrice / 2n);
    const [oldCore, core] = [random.whole(0, 9), this.#nextCore++];
    const at = [oldCore, core, this.#begin, LENGTH].map(String);
    return ['broker.Renewed', printed(random, who, chain), price, ...at, workload];
  }

  #transfer(chain: Chain, region: Owned): readonly ShapedEvent[] {
    const [old, owner] = [region.owner, this.#random.pick(PEOPLE)];
    region.owner = owner;
    const print = (key: Key) => (this.#random.chance(0.1) ? null : printed(this.#random, key, chain));
    return [['broker.Transferred', written(region), durationOf(region), print(old), print(owner)]];
  }

  #partition(region: Owned): readonly ShapedEvent[] {
    if (region.end - region.begin < 2) return [];
    const pivot = this.#random.whole(region.begin + 1, region.end - 1);
    const [first, second] = [
      { ...region, end: pivot, use: 'none' as const },
      { ...region, begin: pivot, use: 'none' as const },
    ];
    this.#replace(region, first, second);
    return [['broker.Partitioned', written(region), [written(first), written(second)]]];
  }

  #interlace(region: Owned): readonly ShapedEvent[] {
    const bits = [...Array(Number(BITS)).keys()].map((bit) => 1n << BigInt(bit));
    const taken = bits.filter((bit) => (region.mask & bit) !== 0n && this.#random.chance(0.5));
    const mask = taken.reduce((sum, bit) => sum | bit, 0n);
    if (mask === 0n || mask === region.mask) return [];
    const parts = [mask, region.mask ^ mask].map((part) => ({ ...region, mask: part, use: 'none' as const }));
    this.#replace(region, ...parts);
    return [['broker.Interlaced', written(region), parts.map(written)]];
  }

  #assign(region: Owned): readonly ShapedEvent[] {
    region.use = 'assigned';
    return [['broker.Assigned', written(region), durationOf(region), String(this.#random.pick(TASKS))]];
  }

  #pool(region: Owned): readonly ShapedEvent[] {
    region.use = 'pooled';
    return [['broker.Pooled', written(region), durationOf(region)]];
  }

  #undo(region: Owned): readonly ShapedEvent[] {
    const { use } = region;
    region.use = 'none';
    if (use === 'assigned') return [['broker.AssignmentRemoved', written(region)]];
    return use === 'pooled' ? [['broker.RegionUnpooled', written(region), '12']] : [];
  }

  #drop(region: Owned): readonly ShapedEvent[] {
    this.#replace(region);
    return [['broker.RegionDropped', written(region), durationOf(region)]];
  }

  #replace(region: Owned, ...by: readonly Owned[]): void {
    this.#regions = [...this.#regions.filter((one) => one !== region), ...by];
  }
}

const written = ({ begin, core, mask }: Id) => ({
  begin: String(begin),
  core: String(core),
  mask: maskText(mask),
});
const durationOf = ({ begin, end }: Owned) => String(end - begin);
