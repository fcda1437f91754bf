import { setImmediate } from 'node:timers/promises';

const TURN_MS = 10;

/** Lets other work run during a long loop, at least every 10 ms if each pass is short. */
export class Turn {
  #endMs = performance.now() + TURN_MS;

  async next(): Promise<void> {
    if (performance.now() < this.#endMs) return;
    await setImmediate();
    this.#endMs = performance.now() + TURN_MS;
  }
}
