/**
 * Authentication of API requests. Other domains use it like this:
 *
 *     const caller = await principalOf(accounts, request);   // throws 401
 *     requireScope(caller, 'api');                            // throws 403
 *     caller.user.id
 *
 * An access token, a personal access token or an API key comes as `Authorization: Bearer …`, a personal access token also
 * as `PRIVATE-TOKEN: …`. A session cookie is accepted only for requests that change nothing; forms of pages are protected
 * by their token.
 *
 * A token for another resource (RFC 8707) is refused, except by `/oauth/userinfo` and `/oauth/token/info`.
 */
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../http/errors.ts';
import { publicUrl } from '../http/public-url.ts';
import type { Accounts } from './accounts.ts';
import { holderOf, remainingScopes } from './grants.ts';
import { apiResource, resourceMetadataUrl } from './resource.ts';
import type { Scope } from './scopes.ts';
import { isSecretOf } from './secrets.ts';
import { sessionOf } from './sessions.ts';
import type { Grant, User } from './tables.ts';
import { readToken, type TokenKind } from './tokens.ts';

export interface Principal {
  readonly by: 'session' | 'access token' | 'personal access token' | 'API key';
  readonly user: User;
  /** The scopes of the token; 'all' for a session, none for an API key. */
  readonly scopes: readonly string[] | 'all';
  /** The grant of the token or key; null for a session. */
  readonly grant: Grant | null;
}

/** A missing or invalid token (RFC 6750 §3.1). */
export class TokenError extends HttpError {
  constructor(
    code: 'invalid_token' | 'insufficient_scope' | 'invalid_request' | 'unauthorized',
    description: string,
    more: Readonly<Record<string, string>> = {},
  ) {
    const attributes = Object.entries({
      ...(code === 'unauthorized' ? {} : { error: code, error_description: description }),
      ...more,
    });
    const challenge = `Bearer ${[['realm', 'Chain Metrics'], ...attributes].map(([name, value]) => `${name}="${value}"`).join(', ')}`;
    super(code, description, code === 'invalid_request' ? {} : { 'www-authenticate': challenge });
  }
}

type BearerFault = 'unknown' | 'expired' | 'revoked' | 'locked' | 'for another resource';

/** The tokens that an endpoint accepts: only tokens for the API of this server, or tokens for any resource. */
type Audience = 'api' | 'any';

const PRINCIPAL_TYPES: Partial<Record<TokenKind, Principal['by']>> = {
  access: 'access token',
  personal: 'personal access token',
  key: 'API key',
};

const FAULTS: Record<BearerFault, string> = {
  unknown: 'The access token is invalid',
  expired: 'Token is expired. You can either do re-authorization or token refresh.',
  revoked: 'Token was revoked. You have to re-authorize from the user.',
  locked: 'The account of this token is locked.',
  'for another resource':
    'The token is for another resource. Request a token with the `resource` that the metadata of this API names.',
};

/**
 * The principal of a bearer token, or the reason of its refusal, which only a caller with the right secret learns. Throws a
 * 429 for a sender of too many invalid tokens.
 */
export function bearer(
  accounts: Accounts,
  text: string,
  request: FastifyRequest,
  audience: Audience = 'api',
): Promise<Principal | BearerFault> {
  return accounts.failures.check(request, {
    isStored: async () => accounts.grants.has(readToken(text)?.id ?? ''),
    find: () => findBearer(accounts, text, audience === 'any' ? null : issuerOf(accounts, request)),
    isFailure: (found) => typeof found === 'string',
  });
}

const issuerOf = ({ settings }: Accounts, request: FastifyRequest) => publicUrl(request.server, settings);

/** If `issuer` is not null, the token must be for the API of that issuer. */
async function findBearer(
  accounts: Accounts,
  text: string,
  issuer: string | null,
): Promise<Principal | BearerFault> {
  const token = readToken(text);
  const by = token && PRINCIPAL_TYPES[token.kind];
  if (!token || !by) return 'unknown';
  const grant = await accounts.grants.get(token.id);
  if (!grant || !isSecretOf(grant.access_hash, token.secret)) return 'unknown';
  const isOfKind = token.kind === 'access' ? isOfApplication(grant) : grant.kind === token.kind;
  if (!isOfKind) return 'unknown';
  const fault = faultOf(grant, accounts.clock.now());
  if (fault) return fault;
  if (issuer !== null && !isFor(apiResource(issuer), grant)) return 'for another resource';
  const holder = await holderOf(accounts, grant);
  if (typeof holder === 'string') return holder;
  accounts.uses.record(grant.id);
  const scopes = remainingScopes(grant.access_scopes, holder.application);
  return { by, user: holder.user, scopes, grant };
}

