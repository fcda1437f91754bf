import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { bearer, type Principal } from '../../accounts/principal.ts';
import { HttpError } from '../../http/errors.ts';
import { readBasic } from './basic.ts';
import { type GitAccess, gitAccessOf } from './git-request.ts';

/** The fixed user name of Git over HTTPS; the token is the password. */
const GIT_USER = 'oauth2';

const ACCEPTED_SCOPES: Readonly<Record<GitAccess, readonly string[]>> = {
  // Pushing requires fetching.
  read: ['read_repository', 'write_repository'],
  write: ['write_repository'],
};

/**
 * Authorizes requests of a Git server, for example by `auth_request` of nginx (`infra/nginx.conf`). The server forwards
 * the caller's `Authorization` and, unchanged, the URI of the request in `X-Original-URI` and its method in
 * `X-Original-Method`. The response is 200 with the user's name and id in headers, 401, 403 or 429, always without a body.
 */
export function serveGitAuthentication(app: FastifyInstance, accounts: Accounts): void {
  app.get('/oauth/git', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const caller = await callerOf(accounts, request).catch(rateLimitError);
    if (caller instanceof HttpError) return reply.code(caller.status).headers(caller.headers).send();
    if (caller === null) {
      return reply.code(401).header('www-authenticate', 'Basic realm="Git", charset="UTF-8"').send();
    }
    const { 'x-original-uri': uri, 'x-original-method': method } = request.headers;
    const access = gitAccessOf(String(uri ?? ''), method === undefined ? undefined : String(method));
    const isAllowed =
      access !== null && ACCEPTED_SCOPES[access].some((scope) => caller.scopes.includes(scope));
    if (!isAllowed) return reply.code(403).send();
    return reply
      .headers({
        'x-auth-user': caller.user.username,
        'x-auth-user-id': caller.user.id,
        'x-auth-access': access,
      })
      .code(200)
      .send();
  });
}

/** Returns a 429, and rethrows other errors. */
function rateLimitError(error: unknown): HttpError {
  if (error instanceof HttpError && error.status === 429) return error;
  throw error;
}

async function callerOf(accounts: Accounts, request: FastifyRequest): Promise<Principal | null> {
  const { authorization } = request.headers;
  // The first request of Git has no credentials.
  if (authorization === undefined) return null;
  const basic = readBasic(authorization);
  const found = await bearer(accounts, basic?.user === GIT_USER ? basic.password : '', request);
  return typeof found === 'string' || found.by === 'API key' ? null : found;
}
