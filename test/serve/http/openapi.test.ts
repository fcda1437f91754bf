import { brotliDecompressSync, gunzipSync, gzipSync, zstdDecompressSync } from 'node:zlib';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey } from '../../../serve/accounts/keys.ts';
import { createUser } from '../../../serve/accounts/users.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { allNames } from '../metrics/contract-client.ts';
import { ENDPOINTS, OUR_PATHS } from '../metrics/endpoints.ts';

/** Paths of the identity provider and of alerts. */
const ELSEWHERE = /^\/(?:api\/v4|alerts|v2|oauth|\.well-known)\//;

interface Content {
  readonly schema?: object;
  readonly example?: unknown;
  readonly examples?: object;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: { readonly enum?: string[]; readonly type?: string; readonly format?: string };
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly operationId: string;
  readonly requestBody?: { readonly required?: boolean; readonly content: Record<string, Content> };
  readonly responses: Record<string, { readonly content?: Record<string, Content> }>;
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
}

const DECODERS = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync };

let pipeline: TestPipeline;
let app: FastifyInstance;
let source: string;
let document: Document;

beforeAll(async () => {
  pipeline = await openTestPipeline();
  app = await buildServer(pipeline.pipeline);
  source = (await app.inject('/openapi.json')).body;
  document = JSON.parse(source);
});
afterAll(async () => {
  await app.close();
  await pipeline.close();
});

it.each(['/openapi.json', '/api/metrics'])('%s is not sent again to who has it', async (url) => {
  for (const coding of ['identity', 'br']) {
    const headers = { 'accept-encoding': coding };
    const { etag } = (await app.inject({ url, headers })).headers;
    const again = await app.inject({ url, headers: { ...headers, 'if-none-match': String(etag) } });
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag]);
    const other = coding === 'br' ? 'gzip' : 'br';
    const changed = { 'accept-encoding': other, 'if-none-match': String(etag) };
    expect((await app.inject({ url, headers: changed })).statusCode).toBe(200);
  }
});

it.each(['/openapi.json', '/api/metrics', '/docs', '/docs/json', '/docs/static/swagger-ui-bundle.js'])(
  '%s is compressed for clients that accept it',
  async (url) => {
    const plain = await app.inject(url);
    expect(plain.headers.vary).toMatch(/^accept-encoding$/i);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    for (const [coding, decode] of Object.entries(DECODERS)) {
      const { headers, rawPayload } = await app.inject({ url, headers: { 'accept-encoding': coding } });
      expect(headers['content-encoding']).toBe(coding);
      expect(headers.vary).toMatch(/^accept-encoding$/i);
      expect(rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
      expect(decode(rawPayload).equals(plain.rawPayload), coding).toBe(true);
    }
  },
);

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  );
const allowedBy = ({ headers }: LightMyRequestResponse) => String(headers.allow).split(', ').sort();

