import { setTimeout } from 'node:timers/promises';
import pRetry, { AbortError } from 'p-retry';
import type { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { parseRetryAfter } from '../../infra/retry-after.ts';
import { firstFault } from '../../infra/shape-error.ts';
import { parseExact } from '../decode/json.ts';

export interface HttpLimits {
  readonly attempts: number;
  /** Wait before the second attempt. It doubles with each attempt. */
  readonly backoffMs: number;
  readonly timeoutMs: number;
  /** Largest body, decompressed. */
  readonly bodyBytes: number;
  /** Aborts requests in progress. */
  readonly signal?: AbortSignal;
  /** Awaited before each request, to limit the rate. */
  readonly pace?: () => Promise<void>;
}

/** Limits of one answer. */
interface AnswerLimits extends Pick<HttpLimits, 'attempts' | 'timeoutMs'> {
  /** Time limit of all attempts together, without the waits that the service requests. */
  readonly totalMs: number;
}

/** A longer `Retry-After` fails at once. */
const RETRY_AFTER_MS_MAX = 120_000;
const EXCERPT_BYTES = 200;

/** Reads a service with GET. Limits time and size, and retries temporary failures. */
export class HttpSource {
  readonly #root: string;
  readonly #limits: HttpLimits;
  readonly #headers: Readonly<Record<string, string>>;

  /** Requests with `headers` follow no redirect, because a header may hold a key. */
  constructor(root: string, limits: HttpLimits, headers: Readonly<Record<string, string>> = {}) {
    this.#root = root;
    this.#limits = limits;
    this.#headers = headers;
  }

  /** Returns a JSON document. Numbers that a double would round become strings. */
  read<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return this.get(path, (bytes) => {
      const read = schema.safeParse(parseJson(bytes));
      if (read.success) return read.data;
      throw new Error(`returned an unexpected document: ${firstFault(read.error)}`);
    });
  }

  /** Returns the result of `take` for a body. `take` throws if the body is not what was requested. */
  get<T>(path: string, take: (bytes: Buffer) => T, overrides: Partial<AnswerLimits> = {}): Promise<T> {
    const {
      backoffMs,
      signal,
      attempts,
      timeoutMs,
      totalMs = Number.POSITIVE_INFINITY,
    } = { ...this.#limits, ...overrides };
    let until = performance.now() + totalMs;
    const leftMs = () => Math.ceil(until - performance.now());
    return pRetry(() => this.#once(path, take, Math.max(1, Math.min(timeoutMs, leftMs()))), {
      retries: attempts - 1,
      minTimeout: backoffMs,
      factor: 2,
      randomize: true,
      onFailedAttempt: async ({ error, retriesLeft }) => {
        if (!(error instanceof RetryAfterError) || retriesLeft === 0) return;
        await setTimeout(error.waitMs, undefined, { signal });
        until += error.waitMs;
      },
      // With little time left an attempt can only time out, and the timeout would hide the first error.
      shouldRetry: () => leftMs() > timeoutMs / 10,
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async #once<T>(path: string, take: (bytes: Buffer) => T, timeoutMs: number): Promise<T> {
    const url = `${this.#root}${path}`;
    await this.#limits.pace?.();
    const { answer, bytes } = await this.#fetch(url, timeoutMs);
    if (!answer.ok) throw failureOf(answer, `${url} answered ${answer.status}: ${excerptOf(bytes)}`);
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

/** An error response with `Retry-After`. */
class RetryAfterError extends ProductError {
  readonly waitMs: number;

  constructor(text: string, waitMs: number) {
    super('source_failed', text);
    this.waitMs = waitMs;
  }
}

/** Reads a response body. Throws `TooLong` beyond `bytesMax`. */
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

const excerptOf = (bytes: Buffer) => bytes.toString('utf8', 0, EXCERPT_BYTES).replace(/\s+/g, ' ').trim();

function failureOf({ status, headers }: Response, text: string): Error {
  if (isFinal(status)) return new AbortError(new ProductError('source_failed', text));
  const waitMs = parseRetryAfter(headers.get('retry-after'));
  if (waitMs === null) return new ProductError('source_failed', text);
  return waitMs <= RETRY_AFTER_MS_MAX
    ? new RetryAfterError(text, waitMs)
    : new AbortError(
        new ProductError('source_failed', `${text} (Retry-After: ${Math.round(waitMs / 1000)} s)`),
      );
}

/** A retry cannot help after these statuses. */
const isFinal = (status: number) => status < 500 && status !== 429 && status !== 408;

/** The cause behind `fetch failed`. If several addresses were tried, the cause has only a code. */
export function reasonOfNetwork(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  return reasonOf(cause) || String((cause as { code?: string }).code);
}

/** Parses JSON without rounding numbers. Throws if the bytes are not JSON. */
export function parseJson(bytes: Buffer): unknown {
  try {
    return parseExact(bytes.toString('utf8'));
  } catch {
    throw new Error('did not return JSON');
  }
}
