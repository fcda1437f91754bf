import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** A host name, an IPv4 address or an IPv6 address in brackets, and a port. HTTP/1.0 requests may have none. */
const HOST = /^(?:[\w.~%!$&'()*+,;=-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * Rejects requests with several Host headers or an invalid one (RFC 9112 §3.2): Node uses the first, and a proxy in
 * front may have used the last.
 */
export function refuseInvalidHost(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, next) => {
    const { rawHeaders, headers } = request.raw;
    let hosts = 0;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i];
      if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
    }
    const isClear = hosts <= 1 && HOST.test(headers.host ?? '');
    next(isClear ? undefined : new HttpError('bad_request', 'The request needs one valid Host header.'));
  });
}
