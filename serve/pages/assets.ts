import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { FastifyInstance } from 'fastify';
import { ConstantAnswer } from '../http/constant-answer.ts';

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
} as const;

type AssetName = `${string}${keyof typeof TYPES}`;

/** Files that are served unchanged. */
const FILES: readonly AssetName[] = ['wallet.js', 'copy.js', 'explorer.js', 'icon.svg', 'preview.png'];
/** Entry points, relative to `serve/`, of bundles that are built when the server starts. */
const BUNDLES = {
  'style.css': 'pages/assets/style.css',
  'chart.js': 'console/island/chart.tsx',
  'search.js': 'console/island/search.ts',
  'alerts.js': 'pages/assets/alerts.js',
} as const satisfies Record<AssetName, string>;

const serve = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Builds a bundle. A script that imports styles results in two files, `NAME.js` and `NAME.css`. */
async function bundle(name: string, entry: string): Promise<(readonly [string, Uint8Array])[]> {
  const { outputFiles } = await build({
    entryPoints: [serve(entry)],
    outfile: serve(name),
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'esnext',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
  });
  return outputFiles.map(({ path, contents }) => [path.slice(path.lastIndexOf('/') + 1), contents] as const);
}

const bodies = [
  ...FILES.map((name) => [name, readFileSync(new URL(`./assets/${name}`, import.meta.url))] as const),
  ...(await Promise.all(Object.entries(BUNDLES).map(([name, entry]) => bundle(name, entry)))).flat(),
];

/** The URL contains a hash of the content. */
const FOREVER = 'public, max-age=31536000, immutable';

const assets = new Map(
  bodies.map(([name, body]) => {
    const type = TYPES[name.slice(name.lastIndexOf('.')) as keyof typeof TYPES];
    const answer = new ConstantAnswer(() => body, type, FOREVER);
    return [name, { answer, version: hash('sha256', body, 'hex').slice(0, 12) }] as const;
  }),
);

export function assetUrl(name: AssetName): string {
  const asset = assets.get(name);
  if (asset === undefined) throw new Error(`no asset is called ${name}`);
  return `/assets/${asset.version}/${name}`;
}

/** Serves the style sheets, scripts and icon of the pages. */
export function serveAssets(app: FastifyInstance): void {
  app.get<{ Params: { version: string; name: string } }>(
    '/assets/:version/:name',
    { schema: { hide: true } },
    (request, reply) => {
      const asset = assets.get(request.params.name);
      if (asset === undefined || asset.version !== request.params.version) return reply.callNotFound();
      return asset.answer.send(request, reply.header('x-content-type-options', 'nosniff'));
    },
  );
}
