import type { DemoEvent } from './blocks.ts';
import type { Cast } from './cast.ts';
import type { DayBook } from './day-book.ts';
import type { Random } from './random.ts';

const STAKERS = 160;
const VALIDATORS = 40;

/** Eras per day, the first era, an average reward in units of the token, and the most payouts per day. */
export interface StakingPace {
  readonly perDay: number;
  readonly first: number;
  readonly reward: number;
  readonly payouts: number;
}

/** Rewards of validators, nominators and pool members, and rare slashes. */
export class Staking {
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #eras: StakingPace;

  constructor(random: Random, cast: Cast, eras: StakingPace) {
    this.#random = random;
    this.#cast = cast;
    this.#eras = eras;
  }

  era(day: number): number {
    return this.#eras.first + day * this.#eras.perDay;
  }

  write(book: DayBook): void {
    const random = this.#random;
    const payouts = Math.round(
      random.whole(Math.ceil(this.#eras.payouts / 2), this.#eras.payouts) * book.passed,
    );
    for (let made = 0; made < payouts; made++) this.#payOut(book);
    const claims = Math.round(random.whole(1, this.#eras.payouts) * book.passed);
    for (let made = 0; made < claims; made++) {
      const member = this.#cast.randomKey(STAKERS);
      const paid = book.planck(this.#eras.reward * 0.2 * (0.2 + random.fraction()));
      const pool = String(random.whole(1, 20));
      const event: DemoEvent = ['nominationPools.PaidOut', book.addressOf(member), pool, paid];
      book.sign(member, 'nominationPools.claimPayout', {}, [event], { anytime: true });
    }
    if (random.chance(0.015)) {
      const validator = book.addressOf(this.#cast.at(random.whole(0, VALIDATORS - 1)));
      book.emit(['staking.Slashed', validator, book.planck(this.#eras.reward * 3)]);
    }
  }

  /** One page of the rewards of an era: those of the validator and of some nominators. */
  #payOut(book: DayBook): void {
    const random = this.#random;
    const era = String(this.era(book.day) - random.whole(1, 3));
    const validator = this.#cast.at(random.whole(0, VALIDATORS - 1));
    const stash = book.addressOf(validator);
    const rewarded = (who: string, units: number): DemoEvent => [
      'staking.Rewarded',
      who,
      { staked: null },
      book.planck(units),
    ];
    const { reward } = this.#eras;
    const nominators = Array.from({ length: random.whole(3, 6) }, () =>
      rewarded(book.addressOf(this.#cast.randomKey(STAKERS)), reward * (0.05 + random.fraction() ** 2)),
    );
    const events: DemoEvent[] = [
      ['staking.PayoutStarted', era, stash, '0', null],
      rewarded(stash, reward * (1 + random.fraction())),
      ...nominators,
    ];
    const args = { validator_stash: stash, era, page: '0' };
    book.sign(this.#cast.randomKey(STAKERS), 'staking.payoutStakersByPage', args, events, { anytime: true });
  }
}
