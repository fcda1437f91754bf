/**
 * Who is calling, however they said so. This is all that other parts need:
 *
 *     const caller = await principalOf(accounts, request);   // a Principal, or a 401 that says why
 *     requireScope(caller, 'api');                            // or a 403
 *     caller.user.id
 *
 * A caller with an access token, a personal access token or an API key sends `Authorization: Bearer …`; one with
 * a session sends its cookie, and counts here only for requests that change nothing (pages check their forms).
 */
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import type { Accounts } from './accounts.ts';
import { type BearerFault, bearer } from './bearer.ts';
import type { Scope } from './scopes.ts';
import { sessionOf } from './sessions.ts';
import type { Grant, User } from './tables.ts';

export interface Principal {
  readonly by: 'session' | 'access token' | 'personal access token' | 'API key';
  readonly user: User;
  /** What the caller may do; a session may do everything that its user may, a key nothing beyond its purpose. */
  readonly scopes: readonly string[] | 'all';
  /** Behind a token or key; null for a session. */
  readonly grant: Grant | null;
}

/** A call without, or with a bad, token (RFC 6750 §3.1), in the shape of the OAuth endpoints. */
export class TokenError extends HttpError {
  constructor(
    code: 'invalid_token' | 'insufficient_scope' | 'invalid_request' | 'unauthorized',
    description: string,
    more: Readonly<Record<string, string>> = {},
  ) {
    const says = Object.entries({
      ...(code === 'unauthorized' ? {} : { error: code, error_description: description }),
      ...more,
    });
    const challenge = `Bearer ${[['realm', 'Chain Metrics'], ...says].map(([name, value]) => `${name}="${value}"`).join(', ')}`;
    super(code, description, code === 'invalid_request' ? {} : { 'www-authenticate': challenge });
  }
}

const FAULTS: Record<BearerFault, string> = {
  unknown: 'The access token is invalid',
  expired: 'Token is expired. You can either do re-authorization or token refresh.',
  revoked: 'Token was revoked. You have to re-authorize from the user.',
  locked: 'The account of this token is locked.',
};

/** The token of `Authorization: Bearer …`; null when there is none of that kind. */
export function bearerText(request: FastifyRequest): string | null {
  const [, token] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
  return token ?? null;
}

/** One token alone in the address was moved to the header before: what is left there is one too many. */
export const hasQueryToken = (url: string): boolean =>
  url.includes('access_token=') && /[?&]access_token=/.test(url);

/** RFC 6750 §2: whoever sends a token in two ways may mean either. */
export const sentTwice = () =>
  new TokenError('invalid_request', 'Send one access token, in one way: in the header or as access_token.');

/** The caller, or a `TokenError` with 401. */
export async function principalOf(accounts: Accounts, request: FastifyRequest): Promise<Principal> {
  if (hasQueryToken(request.url)) throw sentTwice();
  if (request.headers.authorization !== undefined) {
    const token = bearerText(request);
    if (token === null) throw new TokenError('invalid_token', FAULTS.unknown);
    const found = await bearer(accounts, token);
    if (typeof found === 'string') throw new TokenError('invalid_token', FAULTS[found]);
    return found;
  }
  const isSafe = request.method === 'GET' || request.method === 'HEAD';
  const signedIn = isSafe ? await sessionOf(accounts, request) : null;
  if (signedIn === null)
    throw new TokenError('unauthorized', 'Sign in, or send a token as `Authorization: Bearer …`.');
  return { by: 'session', user: signedIn.user, scopes: 'all', grant: null };
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
