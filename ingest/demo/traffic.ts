import { type DemoEvent, nestedCall } from './blocks.ts';
import { type Cast, type DemoKey, hexOf } from './cast.ts';
import type { DayBook } from './day-book.ts';
import type { Random } from './random.ts';

/** Relative activity of a day, around 1: growth over `days`, quiet weekends, and a slow wave. */
export function activityOf(day: number, weekday: number, growth: number, days: number): number {
  const trend = growth ** (Math.min(day / days, 2) - 0.5);
  const week = weekday === 0 ? 0.68 : weekday === 6 ? 0.74 : 1.08;
  return trend * week * (1 + 0.14 * Math.sin(day / 11) + 0.05 * Math.sin(day / 3.1));
}

/** A random count around `mean`, with the spread of a Poisson distribution. */
export function randomCount(random: Random, mean: number): number {
  const noise = (random.fraction() + random.fraction() + random.fraction()) / 1.5 - 1;
  return Math.max(0, Math.round(mean + noise * (0.12 * mean + Math.sqrt(mean))));
}

/** Simulates everyday transactions of Substrate and Ethereum chains. Some transfers create their recipient. */
export class Traffic {
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #ethereum: Cast;
  /** Number of existing accounts by chain. */
  readonly #accounts = new Map<string, number>();
  readonly #firstAccounts: number;

  constructor(random: Random, cast: Cast, ethereum: Cast) {
    this.#random = random;
    this.#cast = cast;
    this.#ethereum = ethereum;
    this.#firstAccounts = Math.min(FIRST_ACCOUNTS_MAX, Math.floor(cast.size / 2));
  }

  /** A random account that exists on the chain. */
  someone(book: DayBook): DemoKey {
    return this.#cast.randomKey(this.#accounts.get(book.chain.name) ?? this.#firstAccounts);
  }

  write(book: DayBook, transactions: number): void {
    const isEthereum = book.chain.accounts === 'h160';
    for (let made = 0; made < transactions; made++) {
      if (isEthereum) this.#ethereumTransaction(book);
      else this.#transaction(book);
    }
    if (isEthereum || !this.#random.chance(0.3)) return;
    book.emit(['system.KilledAccount', book.addressOf(this.someone(book))]);
  }

  #transaction(book: DayBook): void {
    const random = this.#random;
    const from = this.someone(book);
    const roll = random.fraction();
    const success = !random.chance(0.025);
    const anytime = true;
    if (roll < 0.52) {
      const { args, events } = this.#transfer(book, from);
      book.sign(from, 'balances.transferKeepAlive', args, events, { success, anytime });
      return;
    }
    if (book.chain.role === 'defi' && roll < 0.86) {
      this.#swap(book, from);
      return;
    }
    if (roll < 0.7) {
      const [asset, amount] = [random.pick(['1984', '1337', '30']), String(random.whole(1, 4_000_000_000))];
      const [who, to] = [book.addressOf(from), book.addressOf(this.someone(book))];
      const args = { id: asset, target: { id: to }, amount };
      const moved: DemoEvent = ['assets.Transferred', asset, who, to, amount];
      book.sign(from, 'assets.transferKeepAlive', args, [moved], { success, anytime });
      return;
    }
    if (roll < 0.8) {
      const args = {
        dest: { v4: {} },
        beneficiary: { v4: {} },
        assets: { v4: [] },
        weight_limit: 'Unlimited',
      };
      const sent: DemoEvent = ['xcmpQueue.XcmpMessageSent', hexOf(random, 32)];
      book.sign(from, 'polkadotXcm.limitedReserveTransferAssets', args, [sent], {
        success,
        anytime,
      });
      return;
    }
    if (roll < 0.88) {
      this.#batch(book, from);
      return;
    }
    if (roll < 0.94) {
      const remarked: DemoEvent = ['system.Remarked', book.addressOf(from), hexOf(random, 32)];
      const args = { remark: '0x64656d6f' };
      book.sign(from, 'system.remarkWithEvent', args, [remarked], { success, anytime });
      return;
    }
    const real = this.someone(book);
    const { args, events } = this.#transfer(book, real);
    const inner = nestedCall('balances.transferKeepAlive', args);
    book.sign(
      from,
      'proxy.proxy',
      { real: { id: book.addressOf(real) }, force_proxy_type: null, call: inner },
      [...events, ['proxy.ProxyExecuted', { ok: [] }]],
      { success, anytime },
    );
  }

  /** A batch of transfers that fails as a whole. */
  #batch(book: DayBook, from: DemoKey): void {
    const items = Array.from({ length: this.#random.whole(2, 4) }, () => this.#transfer(book, from));
    const calls = items.map(({ args }) => nestedCall('balances.transferKeepAlive', args));
    const events = items.flatMap(({ events }): DemoEvent[] => [...events, ['utility.ItemCompleted']]);
    book.sign(from, 'utility.batchAll', { calls }, [...events, ['utility.BatchCompleted']], {
      anytime: true,
    });
  }

  #transfer(book: DayBook, from: DemoKey): { args: object; events: DemoEvent[] } {
    const random = this.#random;
    const accounts = this.#accounts.get(book.chain.name) ?? this.#firstAccounts;
    const isNew = accounts < this.#cast.size && random.chance(0.09);
    if (isNew) this.#accounts.set(book.chain.name, accounts + 1);
    const to = book.addressOf(isNew ? this.#cast.at(accounts) : this.someone(book));
    const value = book.planck(book.profile.transfer * (0.1 + 3 * random.fraction() ** 4));
    const events: DemoEvent[] = [['balances.Transfer', book.addressOf(from), to, value]];
    if (isNew) events.unshift(['system.NewAccount', to]);
    return { args: { dest: { id: to }, value }, events };
  }

  #swap(book: DayBook, from: DemoKey): void {
    const random = this.#random;
    const who = book.addressOf(from);
    const pool = book.addressOf(this.#cast.at(0));
    const [sold, bought] = [random.whole(0, 20), random.whole(21, 40)].map(String);
    const [amount, received] = [random.whole(10 ** 8, 10 ** 12), random.whole(10 ** 8, 10 ** 12)].map(String);
    const args = { asset_in: sold, asset_out: bought, amount_in: amount, min_amount_out: '0', route: [] };
    const events: DemoEvent[] = [
      ['tokens.Transfer', sold, who, pool, amount],
      ['tokens.Transfer', bought, pool, who, received],
    ];
    book.sign(from, 'router.sell', args, events, { success: !random.chance(0.04), anytime: true });
  }

  #ethereumTransaction(book: DayBook): void {
    const random = this.#random;
    const from = this.#ethereum.randomKey();
    if (random.chance(0.08)) {
      const args = { candidate: this.#ethereum.at(random.whole(0, 9)), more: book.planck(100) };
      book.sign(from, 'parachainStaking.delegatorBondMore', args, [], { anytime: true });
      return;
    }
    const exit = random.chance(0.96) ? { succeed: 'Returned' } : { revert: 'Reverted' };
    const to = this.#ethereum.randomKey();
    const value = book.planck(book.profile.transfer * random.fraction() ** 5);
    const moved: DemoEvent[] = random.chance(0.4) ? [['balances.Transfer', from, to, value]] : [];
    const executed: DemoEvent = ['ethereum.Executed', from, to, hexOf(random, 32), exit, '0x'];
    book.addUnsigned('ethereum.transact', {}, [...moved, executed]);
  }
}

const FIRST_ACCOUNTS_MAX = 60;