/** What a request to an alert path needs: headers, and names of what is there by their parameters. */
async function signedIn() {
  const accounts = pipeline.pipeline.accounts();
  const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
  const key = { name: 'test', scopes: ['api' as const], expires_ms: 0 };
  const { text } = await createKey(accounts, user, 'personal', key);
  const own = { authorization: `Bearer ${text}` };
  const post = async (url: string, payload: object) =>
    (await app.inject({ method: 'POST', url: `/api/v4/projects${url}`, headers: own, payload })).json();
  const { id } = await post('', { name: 'Watch' });
  const integration = await post(`/${id}/integrations`, { type: 'HTTP', name: 'Tool' });
  const hook = await post(`/${id}/hooks`, { url: 'https://example.org/hook' });
  const steps = [{ targets: [{ type: 'user', id: user.id }], delay_minutes: 5 }];
  const policy = await post(`/${id}/escalation_policies`, { name: 'Night', steps });
  const endpoint = new URL(integration.url).pathname.split('/')[2];
  return {
    headers: (path: string) =>
      path.startsWith('/alerts/')
        ? { authorization: `Bearer ${integration.authorization_key}`, 'content-type': 'application/json' }
        : own,
    names: {
      ...{ id: String(id), endpoint, integration_id: integration.id, hook_id: hook.id },
      policy_id: policy.id,
    } as Record<string, string>,
  };
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const hasExample = ({ example, examples }: Content) => example !== undefined || examples !== undefined;

let requests = 0;
/** From an address of its own, so that no limit applies. */
const send = (method: string, path: string, more: InjectOptions = {}): Promise<LightMyRequestResponse> =>
  app.inject({
    method: method as 'GET',
    url: path.replace(/\{\w+\}/g, '1'),
    remoteAddress: `10.0.${requests >> 8}.${requests++ & 255}`,
    ...more,
  });

describe('the OpenAPI document', () => {
  it('says which operations need a body, and those refuse a request without one', async () => {
    const { headers, names } = await signedIn();
    const needing = operations().filter(({ operation }) => operation.requestBody?.required);
    expect(needing.length).toBeGreaterThan(15);
    for (const { name } of needing) {
      const [method = '', path = ''] = name.split(' ');
      const url = path.replace(/\{(\w+)\}/g, (_all, parameter: string) => names[parameter] ?? '1');
      const reply = await app.inject({ method: method as 'PUT', url, headers: headers(path) });
      const { message, error } = reply.json();
      // OAuth asks who the client is first.
      const isRefused = path.startsWith('/oauth/') ? [400, 401] : [400, 422];
      expect([name, isRefused.includes(reply.statusCode), message ?? error]).toEqual([
        name,
        true,
        expect.any(String),
      ]);
    }
  });

  it('passes the recommended rules of redocly', async () => {
    const config = await createConfig({
      extends: ['recommended'],
      // Probes and the metrics for Prometheus take no parameters that could be wrong.
      rules: { 'operation-4xx-response': 'off' },
    });
    const problems = await lintFromString({ source, config, absoluteRef: '/openapi.json' });
    expect(
      problems.map(({ severity, ruleId, message, location }) => ({
        severity,
        ruleId,
        message,
        at: location[0]?.pointer,
      })),
    ).toEqual([]);
  });

  it('is the one that was agreed on, path by path', async () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      await expect(json(methods)).toMatchFileSnapshot(`openapi/paths${path}.snapshot.json`);
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      await expect(json(schema)).toMatchFileSnapshot(`openapi/schemas/${name}.snapshot.json`);
    }
    const { paths, components, ...rest } = document;
    await expect(json({ ...rest, paths: Object.keys(paths) })).toMatchFileSnapshot(
      'openapi/document.snapshot.json',
    );
  });

  it('has an example of every body', () => {
    const without = operations().flatMap(({ name, operation: { requestBody, responses } }) => [
      ...Object.entries(requestBody?.content ?? {})
        .filter(([, body]) => !hasExample(body))
        .map(([type]) => `${name}: request as ${type}`),
      ...Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([status, { content = {} }]) =>
          Object.entries(content)
            .filter(([type, body]) => !type.includes('apache') && !hasExample(body))
            .map(([type]) => `${name}: ${status} as ${type}`),
        ),
    ]);
    expect(without).toEqual([]);
  });

  it('has the described paths and ours, and no others', () => {
    const own = Object.entries(document.paths).filter(([path]) => !ELSEWHERE.test(path));
    expect(own.map(([path]) => path).sort()).toEqual(
      [...ENDPOINTS.map(({ path }) => path), ...OUR_PATHS].sort(),
    );
    for (const [path, methods] of own) expect(Object.keys(methods), path).toEqual(['get']);
  });

  it.each(ENDPOINTS)('describes $path with the same parameters, each as required as it is', (endpoint) => {
    const described = document.paths[endpoint.path]?.get?.parameters ?? [];
    expect(described.map(({ name }) => name).sort()).toEqual(allNames(endpoint).sort());
    for (const parameter of described) {
      expect(parameter.in).toBe('query');
      const declared = endpoint.parameters[parameter.name];
      expect(parameter.required ?? false, parameter.name).toBe(declared?.required ?? false);
      if (declared?.values)
        expect([...(parameter.schema.enum ?? [])].sort()).toEqual([...declared.values].sort());
      if (declared?.type === 'date')
        expect(parameter.schema).toMatchObject({ type: 'string', format: 'date' });
      if (declared?.type === 'integer') expect(parameter.schema.type).toBe('integer');
    }
  });

  it('and the catalogue define every field of every metric in the same words', async () => {
    const schemas = document.components.schemas as Record<string, { properties: Record<string, object> }>;
    for (const { record, definition, fields } of (await send('GET', '/api/metrics')).json()) {
      expect(definition.length).toBeGreaterThan(20);
      for (const { name, title, meaning, unit } of fields) {
        expect(meaning, `${record}.${name}`).not.toBe('');
        const said = { title, description: meaning, ...(unit && { 'x-unit': unit }) };
        expect(schemas[record]?.properties[name], `${record}.${name}`).toMatchObject(said);
      }
    }
  });

  it('and the schema of files name the columns of every metric alike', async () => {
    for (const { path, fields } of (await send('GET', '/api/metrics')).json()) {
      const name = path.replace('/api/', '').replaceAll('/', '-');
      const schema = (await send('GET', `/api/metrics/${name}/schema`)).json();
      expect(schema.fields, path).toMatchObject(
        fields.map(({ name, title, meaning, unit, nullable }: Record<string, unknown>) => ({
          ...{ name, title, description: meaning, unit, constraints: { required: !nullable } },
        })),
      );
    }
    const { primaryKey } = (await send('GET', '/api/metrics/monthly-gov-participation/schema')).json();
    expect(primaryKey).toEqual(['month', 'relay_chain', 'chain', 'vote_type']);
    const { fields, ...rewards } = (await send('GET', '/api/metrics/daily-staking-rewards/schema')).json();
    expect(rewards).not.toHaveProperty('primaryKey');
    const types = new Map(fields.map(({ name, type }: { name: string; type: string }) => [name, type]));
    expect(['date', 'account', 'reward', 'reward_planck', 'era_min'].map((name) => types.get(name))).toEqual([
      ...['date', 'string', 'number', 'string', 'integer'],
    ]);
    const unknown = await send('GET', '/api/metrics/daily-fess/schema');
    expect([unknown.statusCode, unknown.body]).toEqual([404, expect.stringContaining('daily-fees')]);
  });

  it.each(ENDPOINTS)('names the record of $path', ({ record }) => {
    expect(source).toContain(record);
  });
});

