import pRetry from 'p-retry';
import { ProductError, reasonOf } from '../errors.ts';

interface RetryOptions {
  /** Wait before the second attempt; it doubles with each further one up to `waitMsMax`. */
  readonly waitMs: number;
  readonly waitMsMax: number;
  /** Time after which a failure is thrown. Absent: only `isFinal` and `signal` end the attempts. */
  readonly secondsMax?: number;
  /** Whether another attempt cannot succeed. */
  readonly isFinal?: (error: unknown) => boolean;
  readonly signal?: AbortSignal;
}

/** Wraps the error of an attempt, since p-retry would not retry after a TypeError. */
class AttemptError extends Error {}

/** Repeats work until it succeeds; throws its last error, or the reason of the signal. */
export async function retry<T>(work: () => T | Promise<T>, options: RetryOptions): Promise<T> {
  const { waitMs, waitMsMax, secondsMax, isFinal, signal } = options;
  // p-retry drops a result that arrives after the signal.
  let done: { readonly value: T } | undefined;
  const attempt = async () => {
    try {
      done = { value: await work() };
    } catch (cause) {
      throw new AttemptError('', { cause });
    }
  };
  try {
    await pRetry(attempt, {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: waitMs,
      maxTimeout: waitMsMax,
      shouldRetry: ({ error }) => !isFinal?.(error.cause),
      ...(secondsMax === undefined ? {} : { maxRetryTime: secondsMax * 1000 }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (!done) throw error instanceof AttemptError ? error.cause : error;
  }
  return (done as unknown as { value: T }).value;
}

const WAIT_MS = 100;
const WAIT_MS_MAX = 5000;

/**
 * Calls a service until it answers or SERVICE_WAIT_SECONDS are over. `refusal` maps an error that no retry can fix to
 * `service_refused`. Throws `service_unreachable` with the setting that holds the address.
 */
export async function retryUntilReady<T>(
  setting: string,
  seconds: number,
  call: () => Promise<T>,
  refusal: (error: unknown) => ProductError | null,
): Promise<T> {
  try {
    return await retry(call, {
      waitMs: WAIT_MS,
      waitMsMax: WAIT_MS_MAX,
      secondsMax: seconds,
      isFinal: (error) => refusal(error) !== null,
    });
  } catch (error) {
    const detail = error instanceof ProductError ? (error.detail ?? error.message) : reasonOf(error);
    throw (
      refusal(error) ??
      new ProductError(
        'service_unreachable',
        `${setting}: no answer within SERVICE_WAIT_SECONDS=${seconds}; start it or correct the setting`,
        detail,
      )
    );
  }
}
