import { parseRetryAfter } from '../../infra/retry-after.ts';
import { readBody, reasonOfNetwork, TooLong } from '../sources/http-source.ts';
import {
  bodyOf,
  failureOfStatus,
  RequestFailure,
  type RpcReply,
  type RpcRequest,
  repliesOf,
  type Transport,
  type TransportLimits,
} from './transport.ts';

const EXCERPT_BYTES = 200;

/** Sends each request by HTTP POST. */
export class HttpTransport implements Transport {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #limits: TransportLimits;

  constructor(address: URL, limits: TransportLimits) {
    const url = new URL(address);
    const { username, password } = url;
    const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
    // `fetch` refuses a URL with a username or password.
    [url.username, url.password] = ['', ''];
    this.#url = url.href;
    this.#headers = {
      'content-type': 'application/json',
      ...(username === '' ? {} : { authorization: `Basic ${credentials.toString('base64')}` }),
    };
    this.#limits = limits;
  }

  async exchange(requests: readonly RpcRequest[], timeoutMs: number): Promise<readonly RpcReply[]> {
    const { answerBytes, signal } = this.#limits;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers: this.#headers,
        body: bodyOf(requests),
        redirect: 'manual',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      const bytes = await readBody(answer, answerBytes);
      if (answer.ok) return repliesOf(bytes.toString('utf8'));
      const excerpt = bytes.toString('utf8', 0, EXCERPT_BYTES).replace(/\s+/g, ' ').trim();
      const waitMs = parseRetryAfter(answer.headers.get('retry-after'));
      throw failureOfStatus(answer.status, `answered ${answer.status}: ${excerpt}`, waitMs);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof RequestFailure) throw error;
      if (error instanceof TooLong) throw new RequestFailure('large', `answered ${error.message}`);
      throw new RequestFailure(
        'lost',
        timeout.aborted
          ? `did not answer within ${timeoutMs / 1000} s`
          : `cannot be reached: ${reasonOfNetwork(error)}`,
      );
    }
  }
}
