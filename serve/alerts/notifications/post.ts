import { lookup as resolve } from 'node:dns';
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from './public-address.ts';

// Sends POST requests to URLs that project members configure. Such a URL may lead anywhere.

const TIMEOUT_MS = 10_000;
const RESPONSE_BYTES_MAX = 64 * 1024;

const refusal = () =>
  new Error('the address is private; set ALERT_PRIVATE_TARGETS=true to allow addresses of your own network');

/** Checks the resolved addresses that the socket connects to, so that a second DNS lookup cannot change them. */
const lookupPublicOnly: LookupFunction = (host, options, done) =>
  resolve(host, { ...options, all: true }, (error, found) => {
    if (error) return done(error, '', 0);
    const [first] = found;
    if (first === undefined || !found.every(({ address }) => isPublicAddress(address)))
      return done(refusal(), '', 0);
    if (options.all) return done(null, found);
    done(null, first.address, first.family);
  });

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly allowsPrivate: boolean;
}

/** Returns the status of the response. Redirects are not followed: only the configured URL receives the body. */
export function post({ url, headers, body, allowsPrivate }: Post): Promise<number> {
  const target = new URL(url);
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (!allowsPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return Promise.reject(refusal());
  const send = target.protocol === 'https:' ? requestSecure : requestPlain;
  return new Promise((done, failed) => {
    const request = send(
      target,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Chain-Metrics',
          ...headers,
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        agent: false,
        ...(allowsPrivate ? {} : { lookup: lookupPublicOnly }),
      },
      (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > RESPONSE_BYTES_MAX) response.destroy();
        });
        response.on('close', () => done(response.statusCode ?? 0));
        response.on('error', () => done(response.statusCode ?? 0));
      },
    );
    request.on('error', failed);
    request.end(body);
  });
}
