import { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { BlockService } from './block-service.ts';
import { heightAtStart } from './heights.ts';
import { type HttpLimits, HttpSource, parseJson } from './http-source.ts';

/** Sidecar serves blocks at the root, its successor under `/v1`. */
const ROOTS = ['', '/v1'] as const;

interface SidecarLimits extends HttpLimits {
  /** Attempts to fetch one block. Fewer than `attempts`, because only this block may fail. */
  readonly blockAttempts: number;
  /** Time limit of all attempts to fetch one block, because later blocks wait for it. */
  readonly blockMs: number;
}

const USUAL: SidecarLimits = {
  attempts: 8,
  blockAttempts: 4,
  blockMs: 10_000,
  backoffMs: 250,
  timeoutMs: 30_000,
  bodyBytes: 64 * 2 ** 20,
};
/** A wrong address fails at once; only temporary failures are retried. */
const ATTEMPTS_TO_CONNECT = 2;
/** A proxy may hang on the route that returns the genesis hash. */
const GENESIS_MS_MAX = 5000;

const height = z.union([z.string(), z.number()]).transform(Number).pipe(z.int().min(0));
const spec = z.object({ specName: z.string() });
const material = z.object({ genesisHash: z.string() });
const headBlock = z.object({ number: height, hash: z.string() });

const NEWLINE = 0x0a;
const SPACE = 0x20;

/** A Sidecar, or its successor polkadot-rest-api, as a source of blocks. */
export class Sidecar implements BlockService {
  readonly url: string;
  readonly servesCompleteBlocks = false;
  readonly specName: string;
  readonly #http: HttpSource;
  readonly #limits: SidecarLimits;

  private constructor(url: string, root: string, limits: SidecarLimits, specName: string) {
    this.url = url;
    this.specName = specName;
    this.#http = new HttpSource(`${url}${root}`, limits);
    this.#limits = limits;
  }

  /** Detects whether the address is a Sidecar or a polkadot-rest-api. Throws `source_unreachable` if it is neither. */
  static async connect(address: string, overrides: Partial<SidecarLimits> = {}): Promise<Sidecar> {
    const limits = { ...USUAL, ...overrides };
    const url = address.replace(/\/+$/, '');
    const attempts = Math.min(ATTEMPTS_TO_CONNECT, limits.attempts);
    const failures: unknown[] = [];
    for (const root of ROOTS) {
      try {
        const { specName } = await new HttpSource(`${url}${root}`, { ...limits, attempts }).read(
          '/runtime/spec',
          spec,
        );
        return new Sidecar(url, root, limits, specName);
      } catch (error) {
        failures.push(error);
        // An unreachable server answers no other path either.
        if (isUnreachable(error)) break;
      }
    }
    throw new ProductError(
      'source_unreachable',
      `${address} is neither a Sidecar nor a polkadot-rest-api: ${reasonOf(failures[0])}`,
    );
  }

  async genesis(): Promise<{ readonly hash: string } | { readonly unavailable: string }> {
    const take = (bytes: Buffer) => material.parse(parseJson(bytes)).genesisHash.toLowerCase();
    const timeoutMs = Math.min(this.#limits.timeoutMs, GENESIS_MS_MAX);
    const attempts = Math.min(this.#limits.attempts, ATTEMPTS_TO_CONNECT);
    try {
      return {
        hash: await this.#http.get('/transaction/material?noMeta=true', take, { attempts, timeoutMs }),
      };
    } catch (error) {
      if (error instanceof ProductError) return { unavailable: reasonOf(error) };
      throw error;
    }
  }

  head(kind: 'finalized' | 'best' = 'finalized'): Promise<{ number: number; hash: string }> {
    return this.read(`/blocks/head?finalized=${kind === 'finalized'}`, headBlock);
  }

  /** Returns the body of the response, on one line. */
  block(id: number | string, timeoutFactor = 1): Promise<Buffer> {
    const take = (bytes: Buffer) => {
      // Refuses error pages of proxies, and blocks of another height.
      if (!isBlock(bytes, id)) throw new Error('did not return that block');
      return onOneLine(bytes);
    };
    const attempts = Math.min(this.#limits.attempts, this.#limits.blockAttempts);
    const totalMs = this.#limits.blockMs * timeoutFactor;
    const timeoutMs = Math.min(this.#limits.timeoutMs * timeoutFactor, totalMs);
    return this.#http.get(`/blocks/${id}`, take, { attempts, timeoutMs, totalMs });
  }

  /** A document of another route. */
  read<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return this.#http.read(path, schema);
  }
}

export const isUnreachable = (error: unknown): boolean =>
  error instanceof ProductError && error.code === 'source_unreachable';

/** Reads the height at the beginning of a block. Parses the block only if its layout differs. */
function isBlock(bytes: Buffer, id: number | string): boolean {
  const first = heightAtStart(bytes);
  if (first !== null && typeof id === 'number') return first === id;
  const { number, hash } = parseJson(bytes) as { number?: unknown; hash?: unknown };
  return typeof id === 'number' ? Number(number) === id : hash === id;
}

/** JSON has line breaks only between tokens. */
function onOneLine(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) bytes[at] = SPACE;
  return bytes;
}
