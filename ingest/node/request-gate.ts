import { setTimeout } from 'node:timers/promises';

const REQUESTS_AT_ONCE = 8;

/**
 * Admits the requests to one provider in the order in which they come: no more at a time than it takes, and none while it
 * asks to wait.
 */
export class RequestGate {
  /** One after the provider limited the rate, one more with each success. */
  #requestsMax = REQUESTS_AT_ONCE;
  #requests = 0;
  readonly #waiting: (() => void)[] = [];
  #heldUntil = 0;

  /** Admits one request more at a time. */
  widen(): void {
    this.#requestsMax = Math.min(REQUESTS_AT_ONCE, this.#requestsMax + 1);
  }

  /** Lets no request pass for some time, and then one at a time. */
  hold(ms: number): void {
    this.#requestsMax = 1;
    this.#heldUntil = Math.max(this.#heldUntil, performance.now() + ms);
  }

  async pass<T>(request: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (this.#requests < this.#requestsMax) this.#requests++;
    else {
      await new Promise<void>((admit) => {
        this.#waiting.push(admit);
      });
    }
    try {
      for (;;) {
        const heldMs = Math.ceil(this.#heldUntil - performance.now());
        if (heldMs <= 0) return await request();
        await setTimeout(heldMs, undefined, signal === undefined ? {} : { signal });
      }
    } finally {
      this.#requests--;
      while (this.#requests < this.#requestsMax && this.#waiting.length > 0) {
        this.#requests++;
        this.#waiting.shift()?.();
      }
    }
  }
}

/** By host: as many as addresses were configured. */
const gates = new Map<string, RequestGate>();

/** The gate of a provider, which limits the rate of all sources at its host together. */
export function gateOf(host: string): RequestGate {
  const gate = gates.get(host) ?? new RequestGate();
  gates.set(host, gate);
  return gate;
}
