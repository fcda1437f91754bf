import type { Chain } from '../chains/chain.ts';
import type { DemoEvent } from './blocks.ts';
import type { Cast, DemoKey } from './cast.ts';
import { type DayBook, planckOf } from './day-book.ts';
import type { Random } from './random.ts';

interface DemoRegion {
  readonly begin: number;
  readonly end: number;
  readonly core: number;
  readonly mask: bigint;
  owner: DemoKey;
  use: 'none' | 'assigned' | 'pooled';
}

/** The first price of a core in units of the token, purchases of an average day, and uses of regions per day. */
export interface CoretimePace {
  readonly corePrice: number;
  readonly purchases: number;
  readonly uses: number;
}

const BITS = 80n;
const WHOLE = (1n << BITS) - 1n;
/** Timeslices of a region: 28 days. */
const REGION_SLICES = 5040;
const REGION_DAYS = 28;
const OFFERED = 10;
const RESERVED = 6;
const FIRST_CORE = 8;
const TASKS = [2000, 2004, 2006, 2012, 2026, 2031, 2034, 2043, 3338, 3344, 3367, 3369];
/** Days over which the price of a sale falls to its lowest. */
const LEAD_IN_DAYS = 14;

const maskText = (mask: bigint) => `0x${mask.toString(16).padStart(20, '0')}`;

/** The coretime chain of one relay chain: a sale every 28 days, renewals, and the use of regions by their owners. */
export class Coretime {
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #decimals: number;
  /** The timeslice in which the first sale opens. Its regions begin with the next sale. */
  readonly #firstSlice: number;
  readonly #pace: CoretimePace;
  #regions: DemoRegion[] = [];
  #sale = -1;
  #openedOn = 0;
  #sold = 0;
  #renewed = 0;
  #endPrice: number;

  constructor(
    random: Random,
    cast: Cast,
    { decimals }: Pick<Chain, 'decimals'>,
    firstSlice: number,
    pace: CoretimePace,
  ) {
    this.#random = random;
    this.#cast = cast;
    this.#decimals = decimals;
    this.#firstSlice = firstSlice;
    this.#pace = pace;
    this.#endPrice = pace.corePrice;
  }

