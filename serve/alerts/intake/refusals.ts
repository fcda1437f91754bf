import { DAY_MS } from '../../../infra/days.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { WATCHDOGS_MAX } from '../integrations/beat-recorder.ts';
import { alertRefusals } from '../model/tables.ts';

/** A response that refused a request. Its message contains nothing from the request. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Number of refused requests for one reason, with the newest response. */
export interface CountedRefusal extends Refusal {
  readonly count: number;
  /** Time of the newest of these requests. */
  readonly last: number;
}

/**
 * Counts requests without a valid key separately, so strangers cannot raise the counts of the real sender. Only a few
 * checks run before the key check, so strangers can raise only a few counts.
 */
export const refusalWithoutKey = ({ status, code, message }: Refusal): Refusal =>
  code === 'unauthorized'
    ? { status, code, message: 'The key is missing or wrong.' }
    : { status, code: `${code} without key`, message: `${message} The request had no valid key either.` };

/** Counted for a Watchdog above the limit. Its delivery is accepted, but the Watchdog is not watched. */
export const TOO_MANY_WATCHDOGS: Refusal = {
  status: 200,
  code: 'too_many_watchdogs',
  message: `More than ${WATCHDOGS_MAX} label sets of Watchdogs; this one is not watched. Drop labels that change, or delete heartbeats that are not needed.`,
};

const FLUSH_MS = 10_000;
const MESSAGE_CHARACTERS_MAX = 300;
const DAYS_SHOWN = 7;

interface RefusalsDependencies {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Counts refused requests of integrations, which are stored nowhere else. Counts are written every ten seconds, one row
 * for each integration and reason, so a flood costs little and a kill loses ten seconds.
 */
export class Refusals {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Counts since the last write, by integration and code. */
  #counts = new Map<string, CountedRefusal & { readonly integration: string }>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ store, clock }: RefusalsDependencies) {
    this.#store = store;
    this.#clock = clock;
  }

  start(onFailure: (error: unknown) => void): void {
    this.#timer = setInterval(() => void this.flush().catch(onFailure), FLUSH_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  add(integration: string, { status, code, message }: Refusal, count = 1): void {
    const key = `${integration} ${code}`;
    const before = this.#counts.get(key)?.count ?? 0;
    this.#counts.set(key, {
      ...{ integration, status, code, message: message.slice(0, MESSAGE_CHARACTERS_MAX) },
      ...{ count: before + count, last: this.#clock.now() },
    });
  }

  /** Stores the counts since the last call. */
  async flush(): Promise<void> {
    const counted = [...this.#counts.values()];
    if (counted.length === 0) return;
    this.#counts = new Map();
    try {
      await this.#store.insert(
        alertRefusals,
        counted.map((row) => ({ ...row })),
      );
    } catch (error) {
      for (const { integration, count, ...refusal } of counted) this.add(integration, refusal, count);
      throw error;
    }
  }

  /** Refusals of the last week by reason, newest first. Refusals on other servers appear after up to 10 seconds. */
  async latest(integration: string, store: Pick<Store, 'rows'> = this.#store): Promise<CountedRefusal[]> {
    const own = [...this.#counts.values()].filter((counted) => counted.integration === integration);
    const since = this.#clock.now() - DAYS_SHOWN * DAY_MS;
    const stored = await store.rows<CountedRefusal>(
      sql`SELECT code, argMax(newest.1, at) AS status, argMax(newest.2, at) AS message, sum(requests) AS count,
          max(at) AS last
        FROM (SELECT code, (status, message) AS newest, count AS requests, last AS at FROM ${alertRefusals}
          WHERE integration = ${integration} AND last > ${since})
        GROUP BY code`,
    );
    const all = new Map(stored.map((refusal) => [refusal.code, refusal]));
    for (const { status, code, message, count, last } of own)
      all.set(code, { status, code, message, count: count + (all.get(code)?.count ?? 0), last });
    return [...all.values()].sort((a, b) => b.last - a.last);
  }
}
