import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { bearer } from '../accounts/bearer.ts';
import type { Principal } from '../accounts/principal.ts';

/** The literal user name of Git over HTTPS; the token is the password. */
const GIT_USER = 'oauth2';

const NEEDED: Readonly<Record<'read' | 'write', readonly string[]>> = {
  // Who may push must fetch first.
  read: ['read_repository', 'write_repository'],
  write: ['write_repository'],
};

/**
 * Asked by whatever serves Git repositories, such as nginx with `auth_request`, for every request that it gets:
 * may this caller do that? It passes on the caller's `Authorization` and tells the request's address in
 * `X-Original-URI`. The answer is 200 with the user's name and id, 401 or 403, and never has a body.
 */
export function serveGitAuthentication(app: FastifyInstance, accounts: Accounts): void {
  app.get('/oauth/git', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const caller = await callerOf(accounts, request);
    if (caller === null) {
      return reply.code(401).header('www-authenticate', 'Basic realm="Git", charset="UTF-8"').send();
    }
    const access = accessOf(String(request.headers['x-original-uri'] ?? ''));
    const isAllowed = access !== null && NEEDED[access].some((scope) => caller.scopes.includes(scope));
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

async function callerOf(accounts: Accounts, request: FastifyRequest): Promise<Principal | null> {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(request.headers.authorization ?? '') ?? [];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (text.slice(0, colon) !== GIT_USER) return null;
  const found = await bearer(accounts, text.slice(colon + 1));
  return typeof found === 'string' || found.by === 'API key' ? null : found;
}

/** What a request of the Git protocol does to its repository; null when it is none. */
function accessOf(uri: string): 'read' | 'write' | null {
  const [path = '', query = ''] = uri.split('?');
  if (path.endsWith('/git-receive-pack')) return 'write';
  if (path.endsWith('/git-upload-pack')) return 'read';
  if (!path.endsWith('/info/refs')) return null;
  const services = new URLSearchParams(query).getAll('service');
  if (services.length !== 1) return null;
  return services[0] === 'git-receive-pack' ? 'write' : services[0] === 'git-upload-pack' ? 'read' : null;
}
