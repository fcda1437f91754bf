import type { FastifyInstance } from 'fastify';

/** What the OpenAPI document tells of an endpoint: its fields with their meaning, those that are needed first. */
interface Described {
  readonly summary: string;
  readonly description?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly required?: readonly string[];
}

const CLIENT = {
  client_id: 'application ID; with client_secret, unless both come by HTTP Basic',
  client_secret: 'secret of the application; left out by applications that have none',
};

const DESCRIBED: Readonly<Record<string, Described>> = {
  'POST /oauth/token': {
    summary: 'Obtain or renew tokens',
    description:
      'Grants: `authorization_code` (with PKCE or a secret), `refresh_token`, `password`. A refresh token works once; one that comes back ends all tokens of its authorization.',
    form: {
      grant_type: 'authorization_code, refresh_token or password',
      ...CLIENT,
      code: 'code of the authorization response; works once, for ten minutes',
      redirect_uri: 'the same as in the authorization request',
      code_verifier: 'PKCE: 43 to 128 characters of A-Z, a-z, 0-9, hyphen, dot, underscore and tilde',
      refresh_token: 'refresh token of the newest pair',
      scope: 'with refresh_token or password: space-separated scopes',
      username: 'password grant: user name or e-mail address',
      password: 'password grant: password; not for accounts with two-factor authentication',
    },
    required: ['grant_type'],
  },
  'GET /oauth/token/info': {
    summary: 'What an access token is worth',
    query: { access_token: 'the token, unless it comes in the Authorization header' },
  },
  'POST /oauth/revoke': {
    summary: 'End a pair of tokens (RFC 7009)',
    form: { ...CLIENT, token: 'either token of the pair', token_type_hint: 'accepted and not needed' },
  },
  'POST /oauth/introspect': {
    summary: 'Whether a token of the application is live (RFC 7662)',
    form: { ...CLIENT, token: 'access or refresh token' },
    required: ['token'],
  },
  'GET /oauth/userinfo': {
    summary: 'Who the user is (scope openid)',
    description: 'The e-mail address is told only with the scope email.',
  },
  'GET /api/v4/user': { summary: 'The user behind a token (scope api or read_user)' },
  'GET /.well-known/oauth-authorization-server': {
    summary: 'What this authorization server can do (RFC 8414)',
  },
};

/** Tells of the endpoints of a scope in the OpenAPI document; the rest of the scope stays out of it. */
export function describeEndpoints(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const methods = [route.method].flat();
    const described = DESCRIBED[`${methods[0]} ${route.url}`];
    route.schema = {
      ...(described === undefined || methods.includes('HEAD') ? { hide: true } : schemaOf(described)),
    };
  });
}

function schemaOf({ summary, description, query, form, required = [] }: Described): object {
  const fields = (named: Readonly<Record<string, string>>) => ({
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(named).map(([name, meaning]) => [name, { type: 'string', description: meaning }]),
    ),
    required: [...required],
  });
  return {
    tags: ['OAuth 2.0'],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(query === undefined ? {} : { querystring: fields(query) }),
    ...(form === undefined ? {} : { body: fields(form), consumes: ['application/x-www-form-urlencoded'] }),
    response: {
      200: { description: 'Done', type: 'object', additionalProperties: true },
      '4xx': {
        description: 'Refused',
        type: 'object',
        properties: { error: { type: 'string' }, error_description: { type: 'string' } },
      },
    },
  };
}