  get #begin(): number {
    return this.#firstSlice + (this.#sale + 1) * REGION_SLICES;
  }

  write(book: DayBook): void {
    if (book.day >= (this.#sale + 1) * REGION_DAYS) this.#open(book);
    const random = this.#random;
    const age = book.day - this.#openedOn;
    if (age < 7) {
      const renewals = Math.min(random.whole(0, 2), RENEWALS_MAX - this.#renewed);
      for (let made = 0; made < renewals; made++) this.#renew(book);
    }
    const hasCores = this.#sold + this.#renewed < OFFERED;
    const chance = this.#pace.purchases * (age < LEAD_IN_DAYS ? 1 : 0.4) * book.passed;
    if (hasCores && random.chance(age === 0 ? 0.8 : chance)) {
      this.#purchase(book, age);
    }
    // The broker has events on each day, so that the days of a chain are computed together.
    for (let made = 0; made < this.#pace.uses; made++) {
      const current = this.#regions.filter(({ begin }) => begin >= this.#begin - REGION_SLICES);
      if (current.length > 0) this.#use(book, random.pick(current));
    }
  }

  /** The payload of a `coretime_config` snapshot. */
  state(): object {
    const whole = { mask: maskText(WHOLE) };
    return {
      sale_info: {
        sale_start: this.#begin * 80 - REGION_SLICES * 80,
        leadin_length: LEAD_IN_DAYS * 14_400,
        end_price: planckOf(this.#endPrice, this.#decimals).toString(),
        region_begin: this.#begin,
        region_end: this.#begin + REGION_SLICES,
        ideal_cores_sold: OFFERED,
        cores_offered: OFFERED,
        first_core: FIRST_CORE,
        sellout_price: null,
        cores_sold: this.#sold + this.#renewed,
      },
      reservations: Array.from({ length: RESERVED }, (_, i) => [
        { ...whole, assignment: { task: 1000 + i } },
      ]),
      leases: [{ task: 2035, until: this.#begin + 2 * REGION_SLICES }],
      core_count: 40,
    };
  }

  #open(book: DayBook): void {
    const filled = (this.#sold + this.#renewed) / OFFERED;
    if (this.#sale >= 0) this.#endPrice *= 0.45 + 0.5 * filled + 0.3 * this.#random.fraction();
    this.#sale += 1;
    this.#openedOn = book.day;
    this.#sold = 0;
    this.#renewed = 0;
    const start = this.#begin * 80 - REGION_SLICES * 80;
    const prices = [this.#endPrice * 10, this.#endPrice].map((price) => book.planck(price));
    const slices = [this.#begin, this.#begin + REGION_SLICES].map(String);
    book.emitFirst([
      'broker.SaleInitialized',
      ...[String(start), String(LEAD_IN_DAYS * 14_400), ...prices, ...slices],
      ...[String(OFFERED), String(OFFERED)],
    ]);
  }

  #renew(book: DayBook): void {
    const core = FIRST_CORE + this.#sold + this.#renewed;
    const task = TASKS[this.#renewed] ?? 2000;
    this.#renewed += 1;
    const who = this.#cast.at(3 + this.#renewed);
    const at = [core + 1, core, this.#begin, REGION_SLICES].map(String);
    const workload =
      this.#random.chance(0.8) || task === 2000
        ? [{ mask: maskText(WHOLE), assignment: { task: String(task) } }]
        : [
            { mask: maskText(WHOLE >> 40n), assignment: 'Pool' },
            { mask: maskText(WHOLE ^ (WHOLE >> 40n)), assignment: { task: String(task) } },
          ];
    const price = book.planck(this.#endPrice * 1.03);
    const renewed: DemoEvent = ['broker.Renewed', book.addressOf(who), price, ...at, workload];
    // The chain itself renews cores with auto-renewal.
    if (this.#random.chance(0.3)) book.emit(renewed);
    else book.sign(who, 'broker.renew', { core: at[0] }, [renewed]);
  }

  #purchase(book: DayBook, age: number): void {
    const remaining = Math.max(0, 1 - age / LEAD_IN_DAYS);
    const price = this.#endPrice * (1 + 9 * remaining ** 2);
    const owner = this.#cast.at(this.#random.whole(10, 40));
    const region: DemoRegion = {
      ...{ begin: this.#begin, end: this.#begin + REGION_SLICES },
      ...{ core: FIRST_CORE + this.#sold + this.#renewed, mask: WHOLE, owner, use: 'none' },
    };
    this.#sold += 1;
    this.#regions.push(region);
    const paid = book.planck(price);
    const duration = String(REGION_SLICES);
    book.sign(owner, 'broker.purchase', { price_limit: paid }, [
      ['broker.Purchased', book.addressOf(owner), regionId(region), paid, duration],
    ]);
  }

  #use(book: DayBook, region: DemoRegion): void {
    const [call, event] = this.#useOf(book, region, this.#random.fraction());
    book.sign(region.owner, `broker.${call}`, { region_id: regionId(region) }, [event]);
  }

  #useOf(book: DayBook, region: DemoRegion, roll: number): readonly [call: string, event: DemoEvent] {
    const [id, duration] = [regionId(region), String(region.end - region.begin)];
    if (region.use !== 'none' && roll < 0.3) {
      const isPooled = region.use === 'pooled';
      region.use = 'none';
      return isPooled
        ? ['removeAssignment', ['broker.RegionUnpooled', id, duration]]
        : ['removeAssignment', ['broker.AssignmentRemoved', id]];
    }
    if (roll < 0.5) {
      region.use = 'assigned';
      return ['assign', ['broker.Assigned', id, duration, String(this.#random.pick(TASKS))]];
    }
    if (roll < 0.66) {
      region.use = 'pooled';
      return ['pool', ['broker.Pooled', id, duration]];
    }
    if (roll < 0.8) {
      const old = region.owner;
      region.owner = this.#cast.at(this.#random.whole(10, 40));
      const owners = [old, region.owner].map((key) => book.addressOf(key));
      return ['transfer', ['broker.Transferred', id, duration, ...owners]];
    }
    if (roll < 0.88) {
      const mask = this.#someBits(region.mask);
      if (mask === 0n || mask === region.mask) return ['pool', ['broker.Pooled', id, duration]];
      const masks = [mask, region.mask ^ mask];
      const parts = masks.map((mask): DemoRegion => ({ ...region, mask, use: 'none' }));
      this.#replace(region, ...parts);
      return ['interlace', ['broker.Interlaced', id, parts.map(regionId)]];
    }
    if (roll < 0.97 && region.end - region.begin > 2) {
      const pivot = this.#random.whole(region.begin + 1, region.end - 1);
      const first: DemoRegion = { ...region, end: pivot, use: 'none' };
      const second: DemoRegion = { ...region, begin: pivot, use: 'none' };
      this.#replace(region, first, second);
      return ['partition', ['broker.Partitioned', id, [regionId(first), regionId(second)]]];
    }
    this.#replace(region);
    return ['dropRegion', ['broker.RegionDropped', id, duration]];
  }

  /** Half of a core, as in the usual interlacing, or random bits of the core. */
  #someBits(mask: bigint): bigint {
    if (this.#random.chance(0.5)) return mask & (WHOLE >> 40n);
    const bits = Array.from({ length: Number(BITS) }, (_, bit) => mask & (1n << BigInt(bit)));
    return bits.reduce((sum, bit) => (this.#random.chance(0.5) ? sum | bit : sum), 0n);
  }

  #replace(region: DemoRegion, ...by: readonly DemoRegion[]): void {
    this.#regions = [...this.#regions.filter((other) => other !== region), ...by];
  }
}

const RENEWALS_MAX = 5;

const regionId = ({ begin, core, mask }: DemoRegion) => ({
  begin: String(begin),
  core: String(core),
  mask: maskText(mask),
});
