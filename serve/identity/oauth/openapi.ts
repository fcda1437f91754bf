import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { describeRoute, type ResponseDescription } from '../../http/route.ts';

/** An endpoint in the OpenAPI document. */
interface EndpointDescription {
  readonly summary: string;
  readonly description?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly required?: readonly string[];
  /** An example of the form. */
  readonly request?: Readonly<Record<string, string>>;
  readonly answer: unknown;
  /** Whether the caller sends a bearer token. */
  readonly needsToken?: true;
}

const CLIENT = {
  client_id: 'application ID; not needed with HTTP Basic',
  client_secret: 'secret of the application; not needed with HTTP Basic or for public applications',
};
const CLIENT_EXAMPLE = {
  client_id: '3f6c1d09a8e24b75c0d1f2e3a4b5968778695a4b3c2d1e0f9a8b7c6d5e4f3021',
  client_secret: 'the secret of the application',
};

const USERINFO: EndpointDescription = {
  needsToken: true,
  summary: 'The identity of the user (scope openid)',
  description:
    'Requires the scope openid, which returns sub, name, nickname, preferred_username and profile. The email is returned only if the token also has the scope email; `email_verified` is true if it is confirmed. Without openid, the scopes profile and email return 403.',
  answer: {
    sub: '1',
    name: 'Alice',
    nickname: 'alice',
    preferred_username: 'alice',
    profile: 'https://metrics.example.com/profile',
  },
};

const METADATA = {
  issuer: 'https://metrics.example.com',
  authorization_endpoint: 'https://metrics.example.com/oauth/authorize',
  token_endpoint: 'https://metrics.example.com/oauth/token',
  userinfo_endpoint: 'https://metrics.example.com/oauth/userinfo',
  jwks_uri: 'https://metrics.example.com/oauth/discovery/keys',
  revocation_endpoint: 'https://metrics.example.com/oauth/revoke',
  introspection_endpoint: 'https://metrics.example.com/oauth/introspect',
  end_session_endpoint: 'https://metrics.example.com/oauth/logout',
  grant_types_supported: ['authorization_code', 'refresh_token', 'password'],
  response_types_supported: ['code'],
  id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  code_challenge_methods_supported: ['S256'],
};

