/** No answer waits longer for others, but for the one that is made meanwhile. */
const WAIT_MS_MAX = 1;

/**
 * Sends the answers that one turn of the event loop makes at its end, one directly after the other. Where the callers, or
 * a proxy that passes their requests on, run on the same machine, every answer that is sent apart finds a process that
 * sleeps: to schedule it takes the processor longer than all else of a short answer.
 */
export class SentTogether {
  #sends: (() => void)[] = [];
  #since = 0;

  add(send: () => void): void {
    const now = performance.now();
    if (this.#sends.length > 0 && now - this.#since > WAIT_MS_MAX) this.#sendAll();
    if (this.#sends.length === 0) {
      this.#since = now;
      setImmediate(() => this.#sendAll());
    }
    this.#sends.push(send);
  }

  #sendAll(): void {
    const sends = this.#sends;
    this.#sends = [];
    for (const send of sends) send();
  }
}
