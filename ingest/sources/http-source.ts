import { setTimeout } from 'node:timers/promises';
import pRetry, { AbortError } from 'p-retry';
import type { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { parseRetryAfter } from '../../infra/retry-after.ts';
import { firstFault } from '../../infra/shape-error.ts';
import { parseExact } from '../decode/json.ts';

export interface HttpLimits {
  readonly attempts: number;
  /** Wait before the second try; it doubles with each further one. */
  readonly backoffMs: number;
  readonly timeoutMs: number;
  /** Of an answer, decompressed. */
  readonly bodyBytes: number;
  /** Ends what is under way. */
  readonly signal?: AbortSignal;
  /** Is awaited before each request. */
  readonly pace?: () => Promise<void>;
}

/** How long one answer is waited for. */
interface Patience extends Pick<HttpLimits, 'attempts' | 'timeoutMs'> {
  /** Of all attempts, without the waits that the service asks for. */
  readonly totalMs: number;
}

/** A service that names a longer wait is not waited for. */
const RETRY_AFTER_MS_MAX = 120_000;
const SAID_BYTES = 200;

/** A service that is read with GET: with limits, and again when it fails for a while. */
export class HttpSource {
  readonly #root: string;
  readonly #limits: HttpLimits;
  readonly #headers: Readonly<Record<string, string>>;

  /** Headers may hold a key, so they follow no redirect. */
  constructor(root: string, limits: HttpLimits, headers: Readonly<Record<string, string>> = {}) {
    this.#root = root;
    this.#limits = limits;
    this.#headers = headers;
  }

  /** A document; numbers that a double would round come as text. */
  read<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return this.get(path, (bytes) => {
      const read = schema.safeParse(parsed(bytes));
      if (read.success) return read.data;
      throw new Error(`answered something other than expected: ${firstFault(read.error)}`);
    });
  }

  /** What `take` makes of the bytes of an answer; it throws when they are not what was asked for. */
  get<T>(path: string, take: (bytes: Buffer) => T, given: Partial<Patience> = {}): Promise<T> {
    const {
      backoffMs,
      signal,
      attempts,
      timeoutMs,
      totalMs = Number.POSITIVE_INFINITY,
    } = { ...this.#limits, ...given };
    let until = performance.now() + totalMs;
    const leftMs = () => Math.ceil(until - performance.now());
    return pRetry(() => this.#once(path, take, Math.max(1, Math.min(timeoutMs, leftMs()))), {
      retries: attempts - 1,
      minTimeout: backoffMs,
      factor: 2,
      randomize: true,
      onFailedAttempt: async ({ error, retriesLeft }) => {
        if (!(error instanceof RefusedForNow) || retriesLeft === 0) return;
        await setTimeout(error.waitMs, undefined, { signal });
        until += error.waitMs;
      },
      // In a moment no source answers, and the last failure would hide the first.
      shouldRetry: () => leftMs() > timeoutMs / 10,
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async #once<T>(path: string, take: (bytes: Buffer) => T, timeoutMs: number): Promise<T> {
    const url = `${this.#root}${path}`;
    await this.#limits.pace?.();
    const { answer, bytes } = await this.#fetch(url, timeoutMs);
    if (!answer.ok) throw failureOf(answer, `${url} answered ${answer.status}: ${beginningOf(bytes)}`);
    try {
      return take(bytes);
    } catch (error) {
      throw new ProductError('source_failed', `${url} ${reasonOf(error)}`);
    }
  }

  async #fetch(url: string, timeoutMs: number): Promise<{ answer: Response; bytes: Buffer }> {
    const { bodyBytes, signal } = this.#limits;
    const timeout = AbortSignal.timeout(timeoutMs);
    const hasHeaders = Object.keys(this.#headers).length > 0;
    try {
      const answer = await fetch(url, {
        headers: this.#headers,
        redirect: hasHeaders ? 'manual' : 'follow',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      return { answer, bytes: await readBody(answer, bodyBytes) };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TooLong) {
        throw new AbortError(new ProductError('source_failed', `${url} answered ${error.message}`));
      }
      const reason = timeout.aborted
        ? `did not answer within ${timeoutMs / 1000} s`
        : `cannot be reached: ${reasonOfNetwork(error)}`;
      throw new ProductError('source_unreachable', `${url} ${reason}`);
    }
  }
}

export class TooLong extends Error {}

/** The service names the time after which it may be asked again. */
class RefusedForNow extends ProductError {
  readonly waitMs: number;

  constructor(text: string, waitMs: number) {
    super('source_failed', text);
    this.waitMs = waitMs;
  }
}

/** The body of an answer; throws `TooLong` beyond `bytesMax`. */
export async function readBody({ body }: Response, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new TooLong(`more than ${bytesMax} bytes (LINE_BYTES_MAX)`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, bytes);
}

const beginningOf = (bytes: Buffer) => bytes.toString('utf8', 0, SAID_BYTES).replace(/\s+/g, ' ').trim();

function failureOf({ status, headers }: Response, text: string): Error {
  if (isFinal(status)) return new AbortError(new ProductError('source_failed', text));
  const waitMs = parseRetryAfter(headers.get('retry-after'));
  if (waitMs === null) return new ProductError('source_failed', text);
  return waitMs <= RETRY_AFTER_MS_MAX
    ? new RefusedForNow(text, waitMs)
    : new AbortError(
        new ProductError('source_failed', `${text} (again in ${Math.round(waitMs / 1000)} s, it says)`),
      );
}

/** What the service refuses now it will refuse again; what it could not do it may do later. */
const isFinal = (status: number) => status < 500 && status !== 429 && status !== 408;

/** What lies behind `fetch failed`; where several addresses were tried, only a code tells it. */
export function reasonOfNetwork(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  return reasonOf(cause) || String((cause as { code?: string }).code);
}

/** Throws what an answer is instead of JSON. */
export function parsed(bytes: Buffer): unknown {
  try {
    return parseExact(bytes.toString('utf8'));
  } catch {
    throw new Error('answered no JSON');
  }
}