const ENDPOINTS: Readonly<Record<string, EndpointDescription>> = {
  'POST /oauth/token': {
    summary: 'Obtain or refresh tokens',
    description:
      'Grants: `authorization_code` (with PKCE or a secret), `refresh_token`, `password`. A refresh token works once; using it again revokes all tokens of its authorization. With the scope openid, the first two grants also return an ID token (OpenID Connect Core), which is valid for an hour and is verified with the keys at `/oauth/discovery/keys`.',
    form: {
      grant_type: 'authorization_code, refresh_token or password',
      ...CLIENT,
      code: 'code of the authorization response; valid once, for ten minutes',
      redirect_uri: 'the same as in the authorization request',
      code_verifier: 'PKCE: 43 to 128 characters of A-Z, a-z, 0-9, hyphen, dot, underscore and tilde',
      refresh_token: 'refresh token of the newest pair',
      scope: 'with refresh_token or password: space-separated scopes',
      resource: 'URI of an authorized API that the token is for (RFC 8707); may be repeated',
      username: 'password grant: username or email',
      password: 'password grant: password; not for accounts with two-factor authentication',
    },
    required: ['grant_type'],
    request: { grant_type: 'refresh_token', ...CLIENT_EXAMPLE, refresh_token: 'cmr_…' },
    answer: {
      access_token: 'cma_…',
      token_type: 'bearer',
      expires_in: 7200,
      scope: 'openid read_user',
      refresh_token: 'cmr_…',
      id_token: 'eyJhbGciOiJSUzI1NiIs…',
      created_at: 1_752_494_400,
    },
  },
  'GET /oauth/token/info': {
    needsToken: true,
    summary: 'Scopes and lifetime of an access token',
    query: { access_token: 'the token, unless it is in the Authorization header' },
    answer: {
      resource_owner_id: 1,
      scope: ['read_user'],
      expires_in: 5400,
      application: { uid: CLIENT_EXAMPLE.client_id },
      created_at: 1_752_494_400,
      scopes: ['read_user'],
      expires_in_seconds: 5400,
    },
  },
  'POST /oauth/revoke': {
    summary: 'Revoke a pair of tokens (RFC 7009)',
    form: { ...CLIENT, token: 'either token of the pair', token_type_hint: 'accepted and ignored' },
    request: { ...CLIENT_EXAMPLE, token: 'cma_…' },
    answer: {},
  },
  'POST /oauth/introspect': {
    summary: 'Whether a token is active (RFC 7662)',
    description:
      'An application with a secret can ask about its own tokens, and about access tokens for APIs of other servers; such an API must check that `aud` contains its URI. For any other token `active` is false.',
    form: { ...CLIENT, token: 'access or refresh token' },
    required: ['token'],
    request: { ...CLIENT_EXAMPLE, token: 'cma_…' },
    answer: {
      active: true,
      scope: 'read_user',
      client_id: CLIENT_EXAMPLE.client_id,
      username: 'alice',
      sub: '1',
      iss: 'https://metrics.example.com',
      aud: ['https://metrics.example.com/api'],
      token_type: 'bearer',
      iat: 1_752_494_400,
      exp: 1_752_501_600,
    },
  },
  'GET /oauth/userinfo': USERINFO,
  'POST /oauth/userinfo': USERINFO,
  'GET /api/v4/user': {
    needsToken: true,
    summary: 'The user behind a token (scope api or read_user)',
    description: 'The email is null until it is confirmed; `confirmed_at` is the time of the confirmation.',
    answer: {
      id: 1,
      username: 'alice',
      name: 'Alice',
      state: 'active',
      locked: false,
      avatar_url: null,
      web_url: 'https://metrics.example.com/profile',
      created_at: '2025-07-14T12:00:00.000Z',
      email: 'alice@example.com',
      confirmed_at: '2025-07-14T12:00:00.000Z',
      public_email: null,
      last_sign_in_at: '2025-07-14T12:00:00.000Z',
      current_sign_in_at: '2025-07-14T12:00:00.000Z',
      two_factor_enabled: true,
      is_admin: false,
      bot: false,
    },
  },
  'GET /.well-known/openid-configuration': {
    summary: 'Endpoints and capabilities for sign-in (OpenID Connect Discovery)',
    description: 'The same document as `/.well-known/oauth-authorization-server`.',
    answer: METADATA,
  },
  'GET /.well-known/oauth-protected-resource/api': {
    summary: 'Where to get tokens for this API (RFC 9728)',
    answer: {
      resource: 'https://metrics.example.com/api',
      authorization_servers: ['https://metrics.example.com'],
      scopes_supported: ['api', 'read_user'],
      bearer_methods_supported: ['header', 'query'],
      resource_name: 'Chain Metrics API',
      resource_documentation: 'https://metrics.example.com/docs',
    },
  },
  'GET /.well-known/oauth-authorization-server': {
    summary: 'Metadata of the authorization server (RFC 8414)',
    answer: METADATA,
  },
  'GET /oauth/discovery/keys': {
    summary: 'The public keys that verify ID tokens (JSON Web Key Set)',
    description:
      'The keys change every 90 days. A new key is listed 24 hours before it signs, unless the operator replaces the keys immediately. An old key is listed for 7 more days, unless the operator revokes it. A client may cache the keys for an hour, and fetches them again for an unknown `kid`.',
    answer: {
      keys: [
        {
          kty: 'RSA',
          n: 'u1SU1LfVLPHCozMxH2Mo…',
          e: 'AQAB',
          kid: 'NzbLsXh8uDCcd…',
          alg: 'RS256',
          use: 'sig',
        },
      ],
    },
  },
};

/** Adds the endpoints of a scope to the OpenAPI document, and hides all other routes of the scope. */
export function describeEndpoints(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const methods = [route.method].flat();
    const method = methods[0] as 'GET' | 'POST';
    const endpoint = methods.includes('HEAD') ? undefined : ENDPOINTS[`${method} ${route.url}`];
    route.schema = endpoint === undefined ? { hide: true } : schemaOf(method, route.url, endpoint);
  });
}

function schemaOf(method: 'GET' | 'POST', path: string, endpoint: EndpointDescription): object {
  const { summary, description, query, form, required = [], request, answer, needsToken } = endpoint;
  const fields = (meanings: Readonly<Record<string, string>>) =>
    z.object(
      Object.fromEntries(
        Object.entries(meanings).map(([name, meaning]) => {
          const field = z.string().describe(meaning);
          return [name, required.includes(name) ? field : field.optional().describe(meaning)];
        }),
      ),
    );
  return describeRoute({
    method,
    path,
    tag: 'OAuth 2.0',
    summary,
    ...(description === undefined ? {} : { description }),
    ...(needsToken ? { security: [{ key: [] }] } : {}),
    ...(query === undefined ? {} : { query: fields(query) }),
    ...(form === undefined
      ? {}
      : {
          body: fields(form).meta({ examples: [request] }),
          consumes: 'application/x-www-form-urlencoded',
        }),
    responses: {
      200: {
        description: 'Done',
        content: { 'application/json': { schema: z.looseObject({}), example: answer } },
      },
      '4xx': REFUSED,
    },
  });
}

const REFUSED: ResponseDescription = {
  description: 'Refused',
  content: {
    'application/json': {
      schema: z.object({ error: z.string(), error_description: z.string() }).meta({ id: 'OAuthError' }),
      example: { error: 'invalid_request', error_description: 'Missing required parameter: grant_type.' },
    },
  },
};
