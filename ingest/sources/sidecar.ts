import pRetry, { AbortError } from 'p-retry';
import { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { parseExact } from '../decode/json.ts';

/** Where the blocks' routes are: Sidecar serves them at the root, its successor under `/v1`. */
const ROOTS = ['', '/v1'] as const;

export interface SidecarLimits {
  readonly attempts: number;
  /** Attempts to fetch one block, which may be the only thing that fails. */
  readonly blockAttempts: number;
  /** Wait before the second try; it doubles with each further one. */
  readonly backoffMs: number;
  readonly timeoutMs: number;
  /** Of an answer, decompressed. */
  readonly bodyBytes: number;
  /** Ends what is under way. */
  readonly signal?: AbortSignal;
}

const USUAL: SidecarLimits = {
  attempts: 8,
  blockAttempts: 4,
  backoffMs: 250,
  timeoutMs: 30_000,
  bodyBytes: 64 * 2 ** 20,
};
/** A wrong address fails at once; only temporary failures are retried. */
const ATTEMPTS_TO_CONNECT = 2;

const height = z.union([z.string(), z.number()]).transform(Number).pipe(z.int().min(0));
const spec = z.object({ specName: z.string() });
const headBlock = z.object({ number: height, hash: z.string() });

/** How a block begins, as Sidecar lays it out. */
const NUMBER_FIRST = /^\s*\{\s*"number"\s*:\s*"?(\d{1,15})\b/;
const HEAD_BYTES = 256;
const NEWLINE = 0x0a;
const SPACE = 0x20;

/** A Sidecar, or its successor polkadot-rest-api, as a source of whole blocks. */
export class Sidecar {
  readonly url: string;
  /** Name of its runtime, such as `polkadot` or `statemint`. */
  readonly specName: string;
  readonly #root: string;
  readonly #limits: SidecarLimits;

  private constructor(url: string, root: string, limits: SidecarLimits, specName = '') {
    this.url = url;
    this.specName = specName;
    this.#root = root;
    this.#limits = limits;
  }

  /** Finds out which of the two answers at the address; says plainly when neither does. */
  static async connect(address: string, given: Partial<SidecarLimits> = {}): Promise<Sidecar> {
    const limits = { ...USUAL, ...given };
    const url = address.replace(/\/+$/, '');
    const failures: unknown[] = [];
    for (const root of ROOTS) {
      const attempts = Math.min(ATTEMPTS_TO_CONNECT, limits.attempts);
      const asking = new Sidecar(url, root, { ...limits, attempts });
      try {
        const { specName } = await asking.read('/runtime/spec', spec);
        return new Sidecar(url, root, limits, specName);
      } catch (error) {
        failures.push(error);
        // A server that does not answer at all answers no other path either.
        if (isUnreachable(error)) break;
      }
    }
    throw new ProductError(
      'source_unreachable',
      `${address} answers neither as Sidecar nor as polkadot-rest-api: ${reasonOf(failures[0])}`,
    );
  }

  /** Height and hash of the newest block. */
  head(kind: 'finalized' | 'best' = 'finalized'): Promise<{ number: number; hash: string }> {
    return this.read(`/blocks/head?finalized=${kind === 'finalized'}`, headBlock);
  }

  /** One block as a line: the source's own bytes. A hash gives that very block, whatever is best by now. */
  block(id: number | string): Promise<Buffer> {
    const take = (bytes: Buffer) => {
      // A page of a proxy or a block of another height must not be taken for what was asked for.
      if (!isBlock(bytes, id)) throw new Error('answered something else than that block');
      return onOneLine(bytes);
    };
    return this.#get(`/blocks/${id}`, take, Math.min(this.#limits.attempts, this.#limits.blockAttempts));
  }

  /** A document of another route. */
  read<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return this.#get(path, (bytes) => {
      const read = schema.safeParse(parsed(bytes));
      if (read.success) return read.data;
      const [issue] = read.error.issues;
      const place = issue?.path.join('.') || 'document';
      throw new Error(`answered something else than expected: ${place}: ${issue?.message}`);
    });
  }

  #get<T>(path: string, take: (bytes: Buffer) => T, attempts = this.#limits.attempts): Promise<T> {
    const { backoffMs, signal } = this.#limits;
    return pRetry(() => this.#once(path, take), {
      retries: attempts - 1,
      minTimeout: backoffMs,
      factor: 2,
      randomize: true,
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async #once<T>(path: string, take: (bytes: Buffer) => T): Promise<T> {
    const url = `${this.url}${this.#root}${path}`;
    const { answer, bytes } = await this.#fetch(url);
    if (!answer.ok) {
      const said = bytes.toString('utf8', 0, SAID_BYTES).replace(/\s+/g, ' ').trim();
      const error = new ProductError('source_failed', `${url} answered ${answer.status}: ${said}`);
      throw isFinal(answer.status) ? new AbortError(error) : error;
    }
    try {
      return take(bytes);
    } catch (error) {
      throw new ProductError('source_failed', `${url} ${reasonOf(error)}`);
    }
  }

  async #fetch(url: string): Promise<{ answer: Response; bytes: Buffer }> {
    const timeout = AbortSignal.timeout(this.#limits.timeoutMs);
    const { signal } = this.#limits;
    try {
      const answer = await fetch(url, {
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      return { answer, bytes: await bodyOf(answer, this.#limits.bodyBytes) };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TooLong) {
        throw new AbortError(new ProductError('source_failed', `${url} answered ${error.message}`));
      }
      const reason = timeout.aborted
        ? `did not answer within ${this.#limits.timeoutMs / 1000} s`
        : `cannot be reached: ${networkReason(error)}`;
      throw new ProductError('source_unreachable', `${url} ${reason}`);
    }
  }
}

class TooLong extends Error {}

async function bodyOf({ body }: Response, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new TooLong(`more than ${bytesMax} bytes (LINE_BYTES_MAX)`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, bytes);
}

const SAID_BYTES = 200;

/** What the service refuses now it will refuse again; what it could not do it may do later. */
const isFinal = (status: number) => status >= 400 && status < 500 && status !== 429 && status !== 408;

/** What lies behind `fetch failed`; where several addresses were tried, only a code tells it. */
function networkReason(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  return reasonOf(cause) || String((cause as { code?: string }).code);
}

const isUnreachable = (error: unknown) =>
  error instanceof ProductError && error.code === 'source_unreachable';

function parsed(bytes: Buffer): unknown {
  try {
    return parseExact(bytes.toString('utf8'));
  } catch {
    throw new Error('answered no JSON');
  }
}

/** The beginning of a block tells its height; only one that is laid out otherwise has to be parsed. */
function isBlock(bytes: Buffer, id: number | string): boolean {
  const first = NUMBER_FIRST.exec(bytes.toString('latin1', 0, HEAD_BYTES))?.[1];
  if (first !== undefined && typeof id === 'number') return Number(first) === id;
  const { number, hash } = parsed(bytes) as { number?: unknown; hash?: unknown };
  return typeof id === 'number' ? Number(number) === id : hash === id;
}

/** Inside JSON a raw line break can only stand between values. */
function onOneLine(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) bytes[at] = SPACE;
  return bytes;
}
