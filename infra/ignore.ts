import { Counter } from 'prom-client';

/** Counts errors that cannot change a result. A comment at each call of `ignore` says why. */
export const ignoredErrors = new Counter({
  name: 'chain_metrics_ignored_errors_total',
  help: 'Errors that were ignored because they cannot change any result, by place in the code.',
  labelNames: ['place'] as const,
  registers: [],
});

/** For `catch`: counts an error that can be ignored, and returns a fallback value. */
export function ignore<Value = undefined>(place: string, value?: Value): (error: unknown) => Value {
  return () => {
    ignoredErrors.inc({ place });
    return value as Value;
  };
}

/** Returns the promise, whose rejection then does not count as unhandled before the promise is awaited. */
export function markHandled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}
