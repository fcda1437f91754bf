import type { Locks } from '../../infra/coordination/lock.ts';
import { DAY_MS } from '../../infra/days.ts';
import type { KeyValue } from '../../infra/ports.ts';
import { HttpError } from '../http/errors.ts';
import type { Limiter, Limiters } from '../http/limiter.ts';
import { type AttemptedFactor, FACTORS, type IdentityMetrics } from './identity-metrics.ts';
import { hashSecret, type Seal } from './secrets.ts';

const QUARTER_SECONDS = 15 * 60;
const DAY_SECONDS = 86_400;

/** How many failures, in units of SIGN_IN_ATTEMPTS, fit into which time. */
interface Allowance {
  readonly times: number;
  readonly seconds: number;
}

/** Of one account by one caller. In a day it is so small a part of `OVERALL` that few callers cannot use that up. */
const BY_CALLER: readonly Allowance[] = [
  { times: 1, seconds: QUARTER_SECONDS },
  { times: 5, seconds: DAY_SECONDS },
];
/** Of all accounts by one address. */
const BY_ADDRESS: readonly Allowance[] = [{ times: 10, seconds: QUARTER_SECONDS }];
/** Of one account by all callers who never signed in to it. For the second factor they know the password already. */
const OVERALL: Readonly<Record<'password' | 'second factor', readonly Allowance[]>> = {
  password: [{ times: 100, seconds: DAY_SECONDS }],
  'second factor': [{ times: 10, seconds: DAY_SECONDS }],
};

/** Addresses from which a user has signed in, and for how long they are known. */
const KNOWN_ADDRESSES_MAX = 32;
const KNOWN_MS = 30 * DAY_MS;

/** One caller may take this part of the attempts that may run or wait. */
const SHARE = 8;

/**
 * Failures are counted in 64³ slots of a keyed hash, which bounds their memory whatever names and addresses are
 * attempted. A slot that two of them share by chance has far more room than so few failures need.
 */
const SLOT_CHARACTERS = 3;

/** Who attempts something. */
export interface Caller {
  /** As limits count it. */
  readonly address: string;
  /** A browser that has signed in to the account before; null for every other one. */
  readonly device: string | null;
}

interface Attempt extends Caller {
  readonly what: 'password' | 'second factor';
  /**
   * The name of the account as it was typed, username or email. Each is limited by itself, like a name of no account:
   * one budget for both would tell whose email it is.
   */
  readonly account: string;
}

interface Budget {
  readonly limiter: Limiter;
  readonly slot: string;
}

/** An attempt that is not made: 429 with the time to wait, or 503. It says nothing about the secret. */
export class AttemptRefused extends HttpError {
  static usedUp(seconds: number): AttemptRefused {
    const minutes = Math.ceil(seconds / 60);
    const time = minutes > 120 ? `${Math.ceil(minutes / 60)} hours` : `${minutes} minutes`;
    return new AttemptRefused('too_many_requests', `Too many attempts. Try again in ${time}.`, {
      'retry-after': String(seconds),
    });
  }

  static busy(code: 'too_many_requests' | 'unavailable'): AttemptRefused {
    return new AttemptRefused(code, 'Too many sign-ins at the same time. Try again in a second.', {
      'retry-after': '1',
    });
  }
}

/**
 * Limits how often a secret can be guessed. Only failures count, after the verdict, so right secrets in parallel are
 * never refused; attempts of one caller are made one after the other, so wrong ones in parallel gain nothing.
 *
 * Those who fail on purpose must not lock out the owner. So a caller has its own budget for each account. A browser
 * that has signed in to the account before has no other; an address that has is not bound by the budget of the
 * account over all callers.
 */
export class AttemptLimits {
  readonly #keyValue: KeyValue;
  readonly #limiters = new Map<Allowance, Limiter>();
  readonly #locks: Locks;
  readonly #seal: Seal;
  readonly #waitingMax: number;
  readonly #metrics: IdentityMetrics;
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor(
    {
      keyValue,
      limiters,
      locks,
      seal,
      metrics,
    }: { keyValue: KeyValue; limiters: Limiters; locks: Locks; seal: Seal; metrics: IdentityMetrics },
    settings: { readonly SIGN_IN_ATTEMPTS: number; readonly SIGN_IN_WAITING_MAX: number },
  ) {
    this.#keyValue = keyValue;
    this.#locks = locks;
    this.#seal = seal;
    this.#metrics = metrics;
    for (const allowance of [BY_CALLER, BY_ADDRESS, OVERALL.password, OVERALL['second factor']].flat()) {
      const { times, seconds } = allowance;
      const limit = { name: `attempts/${times}/${seconds}`, max: settings.SIGN_IN_ATTEMPTS * times, seconds };
      this.#limiters.set(allowance, limiters(limit));
    }
    this.#waitingMax = settings.SIGN_IN_WAITING_MAX;
  }

