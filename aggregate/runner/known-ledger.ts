import type { Store } from '../../infra/ports.ts';
import { type Ledger, readLedger } from './ledger.ts';

/**
 * The ledger, read once for all rounds that follow from one another: where no other process writes it, it changes with
 * what the rounds of this one write. Who writes it lets it be forgotten then, and so does every request from outside.
 */
export class KnownLedger {
  readonly #store: Pick<Store, 'rows'>;
  readonly #isShared: boolean;
  #known: Promise<Ledger> | undefined;

  constructor({ store, isShared }: { readonly store: Pick<Store, 'rows'>; readonly isShared: boolean }) {
    this.#store = store;
    this.#isShared = isShared;
  }

  async read(): Promise<Ledger> {
    const read = this.#known ?? readLedger(this.#store);
    if (!this.#isShared) this.#known = read;
    try {
      return await read;
    } catch (error) {
      if (this.#known === read) this.forget();
      throw error;
    }
  }

  forget(): void {
    this.#known = undefined;
  }

  /** Writes to it. A read meanwhile may be without what is written, also where the write fails. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.forget();
    }
  }
}
