/** A wish to end, by Ctrl-C or from outside. What is under way is brought to a clean end; a second wish ends it at once. */
export function stopOnSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}
