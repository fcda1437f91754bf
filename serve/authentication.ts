import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

/** A key that nobody was given is refused, never taken for an anonymous call. */
export function refuseUnknownKeys(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, next) => {
    if (request.headers.authorization === undefined) return next();
    next(
      new HttpError(401, 'This API key is unknown or was revoked.', {
        'www-authenticate': 'Bearer error="invalid_token"',
      }),
    );
  });
}