describe('every described path', () => {
  it('answers a method that it does not have with 405 and those that it has', async () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const described = Object.keys(methods).map((method) => method.toUpperCase());
      const served = described.includes('GET') ? [...described, 'HEAD'] : described;
      const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY'];
      for (const method of others.filter((one) => !served.includes(one))) {
        const answer = await send(method, path);
        const at = `${method} ${path}: ${answer.body}`;
        expect(answer.statusCode, at).toBe(405);
        expect(allowedBy(answer), at).toEqual([...served, 'OPTIONS'].sort());
        expect(answer.headers['content-type'], at).toMatch(/^application\/(problem\+)?json/);
      }
      const options = await send('OPTIONS', path);
      expect([options.statusCode < 300, options.body], path).toEqual([true, '']);
      expect(allowedBy(options), path).toEqual([...served, 'OPTIONS'].sort());
    }
  });

  it.each(['/', '/charts', '/sign-in', '/profile/keys', '/oauth/authorize', '/health/ready'])(
    '%s also tells by OPTIONS what it allows, and a path that is none does not',
    async (page) => {
      const options = await send('OPTIONS', page);
      expect([options.statusCode, options.body]).toEqual([204, '']);
      // HEAD there would issue a code.
      const reading = page === '/oauth/authorize' ? ['GET'] : ['GET', 'HEAD'];
      expect(allowedBy(options)).toEqual(expect.arrayContaining([...reading, 'OPTIONS']));
      const none = await send('OPTIONS', `/none${page}`);
      expect([none.statusCode, none.headers.allow]).toEqual([404, undefined]);
    },
  );

  it('refuses a compressed body with 415, before it asks who sends it', async () => {
    for (const { name, operation } of operations().filter(({ operation }) => operation.requestBody)) {
      const [method = '', path = ''] = name.split(' ');
      const [type = ''] = Object.keys(operation.requestBody?.content ?? {});
      for (const coding of ['gzip', 'br', 'Deflate', 'gzip, identity']) {
        const answer = await send(method.toUpperCase(), path, {
          headers: { 'content-type': type, 'content-encoding': coding },
          payload: gzipSync('{}'),
        });
        expect(answer.statusCode, `${name}: ${answer.body}`).toBe(415);
        expect(answer.headers['accept-encoding']).toBe('identity');
      }
    }
  });
});
