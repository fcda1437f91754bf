import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError, faultOf } from '../../accounts/field-error.ts';
import { registeredApplication } from '../../accounts/grants.ts';
import { isScope } from '../../accounts/scopes.ts';
import type { Application, User } from '../../accounts/tables.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { confirmation, isConfirmed } from '../../pages/confirmation.ts';
import {
  button,
  copyable,
  formCard,
  scopeField,
  secretCard,
  table,
  tags,
  textField,
  time,
} from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { showOnce, takeSecret } from '../../pages/shown-once.ts';
import {
  applicationsOf,
  authorizedApplications,
  createApplication,
  deleteApplication,
  renewSecret,
  revokeAuthorization,
  updateApplication,
} from '../oauth/applications.ts';
import { SIGNING_ALGS } from '../openid/signing-keys.ts';

const PATH = '/profile/applications';
const AUTHORIZED = '/profile/authorized-applications';

/** The applications of a user, and the applications that a user has authorized. */
export function serveApplications(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    const user = await request.requireUser();
    return sendList(accounts, reply, user);
  });

  pages.post(PATH, async (request, reply) => {
    const user = await request.requireUser();
    const form = formOf(request);
    try {
      const { application, secret } = await createApplication(accounts, user, {
        ...readFields(form),
        is_confidential: form.text('kind') !== 'public',
      });
      const path = `${PATH}/${application.id}`;
      return secret === null
        ? seeOther(reply, path, 'The application was created.')
        : await showOnce(accounts, reply, user, path, secret);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      return sendList(accounts, reply, user, { form, error });
    }
  });

  pages.get<{ Params: { id: string } }>(`${PATH}/:id`, async (request, reply) => {
    const user = await request.requireUser();
    const application = await own(accounts, user, request.params.id);
    const secret = await takeSecret(accounts, request, user);
    return sendApplication(reply, application, { secret });
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id`, async (request, reply) => {
    const user = await request.requireUser();
    const application = await own(accounts, user, request.params.id);
    const form = formOf(request);
    try {
      await updateApplication(accounts, user, application.id, readFields(form));
      return seeOther(reply, `${PATH}/${application.id}`, 'The application was updated.');
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      return sendApplication(reply, application, { form, error });
    }
  });

  pages.post<{ Params: { id: string } }>(`${PATH}/:id/renew`, async (request, reply) => {
    const user = await request.requireUser();
    const secret = await renewSecret(accounts, user, request.params.id);
    if (secret === null) throw notFound();
    return showOnce(accounts, reply, user, `${PATH}/${request.params.id}`, secret);
  });

  serveRemoval(pages, accounts);
  serveAuthorized(pages, accounts);
}

/** Deletes only after confirmation. */
function serveRemoval(pages: FastifyInstance, accounts: Accounts): void {
  const sendConfirmation = async (reply: FastifyReply, user: User, applicationId: string, status: number) => {
    const { id, name, created_ms, redirect_uris } = await own(accounts, user, applicationId);
    const body = confirmation({
      question: `Delete the application ${name}?`,
      facts: [
        ['Redirect URIs', redirect_uris.join(' ')],
        ['Created', time(created_ms)],
      ],
      consequence:
        'All tokens of the application are revoked immediately, and its users can no longer authorize it. This cannot be undone.',
      action: `${PATH}/${id}/remove`,
      token: await reply.formToken(),
      submit: 'Delete application',
      back: `${PATH}/${id}`,
    });
    return reply.page({ title: `Delete ${name}`, body, status });
  };
  pages.get<{ Params: { id: string } }>(`${PATH}/:id/remove`, async (request, reply) =>
    sendConfirmation(reply, await request.requireUser(), request.params.id, 200),
  );
  pages.post<{ Params: { id: string } }>(`${PATH}/:id/remove`, async (request, reply) => {
    const user = await request.requireUser();
    if (!isConfirmed(formOf(request))) return sendConfirmation(reply, user, request.params.id, 422);
    if (!(await deleteApplication(accounts, user, request.params.id))) throw notFound();
    return seeOther(reply, PATH, 'The application was deleted and its tokens were revoked.');
  });
}

function serveAuthorized(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(AUTHORIZED, async (request, reply) => {
    const user = await request.requireUser();
    const token = await reply.formToken();
    const authorized = await authorizedApplications(accounts, user);
    const body = html`<h1>Authorized applications</h1>
<p class="lead">Applications that you have authorized to use your account. If you revoke access, an application must ask for authorization again.</p>
${table({
  caption: 'Authorized applications',
  head: ['Application', 'Scopes', 'Authorized', ''],
  rows: authorized.map(({ application, scopes, since_ms }) => [
    html`${application.name}${application.blocked_ms > 0 && html` <span class="tag warn">Blocked</span>`}`,
    tags(scopes),
    time(since_ms),
    button(`${AUTHORIZED}/${application.id}/revoke`, token, 'Revoke', `Revoke access of ${application.name}`),
  ]),
  empty: 'You have no authorized applications.',
})}`;
    return reply.page({ title: 'Authorized applications', body });
  });

  pages.post<{ Params: { id: string } }>(`${AUTHORIZED}/:id/revoke`, async (request, reply) => {
    const user = await request.requireUser();
    await revokeAuthorization(accounts, user, request.params.id);
    return seeOther(reply, AUTHORIZED, 'Access was revoked, together with all tokens of the application.');
  });
}

const readFields = (form: Form) => ({
  name: form.text('name'),
  redirect_uris: form.text('redirect_uris'),
  post_logout_redirect_uris: form.text('post_logout_redirect_uris'),
  id_token_alg: form.text('id_token_alg') || SIGNING_ALGS[0],
  scopes: form.getAll('scopes'),
});

/** An application of another user is not found. */
async function own(accounts: Accounts, user: User, id: string): Promise<Application> {
  const application = await registeredApplication(accounts, id);
  if (application?.owner_id !== user.id) throw notFound();
  return application;
}

const notFound = () => new HttpError('not_found', 'The application was not found.');

interface InvalidInput {
  readonly form?: Form;
  readonly error?: FieldError;
}

async function sendList(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  { form, error }: InvalidInput = {},
): Promise<FastifyReply> {
  const token = await reply.formToken();
  const applications = await applicationsOf(accounts, user.id);
  const kind = form?.text('kind') === 'public' ? 'public' : 'confidential';
  const body = html`<h1>Applications</h1>
<p class="lead">Manage applications that use Chain Metrics as an OAuth 2.0 provider.</p>
${table({
  caption: 'Your applications',
  head: ['Name', 'Application ID', 'Scopes', 'Created', ''],
  rows: applications.map((application) => [
    html`<a href="${PATH}/${application.id}">${application.name}</a>${application.blocked_ms > 0 && html` <span class="tag warn">Blocked</span>`}`,
    html`<code>${application.id.slice(0, 12)}…</code>`,
    tags(application.scopes),
    time(application.created_ms),
    html`<a class="button second small" href="${PATH}/${application.id}" aria-label="View ${application.name}">View</a>`,
  ]),
  empty: 'You have no applications.',
})}
${formCard({
  title: 'New application',
  action: PATH,
  token,
  fields: html`${applicationFields(form, error)}
<fieldset class="field"><legend>Type</legend>
${choice('kind', kind, { value: 'confidential', title: 'Confidential', detail: 'Runs on a server, where the client secret can be kept confidential.' })}
${choice('kind', kind, { value: 'public', title: 'Public', detail: 'A mobile, desktop or single-page application. It uses PKCE instead of a client secret.' })}
</fieldset>`,
  submit: 'Create application',
})}`;
  return reply.page({ title: 'Applications', body, status: error ? 422 : 200 });
}

interface Choice {
  readonly value: string;
  readonly title: string;
  readonly detail: string;
}

const choice = (name: string, chosen: string, { value, title, detail }: Choice): Html =>
  html`<label class="choice"><input type="radio" name="${name}" value="${value}"${chosen === value && html` checked`}><div><b>${title}</b><span>${detail}</span></div></label>`;

const ALGORITHM_CHOICES: Readonly<Record<(typeof SIGNING_ALGS)[number], string>> = {
  RS256: 'Supported by every OpenID Connect client.',
  ES256: 'Shorter tokens, for clients that support elliptic curves.',
};

function applicationFields(form: Form | undefined, error: FieldError | undefined, now?: Application): Html {
  const algorithm = form?.text('id_token_alg') || (now?.id_token_alg ?? SIGNING_ALGS[0]);
  const algorithmFault = faultOf(error, 'id_token_alg');
  return html`${textField({ name: 'name', label: 'Name', value: form?.text('name') ?? now?.name, hint: 'Shown to users on the authorization page.', fault: faultOf(error, 'name') })}
${textField({ name: 'redirect_uris', label: 'Redirect URIs', rows: 3, value: form?.text('redirect_uris') ?? now?.redirect_uris.join('\n'), hint: 'One URI per line. URIs must match exactly. Use https, http on localhost, 127.0.0.1 or [::1], where any port is accepted, or a scheme of your own such as org.example.app://callback.', fault: faultOf(error, 'redirect_uris') })}
${textField({ name: 'post_logout_redirect_uris', label: 'Redirect URIs after sign-out', rows: 2, required: false, value: form?.text('post_logout_redirect_uris') ?? now?.post_logout_redirect_uris.join('\n'), hint: 'Optional. Pages of the application to which it may send users through /oauth/logout. One URI per line, with the same rules.', fault: faultOf(error, 'post_logout_redirect_uris') })}
${scopeField((form?.getAll('scopes') ?? now?.scopes ?? []).filter(isScope), faultOf(error, 'scopes'))}
<fieldset class="field"${algorithmFault && html` aria-describedby="id_token_alg-fault"`}><legend>ID token algorithm</legend>
${SIGNING_ALGS.map((value) => choice('id_token_alg', algorithm, { value, title: value, detail: ALGORITHM_CHOICES[value] }))}
${algorithmFault && html`<p class="fault" id="id_token_alg-fault">${algorithmFault}</p>`}</fieldset>`;
}

async function sendApplication(
  reply: FastifyReply,
  application: Application,
  { secret = null, form, error }: InvalidInput & { secret?: string | null } = {},
): Promise<FastifyReply> {
  const token = await reply.formToken();
  const { id, name, is_confidential } = application;
  const body = html`<h1>${name}</h1>
<p class="lead">${is_confidential ? 'Confidential application. It authenticates with its client secret.' : 'Public application. It has no client secret and must use PKCE.'}</p>
${application.blocked_ms > 0 && html`<p class="note bad" role="alert">The operator of this service has blocked the application. Users cannot authorize it, and its tokens are refused.</p>`}
${secret && secretCard('Client secret', secret)}
<section class="card"><h2>Application ID</h2><p class="hint">Sent as client_id in OAuth 2.0 requests.</p>${copyable('client-id', id, 'application ID')}
${is_confidential && secret === null && button(`${PATH}/${id}/renew`, token, 'Renew secret', `Renew secret of ${name}`, 'second')}</section>
${formCard({ title: 'Settings', action: `${PATH}/${id}`, token, fields: applicationFields(form, error, application), submit: 'Save changes' })}
<section class="card"><h2>Delete application</h2><p>All tokens of the application are revoked immediately. This cannot be undone.</p>
<a class="button danger" href="${PATH}/${id}/remove" aria-label="Delete application ${name}">Delete application</a></section>`;
  const status = error ? 422 : 200;
  return reply.page({ title: name, body, script: 'copy.js', status });
}
