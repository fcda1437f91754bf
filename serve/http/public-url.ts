import type { FastifyInstance } from 'fastify';
import type { HttpSettings } from './settings.ts';

type Addresses = Pick<HttpSettings, 'HOST' | 'PORT'>;

/**
 * The address that people and applications reach the service by, without a slash at its end: the setting, or else
 * where this process listens. Never taken from a request, whose headers are not trusted.
 */
export function publicUrl(
  app: FastifyInstance,
  config: Addresses & { readonly PUBLIC_URL?: string | undefined },
): string {
  return config.PUBLIC_URL ?? listeningUrl(app, config);
}

/** The address on which this process listens, as a person on the same machine can open it. */
export function listeningUrl(app: FastifyInstance, { HOST, PORT }: Addresses): string {
  const address = app.server.address();
  const port = typeof address === 'object' && address ? address.port : PORT;
  const host = ['0.0.0.0', '::'].includes(HOST) ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return `http://${host}:${port}`;
}
