import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { callerOf } from '../../accounts/devices.ts';
import { FieldError, faultOf } from '../../accounts/field-error.ts';
import { PASSWORD_CHARACTERS_MIN } from '../../accounts/passwords.ts';
import { emailOf } from '../../accounts/users.ts';
import { HttpError } from '../../http/errors.ts';
import { NO_MAIL } from '../../mail/mailer.ts';
import { textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { type OpenLink, openLink, resetPassword } from '../mail/links.ts';
import { sendEndedLink } from './ended-link.ts';

const PATH = '/forgotten-password';
const RESET = '/reset-password';

/** A new password by a mailed link. No response reveals whether an account exists: only the mail job looks it up. */
export function serveForgottenPassword(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (_request, reply) => sendRequest(accounts, reply));

  pages.post(PATH, async (request, reply) => {
    const given = formOf(request).text('email');
    if (!accounts.mailer.isConfigured) return sendRequest(accounts, reply);
    try {
      const email = emailOf(given);
      if (email === '') throw new FieldError('email', 'Enter your email.');
      await accounts.mails.requestReset(email, await callerOf(accounts, request, email));
    } catch (error) {
      if (error instanceof FieldError) return sendRequest(accounts, reply, given, error.message, 422);
      if (!(error instanceof HttpError)) throw error;
      return sendRequest(accounts, reply.headers(error.headers), given, error.message, error.status);
    }
    return seeOther(
      reply,
      '/sign-in',
      'If an account has confirmed this email, a link to set a new password was sent to it. It is valid for 30 minutes.',
    );
  });

  pages.get<{ Querystring: { link?: string } }>(RESET, async (request, reply) => {
    const text = String(request.query.link ?? '');
    const link = await openLink(accounts, 'reset-password', text);
    return link === null ? sendEnded(reply) : sendReset(reply, link, text);
  });

  pages.post(RESET, async (request, reply) => {
    const form = formOf(request);
    const text = form.text('link');
    const link = await openLink(accounts, 'reset-password', text);
    if (link === null) return sendEnded(reply);
    try {
      await resetPassword(accounts, link, form.text('new_password'));
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      return error.field === 'link' ? sendEnded(reply) : sendReset(reply, link, text, error);
    }
    return seeOther(reply, '/sign-in', 'The password was changed. Sign in with the new password.');
  });
}

const sendEnded = (reply: FastifyReply) => sendEndedLink(reply, PATH, 'Ask for a new link');

async function sendRequest(
  accounts: Accounts,
  reply: FastifyReply,
  value?: string,
  fault?: string,
  status = 200,
): Promise<FastifyReply> {
  const form = html`<p class="lead">Enter the email of your account. If you have confirmed it, you get a link to set a new password.</p>
<form method="post" action="${PATH}">${await reply.formToken()}
${textField({ name: 'email', label: 'Email', type: 'email', value, autocomplete: 'email', fault })}
<button class="whole">Send link</button></form>`;
  const advice = html`<p class="note warn">${NO_MAIL}</p>
<p>The operator can set a new password for you: <code>chain-metrics users reset-password NAME</code>.</p>`;
  const body = html`<h1>Forgotten password</h1>
${accounts.mailer.isConfigured ? form : advice}
<p class="aside"><a href="/sign-in">Back to sign in</a></p>`;
  return reply.page({ title: 'Forgotten password', body, layout: 'narrow', status });
}

async function sendReset(
  reply: FastifyReply,
  { user }: OpenLink,
  text: string,
  error?: FieldError,
): Promise<FastifyReply> {
  const body = html`<h1>Set a new password</h1>
<p class="lead">For the account <b>${user.username}</b>. All sessions are signed out and linked wallets are unlinked. Two-factor authentication stays enabled.</p>
<form method="post" action="${RESET}">${await reply.formToken()}<input type="hidden" name="link" value="${text}">
${textField({ name: 'new_password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: `At least ${PASSWORD_CHARACTERS_MIN} characters.`, fault: faultOf(error, 'password') })}
<button class="whole">Set password</button></form>`;
  const status = error === undefined ? 200 : 422;
  return reply.page({ title: 'Set a new password', body, layout: 'narrow', status });
}
