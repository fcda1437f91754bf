import type { FastifyInstance } from 'fastify';
import { time } from '../../http/pages/fields.ts';
import { html } from '../../http/pages/html.ts';
import { sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { liveKeys } from '../accounts/keys.ts';
import { requireUser } from '../accounts/sessions.ts';
import { walletsOf } from '../accounts/wallets.ts';
import { applicationsOf, authorizedBy } from '../oauth/applications.ts';

/** Where people land: what there is, and what is worth doing. */
export function serveOverview(pages: FastifyInstance, accounts: Accounts, origin: () => string): void {
  pages.get('/profile', async (request, reply) => {
    const user = await requireUser(accounts, request);
    const [keys, tokens, applications, authorized, wallets] = await Promise.all([
      liveKeys(accounts, user.id, 'key'),
      liveKeys(accounts, user.id, 'personal'),
      applicationsOf(accounts, user.id),
      authorizedBy(accounts, user.id),
      walletsOf(accounts, user.id),
    ]);
    const tiles = [
      ['/profile/keys', keys.length, 'API keys'],
      ['/profile/tokens', tokens.length, 'access tokens'],
      ['/profile/applications', applications.length, 'your applications'],
      ['/profile/authorized-applications', authorized.length, 'authorized applications'],
      ['/profile/wallets', wallets.length, 'linked wallets'],
    ] as const;
    const body = html`<h1>Hello, ${user.name}</h1>
<p class="lead">Everything that can act for your account, in one place.</p>
<div class="tiles">${tiles.map(([href, count, label]) => html`<a class="tile" href="${href}"><strong>${count}</strong><span>${label}</span></a>`)}</div>
<section class="card"><h2>Account</h2><dl class="facts">
<dt>User name</dt><dd>${user.username}</dd>
<dt>E-mail address</dt><dd>${user.email || 'none'}</dd>
<dt>Member since</dt><dd>${time(user.created_ms)}</dd>
<dt>Last sign-in</dt><dd>${time(user.last_sign_in_ms, 'this is the first one')}</dd>
<dt>Two-factor</dt><dd>${user.totp_secret === '' ? html`<span class="tag warn">off</span> <a href="/profile/security">Turn it on</a>` : html`<span class="tag good">on</span>`}</dd>
</dl></section>
<section class="card"><h2>Use the API</h2>
<p>The metrics are public. A key lifts the rate limit:</p>
<code class="secret">curl -H "Authorization: Bearer YOUR_KEY" ${origin()}/api/daily-tps</code>
<p class="actions"><a class="button" href="/profile/keys">Get an API key</a><a class="button second" href="/docs">Browse the API</a></p></section>`;
    return sendPage(accounts, request, reply, { title: 'Overview', body });
  });
}
