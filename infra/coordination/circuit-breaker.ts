import { ProductError, reasonOf } from '../errors.ts';

/** Time after a failure during which all calls fail at once. */
const REST_MS = 500;

/**
 * A circuit breaker for a service. After a call without an answer all calls fail at once, so callers do not queue up
 * behind a dead service. After REST_MS one call at a time tries again.
 */
export class CircuitBreaker {
  readonly #service: string;
  readonly #isAway: (error: unknown) => boolean;
  #failedAt: number | null = null;
  #isTrying = false;

  /** `isAway` returns true for connection errors and false for error replies of the service. */
  constructor(service: string, isAway: (error: unknown) => boolean = () => true) {
    this.#service = service;
    this.#isAway = isAway;
  }

  /** Throws `service_unreachable` while the service does not answer. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const isTrial = this.#failedAt !== null;
    if (this.#failedAt !== null) {
      if (this.#isTrying || performance.now() - this.#failedAt < REST_MS)
        throw this.#away('the last call failed; the next attempt is due soon');
      this.#isTrying = true;
    }
    try {
      const result = await call();
      this.#failedAt = null;
      return result;
    } catch (error) {
      if (!this.#isAway(error)) {
        this.#failedAt = null;
        throw error;
      }
      this.#failedAt = performance.now();
      throw this.#away(reasonOf(error));
    } finally {
      if (isTrial) this.#isTrying = false;
    }
  }

  #away(reason: string): ProductError {
    return new ProductError('service_unreachable', `${this.#service} does not answer`, reason);
  }
}
