import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bearer, type Principal, type PrincipalAccounts } from '../accounts/principal.ts';
import { readBasic } from './basic.ts';

/** The fixed user name of Git over HTTPS; the token is the password. */
const GIT_USER = 'oauth2';

const ACCEPTED_SCOPES: Readonly<Record<'read' | 'write', readonly string[]>> = {
  // Pushing requires fetching.
  read: ['read_repository', 'write_repository'],
  write: ['write_repository'],
};

/**
 * Authorizes requests of a Git server, for example by `auth_request` of nginx. The server forwards the caller's
 * `Authorization` and the URI of the request in `X-Original-URI`. The response is 200 with the user's name and id in
 * headers, 401 or 403, always without a body.
 */
export function serveGitAuthentication(app: FastifyInstance, accounts: PrincipalAccounts): void {
  app.get('/oauth/git', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const caller = await callerOf(accounts, request);
    if (caller === null) {
      return reply.code(401).header('www-authenticate', 'Basic realm="Git", charset="UTF-8"').send();
    }
    const access = accessOf(String(request.headers['x-original-uri'] ?? ''));
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

async function callerOf(accounts: PrincipalAccounts, request: FastifyRequest): Promise<Principal | null> {
  const basic = readBasic(request.headers.authorization);
  if (basic?.user !== GIT_USER) return null;
  const found = await bearer(accounts, basic.password);
  return typeof found === 'string' || found.by === 'API key' ? null : found;
}

/** The access that a request of the Git protocol needs; null when it is no such request. */
function accessOf(uri: string): 'read' | 'write' | null {
  const [path = '', query = ''] = uri.split('?');
  if (path.endsWith('/git-receive-pack')) return 'write';
  if (path.endsWith('/git-upload-pack')) return 'read';
  if (!path.endsWith('/info/refs')) return null;
  const services = new URLSearchParams(query).getAll('service');
  if (services.length !== 1) return null;
  return services[0] === 'git-receive-pack' ? 'write' : services[0] === 'git-upload-pack' ? 'read' : null;
}
