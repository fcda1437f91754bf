/** Facts that are kept for their next readers, of all statements together; beyond, each fold reads its own. */
export const SHARED_BYTES_MAX = 32 * 1024 * 1024;

interface Shared {
  /** Folds that still need the facts. */
  readers: number;
  facts?: Promise<Buffer>;
  bytes: number;
}

/**
 * Lets the folds of a round that read the same facts read them once. Such facts hold all that a read of the fold's own
 * has to: equal statements read the same tables, so that the first reader too waits for every window of the round that
 * writes to them, and what a load adds after the round began is for the next one. Facts that the other lane read before
 * this round began are no longer shared: this round may know of newer ones, and its rows must not be replaced by older
 * ones. What its windows depend on was computed before the first of them read; a later load leaves their days dirty.
 */
export class SharedFacts {
  readonly #statements = new Map<string, Shared>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = SHARED_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Begins a round, whose folds will read these statements. */
  begin(statements: Iterable<string>): void {
    this.#statements.clear();
    this.#bytes = 0;
    for (const statement of statements) {
      const shared = this.#statements.get(statement);
      if (shared) shared.readers++;
      else this.#statements.set(statement, { readers: 1, bytes: 0 });
    }
  }

  async read(statement: string, read: () => Promise<Buffer>): Promise<Buffer> {
    const shared = this.#statements.get(statement);
    if (!shared) return read();
    const facts = shared.facts ?? this.#first(statement, shared, read);
    if (--shared.readers === 0) this.#forget(statement, shared);
    return facts;
  }

  #first(statement: string, shared: Shared, read: () => Promise<Buffer>): Promise<Buffer> {
    const facts = read();
    shared.facts = facts;
    facts.then(
      ({ length }) => {
        if (this.#statements.get(statement) !== shared) return;
        if (this.#bytes + length > this.#bytesMax) return this.#forget(statement, shared);
        shared.bytes = length;
        this.#bytes += length;
      },
      // The other folds do not fail with this one: each tries by itself.
      () => this.#forget(statement, shared),
    );
    return facts;
  }

  #forget(statement: string, shared: Shared): void {
    if (this.#statements.get(statement) !== shared) return;
    this.#statements.delete(statement);
    this.#bytes -= shared.bytes;
  }
}
