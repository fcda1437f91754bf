/** One call that waits for the shared work. */
interface Sharer {
  /** Aborted if the call stops waiting. */
  readonly signal: AbortSignal;
}

type Work<T, S> = (signal: AbortSignal, sharers: ReadonlySet<S>) => Promise<T>;

interface Shared<T, S> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  readonly sharers: Set<S>;
}

/**
 * Concurrent calls with the same key share one execution. The execution is aborted when the last call stops waiting. It can
 * list the waiting calls.
 */
export class SharedWork<T, S extends Sharer = Sharer> {
  readonly #running = new Map<string, Shared<T, S>>();

  run(key: string, sharer: S, work: Work<T, S>): Promise<T> {
    const { signal } = sharer;
    signal.throwIfAborted();
    const shared = this.#running.get(key) ?? this.#begin(key, sharer, work);
    shared.sharers.add(sharer);
    return new Promise((resolve, reject) => {
      const leave = () => {
        shared.sharers.delete(sharer);
        if (shared.sharers.size === 0) {
          this.#forget(key, shared);
          shared.controller.abort(signal.reason);
        }
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      shared.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }

  #begin(key: string, first: S, work: Work<T, S>): Shared<T, S> {
    const controller = new AbortController();
    const sharers = new Set([first]);
    const shared: Shared<T, S> = { result: work(controller.signal, sharers), controller, sharers };
    this.#running.set(key, shared);
    const forget = () => this.#forget(key, shared);
    shared.result.then(forget, forget);
    return shared;
  }

  #forget(key: string, shared: Shared<T, S>): void {
    if (this.#running.get(key) === shared) this.#running.delete(key);
  }
}
