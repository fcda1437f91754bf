import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission, type Callers, EVERYBODY } from '../../infra/coordination/admission.ts';
import { ignore } from '../../infra/ignore.ts';
import type { QueryOptions, Store } from '../../infra/ports.ts';
import { addressKey } from './client-address.ts';
import { HttpError } from './errors.ts';
import type { Limiter, Limiters } from './limiter.ts';
import type { Authenticate } from './rate-limit.ts';
import type { HttpSettings } from './settings.ts';

type ReaderSettings = Pick<
  HttpSettings,
  'READERS_WAITING_MAX' | 'READER_WAIT_SECONDS_MAX' | 'ANONYMOUS_STORE_SECONDS' | 'KEY_STORE_SECONDS'
> & { readonly READER_CONNECTIONS: number };

declare module 'fastify' {
  interface FastifyRequest {
    /** The account of a caller with a session, or with a key or token of scope `api`. It has larger limits. */
    knownAccount?: string;
  }
}

/** The store operations that requests use. */
export type QueryStore = Pick<Store, 'rows' | 'bytes'>;

/** A request that queries the store. */
export interface Reader {
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal;
  readonly caller: string;
  /** Charges store time to the budget of the caller. */
  pay(ms: number): Promise<void>;
  /** The store, limited to the budget of this caller. */
  store(): QueryStore;
  /**
   * The store for work that several readers share. The signal cancels its queries. `mayQuery` runs before each query and
   * throws if the query must not run for the current readers.
   */
  storeFor(
    readers: ReadonlySet<Reader>,
    signal: AbortSignal,
    mayQuery?: (callers: Callers) => void,
  ): QueryStore;
  /** Call it after this reader joins shared work: the work may then use a free slot of this caller. */
  joined(): void;
}

/** The key by which limits count the caller of a request: its account, or else its address. */
export const callerKey = (request: FastifyRequest): string =>
  request.knownAccount === undefined ? addressKey(request) : `account/${request.knownAccount}`;

/** Store time per minute of a caller; unlimited without a limiter. */
interface Budget {
  readonly caller: string;
  readonly limiter: Limiter | null;
}

const NEVER = new AbortController().signal;

/**
 * Limits the queries of requests. Callers take turns in a bounded queue. A query is cancelled when nobody waits for it.
 * Each caller has a budget of store time, so that a few expensive requests count as much as many cheap ones.
 */
export class Readers {
  readonly #store: QueryStore;
  readonly #anonymous: Limiter | null;
  readonly #known: Limiter | null;
  readonly #authenticate: Authenticate;
  readonly #admission: Admission;

