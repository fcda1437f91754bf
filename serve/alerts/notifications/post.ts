import { lookup as resolve } from 'node:dns';
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';

// Posts to addresses that members of a project wrote, which may be any.

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/** This machine, its neighbours and what clouds tell their machines. */
const PRIVATE = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  PRIVATE.addSubnet(net, bits, 'ipv4');
}
for (const [net, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const) {
  PRIVATE.addSubnet(net, bits, 'ipv6');
}

export function isPrivate(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return PRIVATE.check(mapped, 'ipv4');
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const refusal = () =>
  new Error('the address is a private one; ALERT_PRIVATE_TARGETS=true allows those of your own network');

/** Looks at the address that is connected to, so that a name cannot mean another one the second time. */
const publicOnly: LookupFunction = (host, options, done) =>
  resolve(host, { ...options, all: true }, (error, found) => {
    if (error) return done(error, '', 0);
    const [first] = found;
    if (first === undefined || found.some(({ address }) => isPrivate(address))) return done(refusal(), '', 0);
    if (options.all) return done(null, found);
    done(null, first.address, first.family);
  });

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly allowsPrivate: boolean;
}

/** The status of the answer. Redirects are not followed: nobody else gets what was meant for this address. */
export function post({ url, headers, body, allowsPrivate }: Post): Promise<number> {
  const target = new URL(url);
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (!allowsPrivate && isIP(host) !== 0 && isPrivate(host)) return Promise.reject(refusal());
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
        ...(allowsPrivate ? {} : { lookup: publicOnly }),
      },
      (answer) => {
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > ANSWER_BYTES_MAX) answer.destroy();
        });
        answer.on('close', () => done(answer.statusCode ?? 0));
        answer.on('error', () => done(answer.statusCode ?? 0));
      },
    );
    request.on('error', failed);
    request.end(body);
  });
}
