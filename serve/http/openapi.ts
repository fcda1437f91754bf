import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

const DOCUMENT: NonNullable<FastifyDynamicSwaggerOptions['openapi']> = {
  openapi: '3.1.0',
  info: {
    title: 'Chain Metrics Data API',
    version: '0.1.1',
    description:
      'Daily and monthly metrics of relay chains and the chains attached to them. Data are public; use of them requires attribution. They come as they are, without guarantee of accuracy, completeness or timeliness.',
  },
  components: {
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'API key; lifts the rate limit' },
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
    { name: 'Metrics' },
    { name: 'About the data' },
    { name: 'Alert intake' },
    { name: 'Alerts' },
    { name: 'Alert integrations' },
    { name: 'Projects' },
    { name: 'For operators' },
  ],
};

/** The OpenAPI document, made from the same definitions as the routes, and a page to try them on. */
export async function serveDocs(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: DOCUMENT,
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `def-${i}`) },
  });
  app.addSchema({
    $id: 'ValidationError',
    description: 'Everything that is wrong with the parameters',
    type: 'object',
    properties: {
      detail: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            type: { type: 'string' },
            loc: { type: 'array', items: { type: 'string' } },
            msg: { type: 'string' },
          },
          required: ['type', 'loc', 'msg'],
        },
      },
    },
    required: ['detail'],
  });
  app.addSchema({
    $id: 'Problem',
    description: 'An error as of RFC 9457',
    type: 'object',
    properties: {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    uiConfig: { docExpansion: 'list', deepLinking: true, displayRequestDuration: true },
    theme: {
      title: 'Chain Metrics API',
      css: [{ filename: 'theme.css', content: '.swagger-ui .topbar { display: none }' }],
    },
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}
