interface Shared<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

/** Calls of one key at the same time share one execution, which is aborted when the last of them leaves. */
export class SharedWork<T> {
  readonly #running = new Map<string, Shared<T>>();

  run(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const shared = this.#running.get(key) ?? this.#begin(key, work);
    shared.callers++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        shared.callers--;
        if (shared.callers === 0) {
          this.#forget(key, shared);
          shared.controller.abort(signal.reason);
        }
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      shared.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<T>): Shared<T> {
    const controller = new AbortController();
    const shared: Shared<T> = { result: work(controller.signal), controller, callers: 0 };
    this.#running.set(key, shared);
    const forget = () => this.#forget(key, shared);
    shared.result.then(forget, forget);
    return shared;
  }

  #forget(key: string, shared: Shared<T>): void {
    if (this.#running.get(key) === shared) this.#running.delete(key);
  }
}