  /** Checks a password or a second factor; `check` returns null when it is wrong. */
  async run<T>(attempt: Attempt, check: () => Promise<T | null>): Promise<T | null> {
    const account = keyOf(attempt.account);
    const isKnown = attempt.device !== null || (await this.#isKnownAddress(account, attempt.address));
    return this.#counted(attempt.what, () =>
      this.#inTurn(attempt, isKnown, () => this.#limit(this.#budgetsOf(attempt, account, isKnown), check)),
    );
  }

  /** Checks what cannot be guessed but costs work, by address alone. */
  runByAddress<T>(what: 'wallet', address: string, check: () => Promise<T | null>): Promise<T | null> {
    return this.#counted(what, () =>
      this.#inTurn({ address, device: null }, false, () =>
        this.#limit(this.#budgets(`${what}/${address}`, BY_CALLER), check),
      ),
    );
  }

  /** Creates an account, of which an address may try only so many: successes count as well. */
  async signUp<T>(address: string, create: () => Promise<T>): Promise<T> {
    // A turn of its own, since it may be part of an attempt, as with a wallet that has no account yet.
    return this.#inTurn({ address: `sign-up ${address}`, device: null }, false, async () => {
      await this.#limit(this.#budgets(`sign-up/${address}`, BY_CALLER.slice(0, 1)), async () => null);
      return create();
    });
  }

  /** Remembers that a user has signed in from an address. */
  async remember(
    { username, email }: { readonly username: string; readonly email: string },
    address: string,
  ): Promise<void> {
    for (const name of [username, email].filter((text) => text !== '')) {
      const group = knownGroup(keyOf(name));
      await this.#keyValue.join(group, keyOf(address), KNOWN_MS, KNOWN_ADDRESSES_MAX);
    }
  }

  async #isKnownAddress(account: string, address: string): Promise<boolean> {
    return (await this.#keyValue.members(knownGroup(account))).includes(keyOf(address));
  }

  #budgetsOf({ what, address, device }: Attempt, account: string, isKnown: boolean): Budget[] {
    if (device !== null) return this.#budgets(`${what}/${account}/device ${device}`, BY_CALLER);
    return [
      ...this.#budgets(`${what}/${account}/address ${address}`, BY_CALLER),
      ...this.#budgets(`${what}//address ${address}`, BY_ADDRESS),
      ...(isKnown ? [] : this.#budgets(`${what}/${account}`, OVERALL[what])),
    ];
  }

  #budgets(name: string, allowances: readonly Allowance[]): Budget[] {
    const slot = this.#seal.sign('attempts', name).slice(0, SLOT_CHARACTERS);
    return allowances.map((allowance) => ({ limiter: this.#limiters.get(allowance) as Limiter, slot }));
  }

  async #limit<T>(budgets: readonly Budget[], check: () => Promise<T | null>): Promise<T | null> {
    const usages = await Promise.all(budgets.map(({ limiter, slot }) => limiter.usage(slot)));
    const waits = usages.filter(({ remaining }) => remaining === 0).map(({ reset }) => reset);
    if (waits.length > 0) throw AttemptRefused.usedUp(Math.max(...waits));
    const result = await check();
    if (result === null) await Promise.all(budgets.map(({ limiter, slot }) => limiter.count(slot)));
    return result;
  }

  async #counted<T>(what: AttemptedFactor, attempt: () => Promise<T | null>): Promise<T | null> {
    try {
      const verdict = await attempt();
      this.#metrics.attempts.inc({ factor: FACTORS[what], result: verdict === null ? 'wrong' : 'accepted' });
      return verdict;
    } catch (error) {
      if (error instanceof AttemptRefused)
        this.#metrics.attempts.inc({ factor: FACTORS[what], result: 'refused' });
      throw error;
    }
  }

  /** Runs the attempts of one caller one after the other. Those who signed in before have as much room again. */
  async #inTurn<T>({ address, device }: Caller, isKnown: boolean, work: () => Promise<T>): Promise<T> {
    const caller = device ?? address;
    const running = this.#running.get(caller) ?? 0;
    if (running >= Math.max(1, Math.floor(this.#waitingMax / SHARE))) {
      throw AttemptRefused.busy('too_many_requests');
    }
    if (this.#total >= this.#waitingMax * (isKnown ? 2 : 1)) throw AttemptRefused.busy('unavailable');
    this.#running.set(caller, running + 1);
    this.#total++;
    try {
      return await this.#locks.run(`attempts/${keyOf(caller)}`, work);
    } finally {
      this.#total--;
      const left = (this.#running.get(caller) ?? 1) - 1;
      if (left > 0) this.#running.set(caller, left);
      else this.#running.delete(caller);
    }
  }
}

const knownGroup = (account: string) => `attempts/known/${account}`;

/** Text of any length that callers choose, as a key. */
const keyOf = (text: string): string => hashSecret(text.trim().toLowerCase());
