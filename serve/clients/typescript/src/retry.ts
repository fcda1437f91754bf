export interface RetryPolicy {
  /** Maximum number of requests, including the first. */
  readonly triesMax: number;
  /** Maximum seconds from the first request to the start of the last. If `Retry-After` is longer, there is no retry. */
  readonly secondsMax: number;
}

export const DEFAULT_RETRY: RetryPolicy = { triesMax: 5, secondsMax: 120 };

export type SendRequest = (request: Request) => Promise<Response>;

/** With these statuses the server has not started to process the request. */
const RETRIABLE: ReadonlySet<number> = new Set([429, 503]);
/** Methods that change nothing, so a request may be repeated even if the server received it. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 8000;

/** Retries requests after 429 and 503, and requests with safe methods also after a network failure. */
export function withRetries(send: SendRequest, { triesMax, secondsMax }: RetryPolicy): SendRequest {
  return async (request) => {
    const end = performance.now() + secondsMax * 1000;
    for (let tries = 1; ; tries++) {
      const { response, failure } = await tryOnce(send, request);
      if (response && !RETRIABLE.has(response.status)) return response;
      const wait = retryAfter(response) ?? backOff(tries);
      if (tries >= triesMax || performance.now() + wait > end) {
        if (response) return response;
        throw failure;
      }
      await response?.body?.cancel();
      await pause(wait, request.signal);
    }
  };
}

async function tryOnce(
  send: SendRequest,
  request: Request,
): Promise<{ response?: Response; failure?: unknown }> {
  try {
    return { response: await send(request.clone()) };
  } catch (failure) {
    if (request.signal.aborted || !SAFE_METHODS.has(request.method)) throw failure;
    return { failure };
  }
}

/** Milliseconds to wait, from `Retry-After` in seconds or as a date (RFC 9110 §10.2.3). */
function retryAfter(response: Response | undefined): number | undefined {
  const text = response?.headers.get('retry-after')?.trim();
  if (!text) return undefined;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Doubles with each try, with jitter, so that clients do not retry at the same time. */
const backOff = (tries: number) =>
  Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);

/** Rejects as soon as the request is aborted. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
