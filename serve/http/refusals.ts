import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { dialectOf } from './dialects.ts';
import { HttpError } from './errors.ts';

// What every path refuses alike, in the dialect of its scope and before a body is read.

interface ServedPath {
  /** The scope whose hooks and errors the path has. */
  readonly scope: FastifyInstance;
  readonly methods: Set<string>;
}

/**
 * Follows the routes that are registered from now on. The returned function, called after the last of them, makes
 * every path answer the methods that it does not have with 405 and those that it has, and OPTIONS with those alone
 * (RFC 9110 §9.3.7), also where another route answers preflights.
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
    // Files of plugins stand under a prefix.
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
  const tell = async (_request: FastifyRequest, reply: FastifyReply) => reply.code(204).send();
  // Before the hooks that refuse forms of other origins.
  scope.options(url, { schema, onRequest: tell }, tell);
}

/** Answers a request whose path the router cannot read, so that no route's scope answers it. */
export function refusePath({ statusCode }: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const refusal =
    statusCode === 414
      ? new HttpError('bad_request', 'A part of the path is too long.', {}, 414)
      : new HttpError('bad_request', 'The path must be percent-encoded UTF-8.');
  dialectOf(request.url).send(refusal, request, reply.code(refusal.status));
}

/** A compressed body is refused, since nothing here would decompress it (RFC 9110 §15.5.16). */
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
