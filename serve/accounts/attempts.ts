import type { Locks } from '../../infra/coordination/lock.ts';
import { DAY_MS } from '../../infra/days.ts';
import type { KeyValue } from '../../infra/ports.ts';
import { HttpError } from '../http/errors.ts';
import type { Limiter, Limiters } from '../http/limiter.ts';
import { type AttemptedFactor, FACTORS, type IdentityMetrics } from './identity-metrics.ts';
import { hashSecret, type Seal } from './secrets.ts';

const QUARTER_SECONDS = 15 * 60;
const DAY_SECONDS = 86_400;

/** `times` × SIGN_IN_ATTEMPTS failures in a period. */
interface Allowance {
  readonly times: number;
  readonly seconds: number;
}

/** For one account and one caller. The limit of a day is far below `OVERALL`, so a few callers cannot exhaust `OVERALL`. */
const BY_CALLER: readonly Allowance[] = [
  { times: 1, seconds: QUARTER_SECONDS },
  { times: 5, seconds: DAY_SECONDS },
];
/** For all accounts and one address. */
const BY_ADDRESS: readonly Allowance[] = [{ times: 10, seconds: QUARTER_SECONDS }];
/** For one account and all callers who never signed in to it. Callers at the second factor know the password already. */
const OVERALL: Readonly<Record<'password' | 'second factor', readonly Allowance[]>> = {
  password: [{ times: 100, seconds: DAY_SECONDS }],
  'second factor': [{ times: 10, seconds: DAY_SECONDS }],
};

/** Addresses from which a user has signed in are remembered. */
const KNOWN_ADDRESSES_MAX = 32;
const KNOWN_MS = 30 * DAY_MS;

/** One caller may use an eighth of the attempts that may run or wait. */
const SHARE = 8;

/**
 * Failures are counted in 64³ slots of a keyed hash, so their memory is bounded for any number of names and addresses. If
 * two of them share a slot by chance, the limit is still far above their few failures.
 */
const SLOT_CHARACTERS = 3;

export interface Caller {
  /** The address in the form that limits count. */
  readonly address: string;
  /** Id of a browser that has signed in to the account before; null for others. */
  readonly device: string | null;
}

interface Attempt extends Caller {
  readonly what: 'password' | 'second factor';
  /**
   * The typed username or email. Each has a budget of its own, even if no account has it: a shared budget would reveal whose
   * email it is.
   */
  readonly account: string;
}

interface Budget {
  readonly limiter: Limiter;
  readonly slot: string;
}

/** An attempt that was not checked: 429 with the time to wait, or 503. Reveals nothing about the secret. */
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
 * Limits how often a secret can be guessed. Only failures count, after the check, so correct secrets in parallel are never
 * refused. Attempts of one caller run one after the other, so parallel guesses do not bypass the limit.
 *
 * Deliberate failures must not lock out the owner, so each caller has its own budget for each account. A browser that has
 * signed in to the account before has only its own budget. An address that has signed in before is exempt from the budget of
 * all callers.
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

  /** Checks a password or a second factor; `check` returns null if it is wrong. */
  async run<T>(attempt: Attempt, check: () => Promise<T | null>): Promise<T | null> {
    const account = keyOf(attempt.account);
    const isKnown = attempt.device !== null || (await this.#isKnownAddress(account, attempt.address));
    return this.#counted(attempt.what, () =>
      this.#inTurn(attempt, isKnown, () => this.#limit(this.#budgetsOf(attempt, account, isKnown), check)),
    );
  }

  /** Limits a check by address only: its secret cannot be guessed, but the check costs work. */
  runByAddress<T>(what: 'wallet', address: string, check: () => Promise<T | null>): Promise<T | null> {
    return this.#counted(what, () =>
      this.#inTurn({ address, device: null }, false, () =>
        this.#limit(this.#budgets(`${what}/${address}`, BY_CALLER), check),
      ),
    );
  }

  /** Limits the accounts that an address creates. Successes count as well. */
  async signUp<T>(address: string, create: () => Promise<T>): Promise<T> {
    // A turn of its own, since sign-up may be part of an attempt, as with a wallet without an account.
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

  /** Runs the attempts of one caller one after the other. Callers who signed in before may wait in twice as many places. */
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
      const remaining = (this.#running.get(caller) ?? 1) - 1;
      if (remaining > 0) this.#running.set(caller, remaining);
      else this.#running.delete(caller);
    }
  }
}

const knownGroup = (account: string) => `attempts/known/${account}`;

/** Text of any length that callers choose, as a key. */
const keyOf = (text: string): string => hashSecret(text.trim().toLowerCase());
