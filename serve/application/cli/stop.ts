import { killSelf } from './failure.ts';

/** Ctrl-C reaches every process of a terminal, and wrappers forward it: the same signal may arrive twice. */
const DUPLICATE_SIGNAL_MS = 1000;

/** Aborted by SIGINT or SIGTERM, so that the command ends cleanly. A second signal kills the process. */
export function stopOnSignal(): AbortSignal {
  const stop = new AbortController();
  let requestedAt = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted && performance.now() - requestedAt > DUPLICATE_SIGNAL_MS) killSelf();
      if (stop.signal.aborted) return;
      requestedAt = performance.now();
      stop.abort();
    });
  }
  // Nobody reads the output any more.
  process.stdout.on('error', () => stop.abort());
  return stop.signal;
}
