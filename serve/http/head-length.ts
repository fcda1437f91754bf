import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/**
 * Fastify tells HEAD the length of what its route would send. A length that is told has to be that of the answer to GET
 * (RFC 9110 §8.6): the routes that are added afterwards leave out one that `differs`.
 */
export function leaveLengthOut(
  scope: FastifyInstance,
  differs: (request: FastifyRequest, reply: FastifyReply) => boolean,
): void {
  scope.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') return;
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (request, reply, payload, next) => {
        if (differs(request, reply)) reply.removeHeader('content-length');
        next(null, payload);
      },
    ];
  });
}
