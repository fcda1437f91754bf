import { readFileSync } from 'node:fs';
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import swaggerUi, { type FastifySwaggerUiOptions } from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { constantJson } from './constant-answer.ts';
import { compressAnswers } from './content-codings.ts';
import { openApiTransforms } from './openapi-transform.ts';

const DESCRIPTION =
  'Daily and monthly metrics of relay chains and the chains attached to them. The data are public, but use requires attribution. They are provided as they are, without guarantee of accuracy, completeness or timeliness.';

/** Swagger UI sets no viewport for phones. */
const VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">';
/** Links from Swagger UI to the other pages. */
const SITE = `<nav class="site" aria-label="Chain Metrics"><a href="/">Chain Metrics</a><a href="/charts">Metrics</a><a href="/docs/guides">Guides</a><a href="/openapi.json">OpenAPI document</a><a href="/profile/keys">API keys</a></nav>`;
/** Swagger UI is blank without JavaScript. */
const WITHOUT_SCRIPT = `<noscript><h1>Chain Metrics API</h1>
<p>This page needs JavaScript to list and try the operations of the API. Without it, use:</p>
<ul><li><a href="/openapi.json">The OpenAPI document</a>, as <a href="/docs/yaml">YAML</a> too</li>
<li><a href="/docs/guides/api">The guide of the API</a> and <a href="/docs/guides">all guides</a></li>
<li><a href="/charts">Every metric</a> with its definition and calls of the API</li></ul></noscript>`;

/** Long responses are not wrapped: wrapping and hyphenating megabytes would freeze the page for seconds. */
const STYLES = `.swagger-ui .topbar { display: none }
nav.site { display: flex; flex-wrap: wrap; gap: 8px 20px; padding: 12px 20px; background: #1d1825; font: 15px/1.5 system-ui, sans-serif }
nav.site a { color: #fff }
nav.site a:first-child { font-weight: 600; text-decoration: none }
noscript { display: block; padding: 1rem; font: 16px/1.6 sans-serif }
.swagger-ui .highlight-code .microlight { white-space: pre; hyphens: none; word-break: normal; overflow-wrap: normal }
.swagger-ui .code-samples details { padding: 8px 20px }
.swagger-ui .code-samples summary { cursor: pointer; font-family: sans-serif; font-size: 14px }
.swagger-ui .code-samples pre { margin: 8px 0 0; overflow-x: auto; white-space: pre }`;

const SAMPLES_PLUGIN = readFileSync(new URL('code-samples/samples-plugin.js', import.meta.url), 'utf8');
/** Serialized into a script of the page. The first is Swagger UI's default plugin, which a custom list replaces. */
const PLUGINS: Plugin[] = [
  (system) => SwaggerUIBundle.plugins.DownloadUrl(system),
  (system) => samplesPlugin(system),
];
type Plugin = NonNullable<NonNullable<FastifySwaggerUiOptions['uiConfig']>['plugins']>[number];
declare const SwaggerUIBundle: { readonly plugins: { readonly DownloadUrl: Plugin } };
declare const samplesPlugin: Plugin;

const INTERFACE: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  staticCSP: true,
  // `upgrade-insecure-requests` breaks the page without TLS, and with TLS its URLs use it anyway.
  transformStaticCSP: (policy) => policy.replace(/ upgrade-insecure-requests;?/, ''),
  // Syntax highlighting of megabytes would freeze the page for many seconds.
  uiConfig: {
    docExpansion: 'list',
    deepLinking: true,
    displayRequestDuration: true,
    syntaxHighlight: false,
    plugins: PLUGINS,
  },
  theme: {
    title: 'Chain Metrics API',
    css: [{ filename: 'theme.css', content: STYLES }],
    js: [{ filename: 'samples-plugin.js', content: SAMPLES_PLUGIN }],
  },
};

/** Version of the API contract, fixed by the specification. It is not the package version. */
const API_VERSION = '0.1.1';

const DOCUMENT: NonNullable<FastifyDynamicSwaggerOptions['openapi']> = {
  openapi: '3.1.0',
  info: {
    title: 'Chain Metrics Data API',
    version: API_VERSION,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    description: DESCRIPTION,
  },
  servers: [{ url: '/', description: 'This server' }],
  components: {
    securitySchemes: {
      key: {
        type: 'http',
        scheme: 'bearer',
        description:
          'API key or access token; lifts the rate limit. A personal access token may come as PRIVATE-TOKEN instead',
      },
      integrationKey: { type: 'http', scheme: 'bearer', description: 'Key of an alert integration' },
      integrationKeyBasic: {
        type: 'http',
        scheme: 'basic',
        description: 'The same key as the password of a blank user name',
      },
    },
  },
  security: [{}, { key: [] }],
  tags: [
    { name: 'Metrics', description: 'Rows of metrics, as JSON, CSV, NDJSON, Parquet or Arrow' },
    { name: 'About the data', description: 'Definitions, freshness and gaps' },
    { name: 'OAuth 2.0', description: 'Tokens, and the user behind them' },
    { name: 'Alert intake', description: 'Webhooks that monitoring tools send alerts to' },
    { name: 'Alerts', description: 'Alerts, their notes, incidents and analytics' },
    { name: 'Alert integrations', description: 'Sources of alerts, with their keys and mappings' },
    { name: 'On call', description: 'Schedules, escalation policies, and how people are paged' },
    { name: 'Projects', description: 'Projects, their members and webhooks' },
    { name: 'For operators', description: 'Health probes and metrics for Prometheus' },
  ],
};

/** Serves the OpenAPI document and Swagger UI. The `notice` precedes the description. */
export async function serveDocs(
  app: FastifyInstance,
  notice: string | null,
  origin: () => string,
): Promise<void> {
  const description = notice === null ? DESCRIPTION : `**${notice}** ${DESCRIPTION}`;
  await app.register(swagger, {
    openapi: { ...DOCUMENT, info: { ...DOCUMENT.info, description } } as typeof DOCUMENT,
    ...openApiTransforms(origin),
  });
  await app.register(async (docs) => {
    docs.addHook('onSend', async (_, reply, payload) =>
      typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html')
        ? payload.replace('<head>', `<head>${VIEWPORT}`).replace('<body>', `<body>${SITE}${WITHOUT_SCRIPT}`)
        : payload,
    );
    docs.addHook('onRequest', async (_, reply) => {
      reply.header('vary', 'accept-encoding');
    });
    await compressAnswers(docs);
    await docs.register(swaggerUi, INTERFACE);
  });
  const answer = constantJson(() => app.swagger());
  app.get('/openapi.json', { schema: { hide: true } }, (request, reply) => answer.send(request, reply));
}
