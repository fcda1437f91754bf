import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { button, scopeField, shownOnce, table, tags, textField, time } from '../../http/pages/fields.ts';
import { formOf, formToken } from '../../http/pages/forms.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { seeOther, sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { isScope, SCOPE_NAMES } from '../accounts/scopes.ts';
import { requireUser } from '../accounts/sessions.ts';
import type { Application, User } from '../accounts/tables.ts';
import {
  ApplicationError,
  applicationsOf,
  authorizedBy,
  describeAnew,
  register,
  remove,
  renewSecret,
  withdraw,
} from '../oauth/applications.ts';

const PATH = '/profile/applications';
const AUTHORIZED = '/profile/authorized-applications';

/** Applications that a user registers, and applications that a user lets in. */
export function serveApplications(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    const user = await requireUser(accounts, request);
    return sendList(accounts, request, reply, user);
  });

  pages.post(PATH, async (request, reply) => {
    const user = await requireUser(accounts, request);
    const form = formOf(request);
    try {
      const { application, secret } = await register(accounts, user, {
        ...described(form),
        is_confidential: form.text('kind') !== 'public',
      });
      return await sendApplication(accounts, request, reply, application, { secret });
    } catch (error) {
      if (!(error instanceof ApplicationError)) throw error;
      return sendList(accounts, request, reply, user, { form, error });
    }
  });

  pages.get<{ Params: { id: string } }>(`${PATH}/:id`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    return sendApplication(accounts, request, reply, await own(accounts, user, request.params.id));
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    const application = await own(accounts, user, request.params.id);
    const form = formOf(request);
    try {
      await describeAnew(accounts, user, application.id, described(form));
      return seeOther(reply, `${PATH}/${application.id}`, 'The changes are kept.');
    } catch (error) {
      if (!(error instanceof ApplicationError)) throw error;
      return sendApplication(accounts, request, reply, application, { form, error });
    }
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id/renew`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    const secret = await renewSecret(accounts, user, request.params.id);
    const application = await own(accounts, user, request.params.id);
    return sendApplication(accounts, request, reply, application, { secret });
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id/remove`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    if (!(await remove(accounts, user, request.params.id))) throw notFound();
    return seeOther(reply, PATH, 'The application is removed; its tokens work no more.');
  });

  serveAuthorized(pages, accounts);
}

function serveAuthorized(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(AUTHORIZED, async (request, reply) => {
    const user = await requireUser(accounts, request);
    const token = await formToken(accounts, request, reply);
    const authorized = await authorizedBy(accounts, user.id);
    const body = html`<h1>Authorized applications</h1>
<p class="lead">Applications of others that may use your account. Take access back here; they have to ask again then.</p>
${table({
  caption: 'Authorized applications',
  head: ['Application', 'May', 'Since', ''],
  rows: authorized.map(({ application, scopes, since_ms }) => [
    html`${application.name}`,
    tags(scopes),
    time(since_ms),
    button(`${AUTHORIZED}/${application.id}/revoke`, token, 'Revoke', `Revoke access of ${application.name}`),
  ]),
  empty: 'No application has access to your account.',
})}`;
    return sendPage(accounts, request, reply, { title: 'Authorized applications', body });
  });

  pages.post<{ Params: { id: string } }>(`${AUTHORIZED}/:id/revoke`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    await withdraw(accounts, user, request.params.id);
    return seeOther(reply, AUTHORIZED, 'Access is taken back; the tokens of the application work no more.');
  });
}

const described = (form: Form) => ({
  name: form.text('name'),
  redirect_uris: form.text('redirect_uris'),
  scopes: form.getAll('scopes'),
});

/** Somebody else's application looks the same as none. */
async function own(accounts: Accounts, user: User, id: string): Promise<Application> {
  const application = await accounts.applications.get(id);
  if (!application || application.owner_id !== user.id || application.revoked_ms > 0) throw notFound();
  return application;
}

const notFound = () => new HttpError('not_found', 'You have no such application.');

