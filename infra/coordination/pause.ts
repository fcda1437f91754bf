import { setTimeout } from 'node:timers/promises';

/** Waits, and ends at once without an error when the signal is aborted: the caller looks at it anyway. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
