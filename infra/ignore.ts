import { Counter } from 'prom-client';

/** Failures that the process goes on from; the place of each says why it cannot matter. */
export const ignoredErrors = new Counter({
  name: 'chain_metrics_ignored_errors_total',
  help: 'Errors that were ignored because they cannot change any result, by place in the code.',
  labelNames: ['place'] as const,
  registers: [],
});

/** For `catch`: counts an error that cannot matter, and returns the value that takes its place. */
export function ignore<Value = undefined>(place: string, value?: Value): (error: unknown) => Value {
  return () => {
    ignoredErrors.inc({ place });
    return value as Value;
  };
}

/** The promise itself. Its error is thrown where it is awaited; until then it does not count as unhandled. */
export function markHandled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}
