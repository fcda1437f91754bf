import { setTimeout as pause } from 'node:timers/promises';
import type { KeyValue } from '../../infra/ports.ts';
import { isLoading } from '../../ingest/loads-in-progress.ts';

/** Loads that follow one another do so in less. */
const QUIET_MS = 300;
const POLL_MS = 25;

interface LaneRestOptions {
  readonly keyValue: KeyValue;
  /** A round may wait for so many times as long as the last one took: what changes all the time is computed all the same. */
  readonly ofRound: number;
  readonly waitMsMax: number;
  /** Whether a round that waits begins at once. */
  readonly isOver: () => boolean;
}

/** Lets a lane wait for loads that follow one another: each of them changes days that the next round would compute again. */
export class LaneRest {
  readonly #options: LaneRestOptions;
  #until = Number.NEGATIVE_INFINITY;
  #beganAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;

  constructor(options: LaneRestOptions) {
    this.#options = options;
  }

  /** Resolves when no load has run for a moment, or when the wait has been long enough. */
  async wait(): Promise<void> {
    const { keyValue, isOver } = this.#options;
    this.#isWaiting = true;
    try {
      for (let quietFrom = performance.now(); ; await pause(POLL_MS)) {
        const now = performance.now();
        if (now >= this.#until || isOver()) return;
        if (await isLoading(keyValue)) quietFrom = performance.now();
        else if (now - quietFrom >= QUIET_MS) return;
      }
    } finally {
      this.#isWaiting = false;
    }
  }

  /** Runs a round, and measures how long the next one may wait. */
  async after<T>(round: () => Promise<T>): Promise<T> {
    const { ofRound, waitMsMax } = this.#options;
    this.#beganAt = performance.now();
    try {
      return await round();
    } finally {
      const now = performance.now();
      this.#until = now + Math.min(waitMsMax, (now - this.#beganAt) * ofRound);
    }
  }

  /** Whether a round that waits or runs here finds what was dirty at that time. */
  finds(dirtyAt: number): boolean {
    return this.#isWaiting || this.#beganAt > dirtyAt;
  }
}
