import { lookup } from 'node:dns';
import { Agent as PlainAgent, request as requestPlain } from 'node:http';
import { request as requestSecure, Agent as SecureAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { parseRetryAfter } from '../../../infra/retry-after.ts';
import { isPublicAddress } from './public-address.ts';

// Sends POST requests to URLs that project members configure, so a URL may point into a private network.

/** Timeout of a request. */
export const POST_MS_MAX = 10_000;
const RESPONSE_BYTES_MAX = 64 * 1024;
/** Bytes of a response that are returned. */
const SHOWN_BYTES_MAX = 4 * 1024;

/** Refuses an address in a private network, because members must not reach it through this server. */
export class PrivateAddressError extends Error {
  constructor() {
    super('the address is private; set ALERT_PRIVATE_TARGETS=true to allow addresses of your own network');
  }
}

/** Checks the resolved addresses that the socket connects to, so that a second DNS lookup cannot change them. */
const publicOnly =
  (resolve: typeof lookup): LookupFunction =>
  (host, options, done) =>
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '', 0);
      const [first] = found;
      if (first === undefined || !found.every(({ address }) => isPublicAddress(address)))
        return done(new PrivateAddressError(), '', 0);
      if (options.all) return done(null, found);
      done(null, first.address, first.family);
    });

interface ConnectionOptions {
  readonly allowsPrivate: boolean;
  /** DNS resolver; by default that of the system. */
  readonly resolve?: typeof lookup;
}

/** Reusable connections to one URL. The address is checked when a connection is opened. */
export class TargetConnections {
  readonly url: URL;
  readonly agent: PlainAgent;
  readonly allowsPrivate: boolean;

  constructor(url: string, { allowsPrivate, resolve = lookup }: ConnectionOptions) {
    this.url = new URL(url);
    this.allowsPrivate = allowsPrivate;
    const options = { keepAlive: true, ...(allowsPrivate ? {} : { lookup: publicOnly(resolve) }) };
    this.agent = this.url.protocol === 'https:' ? new SecureAgent(options) : new PlainAgent(options);
  }

  close(): void {
    this.agent.destroy();
  }
}

interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PostResponse {
  /** Status of the response; 0 if there was none. */
  readonly status: number;
  /** Retry delay that the receiver asks for; 0 for none. */
  readonly retryAfterMs: number;
  /** The beginning of the response. */
  readonly answer: string;
}

/** Does not follow redirects, because only the configured URL may receive the body. */
export async function post(connections: TargetConnections, request: Post): Promise<PostResponse> {
  const { url, allowsPrivate } = connections;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!allowsPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw new PrivateAddressError();
  try {
    return await send(connections, request);
  } catch (error) {
    // The receiver closed an idle connection, so it has not seen the request.
    if (error instanceof UnusedConnectionClosed) return send(connections, request);
    throw error;
  }
}

class UnusedConnectionClosed extends Error {}

function send({ url, agent }: TargetConnections, { headers, body }: Post): Promise<PostResponse> {
  const start = url.protocol === 'https:' ? requestSecure : requestPlain;
  return new Promise((done, failed) => {
    const request = start(
      url,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Chain-Metrics',
          ...headers,
        },
        signal: AbortSignal.timeout(POST_MS_MAX),
        agent,
      },
      (response) => {
        const { statusCode: status = 0 } = response;
        const retryAfterMs = parseRetryAfter(response.headers['retry-after']) ?? 0;
        let bytes = 0;
        const shown: Buffer[] = [];
        const end = () => done({ status, retryAfterMs, answer: Buffer.concat(shown).toString() });
        response.on('data', (chunk: Buffer) => {
          if (bytes < SHOWN_BYTES_MAX) shown.push(chunk.subarray(0, SHOWN_BYTES_MAX - bytes));
          bytes += chunk.length;
          if (bytes > RESPONSE_BYTES_MAX) response.destroy();
        });
        response.on('close', end);
        response.on('error', end);
      },
    );
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      failed(isStale ? new UnusedConnectionClosed(error.message) : error);
    });
    request.end(body);
  });
}
