import { setTimeout } from 'node:timers/promises';

const REQUESTS_AT_ONCE = 8;

/**
 * Admits requests to one provider in order. Limits their number, and pauses while the provider asks for a wait.
 */
export class RequestGate {
  /** Falls to 1 when the provider limits the rate, and grows by 1 with each success. */
  #requestsMax = REQUESTS_AT_ONCE;
  #requests = 0;
  readonly #waiting: (() => void)[] = [];
  #heldUntil = 0;

  /** Allows one more concurrent request. */
  widen(): void {
    this.#requestsMax = Math.min(REQUESTS_AT_ONCE, this.#requestsMax + 1);
  }

  /** Pauses all requests for some time, and then admits one at a time. */
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

/** By host. Bounded by the number of configured addresses. */
const gates = new Map<string, RequestGate>();

/** The gate of a host, shared by all sources there. */
export function gateOf(host: string): RequestGate {
  const gate = gates.get(host) ?? new RequestGate();
  gates.set(host, gate);
  return gate;
}
