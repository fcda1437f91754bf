/** How long a request is tried. */
export interface RetryPolicy {
  /** Most requests, the first included. */
  readonly triesMax: number;
  /** Longest time from the first request to the beginning of the last one. A longer `Retry-After` is not waited for. */
  readonly secondsMax: number;
}

export const DEFAULT_RETRY: RetryPolicy = { triesMax: 5, secondsMax: 120 };

export type SendRequest = (request: Request) => Promise<Response>;

/** What the server answers to a request that it did not begin to work on. */
const NOT_BEGUN: ReadonlySet<number> = new Set([429, 503]);
/** Requests that change nothing: they may be sent again even if the first one arrived. */
const HARMLESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 8000;

/** Sends requests again that a busy server refused, and harmless ones also after a failure of the network. */
export function retrying(send: SendRequest, { triesMax, secondsMax }: RetryPolicy): SendRequest {
  return async (request) => {
    const end = performance.now() + secondsMax * 1000;
    for (let tries = 1; ; tries++) {
      const { response, failure } = await tryOnce(send, request);
      if (response && !NOT_BEGUN.has(response.status)) return response;
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
    if (request.signal.aborted || !HARMLESS.has(request.method)) throw failure;
    return { failure };
  }
}

/** Milliseconds until the time that the server names, in seconds or as a date (RFC 9110 §10.2.3). */
function retryAfter(response: Response | undefined): number | undefined {
  const text = response?.headers.get('retry-after')?.trim();
  if (!text) return undefined;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Doubles with each try, and is random so that clients do not return all at once. */
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
