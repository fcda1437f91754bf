import { reasonOf } from '../../errors.ts';

const WAIT_MS = 200;
const WAIT_MS_MAX = 15_000;

/** Partitions that cannot be read. Each waits longer for its next attempt, and the others go on without it. */
export class Unreadable {
  readonly #waiting = new Set<number>();
  readonly #failures = new Map<number, { readonly reason: string; readonly times: number }>();
  readonly #warn: (partition: number, reason: string, waitMs: number) => void;

  /** `warn` is called once for each reason of a partition. */
  constructor(warn: (partition: number, reason: string, waitMs: number) => void) {
    this.#warn = warn;
  }

  get areSome(): boolean {
    return this.#waiting.size > 0;
  }

  waits(partition: number): boolean {
    return this.#waiting.has(partition);
  }

  add(partition: number, error: unknown): void {
    const reason = reasonOf(error);
    const earlier = this.#failures.get(partition);
    const times = (earlier?.times ?? 0) + 1;
    this.#failures.set(partition, { reason, times });
    const waitMs = Math.min(WAIT_MS * 2 ** (times - 1), WAIT_MS_MAX);
    if (earlier?.reason !== reason) this.#warn(partition, reason, waitMs);
    this.#waiting.add(partition);
    setTimeout(() => this.#waiting.delete(partition), waitMs).unref();
  }

  delete(partition: number): void {
    this.#failures.delete(partition);
  }
}
