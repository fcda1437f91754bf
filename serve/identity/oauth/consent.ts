import type { FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { SCOPES } from '../../accounts/scopes.ts';
import type { User } from '../../accounts/tables.ts';
import { html } from '../../pages/html.ts';
import type { Page } from '../../pages/page.ts';
import { type AuthorizationRequest, parametersOf } from './authorization-request.ts';
import { destinationOf } from './redirect-uri.ts';

/** The page on which a user authorizes an application. */
export async function consentPage(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  authorization: AuthorizationRequest,
): Promise<Page> {
  const { application, redirectUri, scopes, resources } = authorization;
  const owner = await accounts.users.get(application.owner_id);
  const body = html`<div class="monogram" aria-hidden="true">${[...application.name][0]?.toUpperCase()}</div>
<h1>Authorize ${application.name} to use your account?</h1>
<p class="lead">${application.name} is requesting access to your Chain Metrics account, <strong>${user.username}</strong>. This application will be able to:</p>
<ul class="asks">${scopes.map((scope) => html`<li><b>${SCOPES[scope].title}</b><span>${SCOPES[scope].detail}</span></li>`)}</ul>
<dl class="facts"><dt>Redirects to</dt><dd><strong>${destinationOf(redirectUri)}</strong></dd>
${resources.length > 0 && html`<dt>Access to</dt><dd>${resources.join(', ')}</dd>`}
<dt>Created by</dt><dd>${owner?.username ?? 'a deleted account'}</dd></dl>
<form method="post" action="/oauth/authorize">
${await reply.formToken()}
${parametersOf(authorization).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="actions split spaced"><button class="second" name="decision" value="deny">Deny</button>
<button name="decision" value="allow">Authorize</button></p>
</form>
<p class="hint">You can revoke access at any time in <a href="/profile/authorized-applications">Authorized applications</a>.</p>`;
  return { title: `Authorize ${application.name}`, body, layout: 'narrow' };
}
