import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CORS_HEADERS } from './cross-origin.ts';
import { dialectOf } from './dialects.ts';
import { HttpError } from './errors.ts';

// Rejects invalid requests to any path, in the error format of its scope and before a body is read.
interface ServedPath {
  /** The scope that the path belongs to. */
  readonly scope: FastifyInstance;
  readonly methods: Set<string>;
}

/**
 * Answers other methods of a path with 405 and an `Allow` header, and OPTIONS with `Allow` (RFC 9110 §9.3.7). Call it
 * before the routes are registered, and the returned function after the last one.
 */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  const paths = new Map<string, ServedPath>();
  const allowed = new Map<string, string>();
  app.addHook('onRequest', (request, reply, next) => {
    const allow = request.method === 'OPTIONS' ? allowed.get(request.routeOptions.url ?? '') : undefined;
    if (allow !== undefined) reply.header('allow', allow);
    next();
  });
  app.addHook('onRoute', function (route) {
    // Plugins serve their files under a prefix.
    if (route.prefix !== '' || route.url.includes('*')) return;
    const path = paths.get(route.url) ?? { scope: this, methods: new Set<string>() };
    for (const method of [route.method].flat()) path.methods.add(method);
    paths.set(route.url, path);
  });
  return () => {
    for (const [url, { scope, methods }] of [...paths]) {
      const allow = [...new Set([...methods, 'OPTIONS'])].sort().join(', ');
      allowed.set(url, allow);
      refuseOthers(url, { scope, methods }, allow);
    }
  };
}

function refuseOthers(url: string, { scope, methods }: ServedPath, allow: string): void {
  const refusal = () => {
    throw new HttpError('method_not_allowed', `Method Not Allowed. Use ${allow}.`, { allow });
  };
  const schema = { hide: true };
  const others = scope.supportedMethods.filter((method) => method !== 'OPTIONS' && !methods.has(method));
  scope.route({ method: others, url, schema, onRequest: refusal, handler: refusal });
  if (methods.has('OPTIONS')) return;
  const sendAllow = async (_request: FastifyRequest, reply: FastifyReply) => reply.code(204).send();
  // Runs in onRequest, before the hooks that reject forms of other origins.
  scope.options(url, { schema, onRequest: sendAllow }, sendAllow);
}

/** Answers a request whose path the router cannot decode. No scope handles such an error. */
export function refusePath({ statusCode }: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const refusal =
    statusCode === 414
      ? new HttpError('bad_request', 'A part of the path is too long.', {}, 414)
      : new HttpError('bad_request', 'The path must be percent-encoded UTF-8.');
  dialectOf(request.url).send(refusal, request, reply.code(refusal.status));
}

/** Responses to errors of Node's HTTP parser; every other error is invalid HTTP. */
const UNREADABLE: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time; send all of it at once.'],
  HPE_HEADER_OVERFLOW: [431, 'The head of the request is too large; send fewer parameters and headers.'],
};
const NO_HTTP = [400, 'The request is no valid HTTP/1.1.'] as const;

/** Node exposes the response in progress only in this private field. */
type Answering = Socket & { readonly _httpMessage?: { readonly headersSent: boolean } | null };

/**
 * Answers a request that Node cannot parse. The path is unknown, so the body has the error fields of every API at once.
 * CORS headers are omitted after a timeout (408): its head may name a path that other origins must not read.
 */
export function refuseUnreadable(error: ConnectionError, socket: Answering): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const [status, detail] = UNREADABLE[error.code] ?? NO_HTTP;
  const title = STATUS_CODES[status];
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, error: title, message: detail });
  const headers = {
    ...(status === 408 ? {} : CORS_HEADERS),
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // Do not write into the middle of an earlier response.
  if (socket.writable && !socket._httpMessage?.headersSent)
    socket.write(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`);
  socket.destroy(error);
}

/** Rejects compressed bodies, because the server decompresses none (RFC 9110 §15.5.16). */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, next) => {
    const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? '';
    if (coding === '' || coding === 'identity') return next();
    next(
      new HttpError('unsupported_media_type', 'Send the body without Content-Encoding.', {
        'accept-encoding': 'identity',
      }),
    );
  });
}