interface Told {
  readonly form?: Form;
  readonly error?: ApplicationError;
}

async function sendList(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  { form, error }: Told = {},
): Promise<FastifyReply> {
  const token = await formToken(accounts, request, reply);
  const applications = await applicationsOf(accounts, user.id);
  const kind = form?.text('kind') === 'public' ? 'public' : 'confidential';
  const choice = (value: string, title: string, detail: string) =>
    html`<label class="choice"><input type="radio" name="kind" value="${value}"${kind === value && html` checked`}><div><b>${title}</b><span>${detail}</span></div></label>`;
  const body = html`<h1>Applications</h1>
<p class="lead">Register an application to let it ask users of this service for access, by OAuth 2.0.</p>
${table({
  caption: 'Your applications',
  head: ['Name', 'Application ID', 'Scopes', 'Registered', ''],
  rows: applications.map((one) => [
    html`<a href="${PATH}/${one.id}">${one.name}</a>`,
    html`<code>${one.id.slice(0, 12)}…</code>`,
    tags(one.scopes),
    time(one.created_ms),
    html`<a class="button second small" href="${PATH}/${one.id}" aria-label="Open ${one.name}">Open</a>`,
  ]),
  empty: 'You have registered no application yet.',
})}
<section class="card"><h2>Register an application</h2><form method="post" action="${PATH}">${token}
${describedFields(form, error)}
<fieldset class="field"><legend>Kind</legend>
${choice('confidential', 'Keeps a secret', 'A program on a server of yours.')}
${choice('public', 'Cannot keep a secret', 'An app on a phone, a desktop or in a browser: it uses PKCE instead.')}
</fieldset><button>Register</button></form></section>`;
  return sendPage(accounts, request, reply, { title: 'Applications', body, status: error ? 422 : 200 });
}

function describedFields(
  form: Form | undefined,
  error: ApplicationError | undefined,
  now?: Application,
): Html {
  const faultOf = (field: ApplicationError['field']) => (error?.field === field ? error.message : null);
  return html`${textField({ name: 'name', label: 'Name', value: form?.text('name') ?? now?.name, hint: 'People see it when they are asked.', fault: faultOf('name') })}
${textField({ name: 'redirect_uris', label: 'Redirect URIs', rows: 3, value: form?.text('redirect_uris') ?? now?.redirect_uris.join('\n'), hint: 'One a line, compared letter by letter. https, or http on 127.0.0.1 and [::1], where the port may differ.', fault: faultOf('redirect_uris') })}
${scopeField(SCOPE_NAMES, (form?.getAll('scopes') ?? now?.scopes ?? []).filter(isScope), 'Scopes it may ask for', faultOf('scopes'))}`;
}

async function sendApplication(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  application: Application,
  { secret = null, form, error }: Told & { secret?: string | null } = {},
): Promise<FastifyReply> {
  const token = await formToken(accounts, request, reply);
  const { id, name, is_confidential } = application;
  const body = html`<h1>${name}</h1>
<p class="lead">${is_confidential ? 'Keeps a secret and proves itself with it.' : 'Keeps no secret; every authorization uses PKCE.'}</p>
${secret && shownOnce('Client secret', secret)}
<section class="card"><h2>Application ID</h2><p class="hint">The client_id of its requests.</p><code class="secret" id="client-id">${id}</code>
${is_confidential && secret === null && button(`${PATH}/${id}/renew`, token, 'Renew the secret', `Renew the secret of ${name}`, 'second')}</section>
<section class="card"><h2>Settings</h2><form method="post" action="${PATH}/${id}">${token}
${describedFields(form, error, application)}<button>Keep changes</button></form></section>
<section class="card"><h2>Remove</h2><p>Every token that it was given stops working at once. This cannot be undone.</p>
${button(`${PATH}/${id}/remove`, token, 'Remove the application', `Remove the application ${name}`, 'danger')}</section>`;
  return sendPage(accounts, request, reply, { title: name, body, status: error ? 422 : 200 });
}
