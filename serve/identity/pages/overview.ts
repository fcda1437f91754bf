import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { activeKeys } from '../../accounts/keys.ts';
import { walletsOf } from '../../accounts/wallets.ts';
import { time } from '../../pages/fields.ts';
import { html } from '../../pages/html.ts';
import { applicationsOf, authorizedApplications } from '../oauth/applications.ts';

/** The start page of the profile. */
export function serveProfileOverview(pages: FastifyInstance, accounts: Accounts, origin: () => string): void {
  pages.get('/profile', async (request, reply) => {
    const user = await request.requireUser();
    const [keys, tokens, applications, authorized, wallets] = await Promise.all([
      activeKeys(accounts, user.id, 'key'),
      activeKeys(accounts, user.id, 'personal'),
      applicationsOf(accounts, user.id),
      authorizedApplications(accounts, user),
      walletsOf(accounts, user.id),
    ]);
    const tiles = [
      ['/profile/keys', keys.length, 'API key'],
      ['/profile/tokens', tokens.length, 'personal access token'],
      ['/profile/applications', applications.length, 'application'],
      ['/profile/authorized-applications', authorized.length, 'authorized application'],
      ['/profile/wallets', wallets.length, 'linked wallet'],
    ] as const;
    const body = html`<h1>${user.name}</h1>
<p class="lead">Your account and everything that has access to it.</p>
<div class="tiles">${tiles.map(([href, count, label]) => html`<a class="tile" href="${href}"><strong>${count}</strong><span>${label}${count !== 1 && 's'}</span></a>`)}</div>
<section class="card"><h2>Account</h2><dl class="facts">
<dt>Username</dt><dd>${user.username}</dd>
<dt>Email</dt><dd>${user.email || 'Not set'}${user.email !== '' && user.email_confirmed_ms === 0 && html` <span class="tag warn">Not confirmed</span> <a href="/profile/email">Confirm email</a>`}</dd>
<dt>Member since</dt><dd>${time(user.created_ms)}</dd>
<dt>Previous sign-in</dt><dd>${time(user.last_sign_in_ms)}</dd>
<dt>Two-factor authentication</dt><dd>${user.totp_secret === '' ? html`<span class="tag warn">Disabled</span> <a href="/profile/security">Enable two-factor authentication</a>` : html`<span class="tag good">Enabled</span>`}</dd>
</dl></section>
<section class="card"><h2>Use the API</h2>
<p>The metrics API is public. An API key removes the rate limit:</p>
<code class="secret">curl -H "Authorization: Bearer YOUR_KEY" ${origin()}/api/daily-tps</code>
<p class="actions"><a class="button" href="/profile/keys">Create an API key</a><a class="button second" href="/docs">API documentation</a></p></section>`;
    return reply.page({ title: 'Overview', body });
  });
}
