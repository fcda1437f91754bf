import { killSelf } from './failure.ts';

/** Ctrl-C reaches every process of a terminal, and wrappers pass it on: the same wish may come twice. */
const SAME_WISH_MS = 1000;

/** A wish to end, by Ctrl-C or from outside. What is under way is brought to a clean end; a later wish ends it at once. */
export function stopOnSignal(): AbortSignal {
  const stop = new AbortController();
  let asked = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted && performance.now() - asked > SAME_WISH_MS) killSelf();
      if (stop.signal.aborted) return;
      asked = performance.now();
      stop.abort();
    });
  }
  // Nobody is told any more what is done.
  process.stdout.on('error', () => stop.abort());
  return stop.signal;
}
