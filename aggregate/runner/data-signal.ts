import { ignore } from '../../infra/ignore.ts';
import type { KeyValue } from '../../infra/ports.ts';

const KEY = 'changes';
/** Time to live of the key; each change renews it. */
const KEY_MS = 3_600_000;
/** The token changes at this interval even without a signal, because a key-value store may evict the key. */
const ASSUMED_MS = 2000;

/** A token that changes when any process has loaded or computed data, and at least every `ASSUMED_MS`. */
export class DataSignal {
  readonly #keyValue: KeyValue;
  #own = 0;
  #others = '';

  constructor(keyValue: KeyValue) {
    this.#keyValue = keyValue;
  }

  /** Differs after every change. */
  get token(): string {
    const assumed = Math.floor(performance.now() / ASSUMED_MS);
    return `${this.#own} ${this.#others} ${assumed}`;
  }

  async publish(): Promise<void> {
    this.#own++;
    await this.#keyValue.set(KEY, `${process.pid} ${Date.now()} ${this.#own}`, { ttlMs: KEY_MS });
  }

  /**
   * Reads the signals of other processes, runs `before`, and only then changes the token, so that `before` reads data at
   * least as new as the signals.
   */
  async follow(before: () => Promise<void>): Promise<void> {
    // If the key-value store does not answer, `ASSUMED_MS` covers the missed change.
    const others = (await this.#keyValue.get(KEY).catch(ignore('changes.signal', null))) ?? '';
    await before();
    this.#others = others;
  }
}
