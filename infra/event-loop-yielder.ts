import { setImmediate } from 'node:timers/promises';

const TURN_MS = 10;

/** Yields to the event loop during a long loop, about every 10 ms if each iteration is short. */
export class EventLoopYielder {
  #endMs = performance.now() + TURN_MS;

  async yieldIfDue(): Promise<void> {
    if (performance.now() < this.#endMs) return;
    await setImmediate();
    this.#endMs = performance.now() + TURN_MS;
  }
}
