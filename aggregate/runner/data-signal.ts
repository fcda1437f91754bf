import { ignore } from '../../infra/ignore.ts';
import type { KeyValue } from '../../infra/ports.ts';

const KEY = 'changes';
/** How long other processes remember that something has changed; each change sets it again. */
const KEY_MS = 3_600_000;
/** After this time a process assumes that it has missed a change: keys of a key-value store may be evicted. */
const ASSUMED_MS = 2000;

/** Tells whether data were loaded or computed since one has looked, in this process or in another. */
export class DataSignal {
  readonly #keyValue: KeyValue;
  #own = 0;
  #others = '';

  constructor(keyValue: KeyValue) {
    this.#keyValue = keyValue;
  }

  /** Another text after every change. */
  get token(): string {
    const assumed = Math.floor(performance.now() / ASSUMED_MS);
    return `${this.#own} ${this.#others} ${assumed}`;
  }

  async publish(): Promise<void> {
    this.#own++;
    await this.#keyValue.set(KEY, `${process.pid} ${Date.now()} ${this.#own}`, { ttlMs: KEY_MS });
  }

  /**
   * Reads what other processes have published, then runs `before`, and only then gives the token: what `before` reads
   * is at least as new as the changes.
   */
  async follow(before: () => Promise<void>): Promise<void> {
    // What is not told is assumed after a while.
    const others = (await this.#keyValue.get(KEY).catch(ignore('changes.signal', null))) ?? '';
    await before();
    this.#others = others;
  }
}