  constructor({
    store,
    limiters,
    settings,
    authenticate = async () => null,
  }: {
    readonly store: QueryStore;
    readonly limiters: Limiters;
    readonly settings: ReaderSettings;
    readonly authenticate?: Authenticate;
  }) {
    this.#store = store;
    const budget = (name: string, seconds: number) =>
      seconds === 0 ? null : limiters({ name: `store-time/${name}`, max: seconds * 1000, seconds: 60 });
    this.#anonymous = budget('anonymous', settings.ANONYMOUS_STORE_SECONDS);
    this.#known = budget('known', settings.KEY_STORE_SECONDS);
    this.#authenticate = authenticate;
    this.#admission = new Admission({
      runningMax: settings.READER_CONNECTIONS,
      waitingMax: settings.READERS_WAITING_MAX,
      waitMsMax: settings.READER_WAIT_SECONDS_MAX * 1000,
    });
  }

  /** Number of queued queries. */
  get waiting(): number {
    return this.#admission.waiting;
  }

  /** For data that is read once for all callers. */
  readonly shared: QueryStore = this.#as([EVERYBODY], NEVER, async () => undefined);

  /** Admits a request. Throws 429 if its caller has spent the budget of this minute. */
  async open(request: FastifyRequest, reply: FastifyReply): Promise<Reader> {
    const budget = await this.#admit(request);
    const signal = leaving(reply);
    const { caller } = budget;
    const pay = (ms: number) => this.#pay(budget, ms);
    return {
      signal,
      caller,
      pay,
      store: () => this.#as([caller], signal, pay),
      storeFor: (readers, by, mayQuery) =>
        this.#as(callersOf(readers), by, (ms) => splitCost(readers, ms), mayQuery),
      joined: () => this.#admission.refill(),
    };
  }

  /** A reader without a budget, for data that is read for all callers, until the signal. */
  forAll(signal: AbortSignal): Reader {
    const pay = async () => undefined;
    return {
      ...{ signal, pay, caller: EVERYBODY },
      store: () => this.#as([EVERYBODY], signal, pay),
      storeFor: (readers, by, mayQuery) =>
        this.#as(callersOf(readers), by, (ms) => splitCost(readers, ms), mayQuery),
      joined: () => this.#admission.refill(),
    };
  }

  /** The store for the caller of a request. The first query admits the caller. */
  storeOf(request: FastifyRequest, reply: FastifyReply): QueryStore {
    let opened: Promise<Reader> | undefined;
    const store = async () => {
      opened ??= this.open(request, reply);
      return (await opened).store();
    };
    return {
      rows: async (statement) => (await store()).rows(statement),
      bytes: async (statement, format) => (await store()).bytes(statement, format),
    };
  }

  #as(
    callers: Callers,
    signal: AbortSignal,
    pay: (ms: number) => Promise<void>,
    mayQuery: (callers: Callers) => void = () => undefined,
  ): QueryStore {
    const run = <T>(query: (options: QueryOptions) => Promise<T>) =>
      this.#admission.run(callers, signal, async (letsOthersFirst) => {
        mayQuery(callers);
        const started = performance.now();
        try {
          return await query({ lane: 'readers', signal, isLowPriority: letsOthersFirst });
        } finally {
          await pay(performance.now() - started);
        }
      });
    return {
      rows: (statement) => run((options) => this.#store.rows(statement, options)),
      bytes: (statement, format) => run((options) => this.#store.bytes(statement, format, options)),
    };
  }

  /** The budget that a request spends. Throws 429 if it is spent. */
  async #admit(request: FastifyRequest): Promise<Budget> {
    const budget = this.#budgetOf(request);
    const usage = await budget.limiter?.usage(budget.caller);
    if (usage === undefined || usage.remaining > 0) return budget;
    // An account has its own budget, whatever others spent at its address.
    const account = request.knownAccount === undefined ? await this.#authenticate(request) : null;
    if (account !== null) {
      request.knownAccount = account;
      return this.#admit(request);
    }
    throw new HttpError(
      'too_many_requests',
      `Your queries took more than ${usage.limit.max / 1000} s of the store's time this minute; try again in ${usage.reset} s.`,
      { 'retry-after': String(usage.reset) },
    );
  }

  #budgetOf(request: FastifyRequest): Budget {
    const limiter = request.knownAccount === undefined ? this.#anonymous : this.#known;
    return { caller: callerKey(request), limiter };
  }

  async #pay({ caller, limiter }: Budget, ms: number): Promise<void> {
    // The rows are ready; a failure to charge for them must not fail the request.
    await limiter?.count(caller, Math.ceil(ms)).catch(ignore('readers.budget'));
  }
}

/** An iterable that yields the current callers at each iteration. */
const callersOf = (readers: ReadonlySet<Reader>): Callers => ({
  *[Symbol.iterator]() {
    for (const { caller } of readers) yield caller;
  },
});

/** Splits the time of shared work among its readers. */
export async function splitCost(readers: ReadonlySet<Reader>, ms: number): Promise<void> {
  const all = [...readers];
  await Promise.all(all.map((reader) => reader.pay(ms / all.length)));
}

/** Aborts when the client disconnects before the response is sent. */
function leaving({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const leave = () => {
    if (!raw.writableFinished) controller.abort(new HttpError('unavailable', 'The caller hung up.'));
  };
  if (raw.closed) leave();
  else raw.once('close', leave);
  return controller.signal;
}
