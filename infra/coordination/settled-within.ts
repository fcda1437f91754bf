import { pause } from './pause.ts';

/** Waits for a promise for at most `ms`, and returns whether it has settled. Its error is not thrown here. */
export async function isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  if (ms <= 0) return false;
  const settled = new AbortController();
  const settle = () => settled.abort();
  await Promise.race([promise.then(settle, settle), pause(ms, settled.signal)]);
  return settled.signal.aborted;
}
