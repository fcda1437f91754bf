import pRetry, { AbortError } from 'p-retry';
import { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';

/** Where the blocks' routes are: Sidecar serves them at the root, its successor under `/v1`. */
const ROOTS = ['', '/v1'] as const;

export interface SidecarLimits {
  readonly attempts: number;
  /** Wait before the second try; it doubles with each further one. */
  readonly backoffMs: number;
  readonly timeoutMs: number;
}

const USUAL: SidecarLimits = { attempts: 8, backoffMs: 250, timeoutMs: 30_000 };

const header = z.looseObject({
  number: z.union([z.string(), z.number()]).transform(Number).pipe(z.int().min(0)),
});
const spec = z.looseObject({ specName: z.string() });
const headBlock = header.extend({ hash: z.string() });

const NEWLINE = 0x0a;
const SPACE = 0x20;

/** A Sidecar, or its successor polkadot-rest-api, as a source of whole blocks. */
export class Sidecar {
  readonly url: string;
  readonly #root: string;
  readonly #limits: SidecarLimits;

  private constructor(url: string, root: string, limits: SidecarLimits) {
    this.url = url;
    this.#root = root;
    this.#limits = limits;
  }

  /** Finds out which of the two answers at the address; says plainly when neither does. */
  static async connect(address: string, limits: Partial<SidecarLimits> = {}): Promise<Sidecar> {
    const url = address.replace(/\/+$/, '');
    const failures: string[] = [];
    for (const root of ROOTS) {
      const sidecar = new Sidecar(url, root, { ...USUAL, ...limits });
      try {
        await sidecar.specName();
        return sidecar;
      } catch (error) {
        failures.push(reasonOf(error));
      }
    }
    throw new ProductError(
      'source_unreachable',
      `${address} answers neither as Sidecar nor as polkadot-rest-api: ${failures[0]}`,
    );
  }

  /** Name of the runtime, such as `polkadot` or `statemint`. */
  async specName(): Promise<string> {
    return spec.parse(JSON.parse((await this.#get('/runtime/spec')).toString('utf8'))).specName;
  }

  /** Height and hash of the newest block. */
  async head(kind: 'finalized' | 'best' = 'finalized'): Promise<{ number: number; hash: string }> {
    const bytes = await this.#get(`/blocks/head?finalized=${kind === 'finalized'}`);
    return headBlock.parse(JSON.parse(bytes.toString('utf8')));
  }

  /** One block as a line: the source's own bytes. */
  async block(number: number): Promise<Buffer> {
    const bytes = await this.#get(`/blocks/${number}`);
    // Inside JSON a raw line break can only stand between values.
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) bytes[at] = SPACE;
    return bytes;
  }

  #get(path: string): Promise<Buffer> {
    return pRetry(() => this.#once(path), {
      retries: this.#limits.attempts - 1,
      minTimeout: this.#limits.backoffMs,
      factor: 2,
      randomize: true,
    });
  }

  async #once(path: string): Promise<Buffer> {
    const url = `${this.url}${this.#root}${path}`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(this.#limits.timeoutMs) });
    if (answer.ok) return Buffer.from(await answer.arrayBuffer());
    const said = (await answer.text()).slice(0, 200);
    const error = new ProductError('source_failed', `${url} answered ${answer.status}: ${said}`);
    // What the service refuses now it will refuse again; what it could not do it may do later.
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429 && answer.status !== 408) {
      throw new AbortError(error);
    }
    throw error;
  }
}
