import type { FastifyInstance } from 'fastify';
import type { HttpSettings } from './settings.ts';

type Addresses = Pick<HttpSettings, 'HOST' | 'PORT'>;

/**
 * The public base URL without a trailing slash: PUBLIC_URL, or else the address on which this process listens. It is
 * never taken from a request, because request headers are not trusted.
 */
export function publicUrl(
  app: FastifyInstance,
  config: Addresses & { readonly PUBLIC_URL?: string | undefined },
): string {
  return config.PUBLIC_URL ?? listeningUrl(app, config);
}

/** The URL on which this process listens, as a browser on the same machine can open it. */
export function listeningUrl(app: FastifyInstance, { HOST, PORT }: Addresses): string {
  const address = app.server.address();
  const port = typeof address === 'object' && address ? address.port : PORT;
  const host = ['0.0.0.0', '::'].includes(HOST) ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return `http://${host}:${port}`;
}
