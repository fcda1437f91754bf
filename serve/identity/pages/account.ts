import type { FastifyInstance, FastifyReply } from 'fastify';
import { exportAccount } from '../../accounts/account-export.ts';
import { deleteAccount, findDeletionBlockers } from '../../accounts/account-removal.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError } from '../../accounts/field-error.ts';
import type { DeletionBlocker } from '../../accounts/personal-data.ts';
import { clearSessionCookie } from '../../accounts/sessions.ts';
import type { User } from '../../accounts/tables.ts';
import { HttpError } from '../../http/errors.ts';
import { confirmation, isConfirmed } from '../../pages/confirmation.ts';
import { time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { confirmationField, reauthenticate } from './security.ts';

const PATH = '/profile/account';
/** An export reads every table that may name the user. */
const EXPORTS_PER_HOUR = 10;

/** The page on which users export and delete their account. */
export function serveAccount(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    await request.requireUser();
    const body = html`<h1>Export and deletion</h1>
<p class="lead">Download the data stored about you, or delete your account.</p>
<section class="card"><h2>Export your data</h2>
<p>A JSON file with your account, sessions, keys, applications and wallets, and with the data that projects store about you. It contains no passwords, keys or tokens.</p>
<form method="post" action="${PATH}/export">${await reply.formToken()}<button>Download your data</button></form></section>
<section class="card"><h2>Delete your account</h2>
<p>The next page asks you to confirm the deletion.</p>
<a class="button danger" href="${PATH}/delete">Delete account</a></section>`;
    return reply.page({ title: 'Export and deletion', body });
  });
  serveExport(pages, accounts);
  serveDeletion(pages, accounts);
}

function serveExport(pages: FastifyInstance, accounts: Accounts): void {
  const exports = accounts.limiters({ name: 'account/exports', max: EXPORTS_PER_HOUR, seconds: 3600 });
  pages.post(`${PATH}/export`, async (request, reply) => {
    const user = await request.requireUser();
    if ((await exports.count(user.id)).isExceeded)
      throw new HttpError(
        'too_many_requests',
        'You have downloaded your data too often. Try again in an hour.',
      );
    const data = await exportAccount(accounts, user);
    return reply
      .headers({
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="chain-metrics-${user.username}.json"`,
      })
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(data, null, 2));
  });
}

/** The confirmation requires the username and a factor of the sign-in. */
function serveDeletion(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(`${PATH}/delete`, async (request, reply) =>
    sendConfirmation(accounts, reply, await request.requireUser()),
  );

  pages.post(`${PATH}/delete`, async (request, reply) => {
    const user = await request.requireUser();
    if (!isConfirmed(formOf(request), user.username))
      return sendConfirmation(accounts, reply, user, new FieldError('name', 'Type your username.'));
    try {
      await reauthenticate(accounts, request, user);
    } catch (error) {
      if (!(error instanceof FieldError || error instanceof HttpError)) throw error;
      return sendConfirmation(accounts, reply, user, error);
    }
    const blockers = await deleteAccount(accounts, user);
    if (blockers.length > 0) return sendBlockers(reply, blockers, 409);
    clearSessionCookie(accounts, reply);
    return seeOther(reply, '/sign-in', 'Your account was deleted.');
  });
}

async function sendConfirmation(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  error?: FieldError | HttpError,
): Promise<FastifyReply> {
  const blockers = await findDeletionBlockers(accounts, user);
  if (blockers.length > 0) return sendBlockers(reply, blockers, 200);
  const domains = await accounts.personalData();
  const roles = (await Promise.all(domains.map((domain) => domain.rolesOf(user)))).flatMap(Object.entries);
  const isName = error instanceof FieldError && error.field === 'name';
  if (error instanceof HttpError) reply.headers(error.headers);
  const body = html`${error && !isName && html`<p class="note bad" role="alert">${error.message}</p>`}${confirmation(
    {
      question: `Delete the account ${user.username}?`,
      facts: [
        ['Member since', time(user.created_ms)],
        ...roles.map(([label, names]) => [label, names.join(', ') || 'None'] as const),
      ],
      consequence:
        'You are signed out everywhere. Your keys and tokens stop working, and so do your applications for everybody who uses them. You leave all projects. The next person of a rotation takes your shifts, and policies no longer page you. Your notes and actions in projects stay, without your name. This cannot be undone.',
      action: `${PATH}/delete`,
      token: await reply.formToken(),
      fields: confirmationField(user, 'password'),
      submit: 'Delete account',
      back: PATH,
      name: user.username,
      fault: isName ? error.message : null,
    },
  )}`;
  const status = error === undefined ? 200 : error instanceof HttpError ? error.status : 422;
  return reply.page({ title: 'Delete account', body, status });
}

function sendBlockers(
  reply: FastifyReply,
  blockers: readonly DeletionBlocker[],
  status: number,
): Promise<FastifyReply> {
  const body = html`<h1>Delete account</h1>
<section class="card"><p class="note warn">Your account cannot be deleted yet.</p>
<ul>${blockers.map(({ text, path, link }) => html`<li>${text} <a href="${path}">${link}</a></li>`)}</ul>
<a class="button second" href="${PATH}">Back</a></section>`;
  return reply.page({ title: 'Delete account', body, status });
}
