import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { oauthDialect } from '../../http/dialects.ts';
import { handleErrors } from '../../http/errors.ts';
import { publicUrl } from '../../http/public-url.ts';
import { limitEveryone } from '../../http/rate-limit.ts';
import { disableValidation } from '../../http/route.ts';
import { servePages } from '../../pages/page.ts';
import { serveAuthorize } from './authorize.ts';
import { allowCrossOrigin } from './cors.ts';
import { accountOfCredentials } from './credential-account.ts';
import { serveDiscovery } from './discovery.ts';
import { serveGitAuthentication } from './git.ts';
import { serveIntrospect } from './introspect.ts';
import { serveLogout, serveLogoutForm } from './logout.ts';
import { describeEndpoints } from './openapi.ts';
import { acceptParameters } from './parameters.ts';

import { serveResourceMetadata } from './resource-metadata.ts';
import { serveRevoke } from './revoke.ts';
import { serveToken } from './token.ts';
import { serveTokenInfo } from './token-info.ts';
import { serveUser, serveUserinfo } from './user.ts';

/** The OAuth 2.0 endpoints, in scopes of their own, since their errors and headers differ from the other APIs. */
export async function serveOAuth(app: FastifyInstance, accounts: Accounts): Promise<void> {
  const issuer = () => publicUrl(app, accounts.settings);
  await servePages(app, accounts, async (pages) => {
    // Runs in onRequest, because the headers identify the caller: a browser sends a session cookie.
    limitCallers(pages, accounts, 'onRequest');
    serveAuthorize(pages, accounts, issuer);
    serveLogout(pages, accounts, issuer);
  });
  await app.register(async (api) => {
    describeEndpoints(api);
    disableValidation(api);
    handleErrors(api, oauthDialect);
    await acceptParameters(api);
    allowCrossOrigin(api);
    // In preHandler, after the form is parsed: it may contain the token of the caller.
    limitCallers(api, accounts, 'preHandler');
    serveToken(api, accounts, issuer);
    serveRevoke(api, accounts);
    serveIntrospect(api, accounts, issuer);
    serveTokenInfo(api, accounts);
    serveUserinfo(api, accounts, issuer);
    serveUser(api, accounts, issuer);
    serveDiscovery(api, accounts, issuer);
    serveResourceMetadata(api, issuer);
    serveLogoutForm(api);
  });
  await app.register(async (git) => {
    describeEndpoints(git);
    serveGitAuthentication(git, accounts);
  });
}

/** Limits requests by address. Above that limit, requests with a valid token or session are limited by their account. */
function limitCallers(app: FastifyInstance, accounts: Accounts, at: 'onRequest' | 'preHandler'): void {
  const { limiters, settings } = accounts;
  const authenticate = (request: FastifyRequest) => accountOfCredentials(accounts, request);
  const limit = { name: 'oauth', max: settings.OAUTH_PER_MINUTE, seconds: 60 };
  limitEveryone(app, limit, { limiters, authenticate, at });
}