function faultOf(grant: Grant, now: number): BearerFault | null {
  if (grant.revoked_ms > 0) return 'revoked';
  if (grant.access_expires_ms > 0 && grant.access_expires_ms <= now) return 'expired';
  return null;
}

/** A token without an audience is for the API. */
const isFor = (resource: string, { access_resources }: Grant) =>
  access_resources.length === 0 || access_resources.includes(resource);

const isOfApplication = ({ kind }: Grant) => kind === 'code' || kind === 'password';

/** The token of `Authorization: Bearer …`; no token for another scheme. */
function bearerText(authorization: string): string {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
  return token ?? '';
}

/** The header in which clients of GitLab send a personal access token. */
export const PRIVATE_TOKEN = 'private-token';

/**
 * RFC 6750 §2: a request must not send a token in more than one way. `hideAccessToken` has moved a single token to the
 * header `Authorization`, so a token elsewhere is a duplicate.
 */
export const hasDuplicateToken = ({ url, headers }: FastifyRequest): boolean =>
  headers[PRIVATE_TOKEN] !== undefined || (url.includes('access_token=') && /[?&]access_token=/.test(url));

export const duplicateToken = () =>
  new TokenError(
    'invalid_request',
    'Send one access token, in one way: in a header, Authorization or PRIVATE-TOKEN, or as access_token.',
  );

/** The caller of a request. Throws a `TokenError` with 401 if there is none. */
export async function principalOf(
  accounts: Accounts,
  request: FastifyRequest,
  audience: Audience = 'api',
): Promise<Principal> {
  if (hasDuplicateToken(request)) throw duplicateToken();
  const { authorization } = request.headers;
  // RFC 9728 §5.1: the metadata of the API leads a client to the authorization server.
  const metadata: Record<string, string> =
    audience === 'api' ? { resource_metadata: resourceMetadataUrl(issuerOf(accounts, request)) } : {};
  if (authorization !== undefined) {
    const found = await bearer(accounts, bearerText(authorization), request, audience);
    if (typeof found === 'string') throw new TokenError('invalid_token', FAULTS[found], metadata);
    return found;
  }
  const isSafe = request.method === 'GET' || request.method === 'HEAD';
  const signedIn = isSafe ? await sessionOf(accounts, request) : null;
  if (signedIn === null)
    throw new TokenError(
      'unauthorized',
      'Sign in, or send a token as `Authorization: Bearer TOKEN`.',
      metadata,
    );
  return { by: 'session', user: signedIn.user, scopes: 'all', grant: null };
}

/** The id of the account of the token or session of a request; null if it has neither. */
export async function authenticatedAccount(
  accounts: Accounts,
  request: FastifyRequest,
  audience: Audience = 'api',
): Promise<string | null> {
  const { authorization } = request.headers;
  try {
    if (authorization === undefined) return (await sessionOf(accounts, request))?.user.id ?? null;
    const text = bearerText(authorization);
    const found = text === '' ? 'unknown' : await bearer(accounts, text, request, audience);
    return typeof found === 'string' ? null : found.user.id;
  } catch (error) {
    // A 429: the sender has sent too many invalid tokens.
    if (error instanceof HttpError) return null;
    throw error;
  }
}

/** Throws a `TokenError` with 403 unless the caller has one of the scopes. */
export function requireScope(caller: Principal, ...anyOf: readonly Scope[]): void {
  if (caller.scopes === 'all' || anyOf.some((scope) => caller.scopes.includes(scope))) return;
  throw new TokenError(
    'insufficient_scope',
    'The request requires higher privileges than provided by the access token.',
    {
      scope: anyOf.join(' '),
    },
  );
}
