import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

const TYPES = {
  'style.css': 'text/css; charset=utf-8',
  'wallet.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

type Asset = keyof typeof TYPES;

const assets = new Map(
  Object.entries(TYPES).map(([name, type]) => {
    const body = readFileSync(new URL(`./assets/${name}`, import.meta.url));
    return [name, { type, body, version: hash('sha256', body, 'hex').slice(0, 12) }] as const;
  }),
);

/** The URL contains a hash of the content, so that browsers can cache it forever. */
export const assetUrl = (name: Asset): string => `/assets/${assets.get(name)?.version}/${name}`;

/** Serves the style sheet, scripts and icon of the pages. */
export function serveAssets(app: FastifyInstance): void {
  app.get<{ Params: { version: string; name: string } }>(
    '/assets/:version/:name',
    { schema: { hide: true } },
    (request, reply) => {
      const asset = assets.get(request.params.name);
      if (asset === undefined || asset.version !== request.params.version) return reply.callNotFound();
      return reply
        .type(asset.type)
        .header('cache-control', 'public, max-age=31536000, immutable')
        .header('x-content-type-options', 'nosniff')
        .send(asset.body);
    },
  );
}
