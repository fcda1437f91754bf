import type { FastifyInstance, FastifyReply } from 'fastify';
import { RESOURCE_METADATA_PATH } from '../../accounts/resource.ts';
import { UNDER_LOAD } from '../../http/route.ts';

/** Paths that pages of other origins may call, with the allowed methods. */
const CROSS_ORIGIN: Readonly<Record<string, string>> = {
  '/oauth/token': 'POST',
  '/oauth/revoke': 'POST',
  '/oauth/userinfo': 'GET, HEAD, POST',
  '/.well-known/openid-configuration': 'GET, HEAD',
  '/.well-known/oauth-authorization-server': 'GET, HEAD',
  '/oauth/discovery/keys': 'GET, HEAD',
  [RESOURCE_METADATA_PATH]: 'GET, HEAD',
  [`${RESOURCE_METADATA_PATH}/api`]: 'GET, HEAD',
};

/**
 * Cross-origin requests: any origin, without cookies. A preflight may request `Authorization` and no other header.
 * The authorization endpoint does not support CORS (RFC 9700 §2.6).
 */
export function allowCrossOrigin(app: FastifyInstance): void {
  // In onSend, so that pages can also read refusals of the whole server, which run before hooks of this scope.
  app.addHook('onSend', (request, reply, payload, next) => {
    if (Object.hasOwn(CROSS_ORIGIN, request.routeOptions.url ?? '')) allowOrigin(reply);
    next(null, payload);
  });
  for (const [path, methods] of Object.entries(CROSS_ORIGIN)) {
    app.options(path, { config: { ...UNDER_LOAD } }, (request, reply) => {
      const wanted = String(request.headers['access-control-request-headers'] ?? '').toLowerCase();
      const wantsAuthorization = wanted.split(',').some((name) => name.trim() === 'authorization');
      reply.header('access-control-allow-methods', methods).header('access-control-max-age', '600');
      if (wantsAuthorization) reply.header('access-control-allow-headers', 'Authorization');
      return reply.code(200).send();
    });
  }
}

function allowOrigin(reply: FastifyReply): void {
  reply
    .header('access-control-allow-origin', '*')
    .header('access-control-expose-headers', 'WWW-Authenticate');
}
