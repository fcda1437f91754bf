import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/**
 * Omits Content-Length from HEAD responses of routes that are added later, if it `differs` from that of GET. RFC 9110
 * §8.6 requires the same length, and Fastify sends the length of the body before compression.
 */
export function omitContentLength(
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
