import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError, faultOf } from '../../accounts/field-error.ts';
import type { User } from '../../accounts/tables.ts';
import { emailOf } from '../../accounts/users.ts';
import { HttpError } from '../../http/errors.ts';
import { NO_MAIL } from '../../mail/mailer.ts';
import { formCard, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { confirmEmail, type OpenLink, openLink } from '../mail/links.ts';
import { sendEndedLink } from './ended-link.ts';
import { confirmationField, reauthenticate } from './security.ts';

const PATH = '/profile/email';
const CONFIRM = '/confirm-email';

/** The email of an account: its confirmation and its change. */
export function serveEmail(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => sendEmail(accounts, reply, await request.requireUser()));

  pages.post(PATH, async (request, reply) => {
    const user = await request.requireUser();
    const given = formOf(request).text('email');
    try {
      const email = newEmail(accounts, user, given);
      await reauthenticate(accounts, request, user);
      await accounts.mails.requestConfirmation(user, email);
      if (email !== user.email) await accounts.mails.notify(user, 'email-change-requested');
      return seeOther(reply, PATH, sentNote(email));
    } catch (error) {
      return sendRefusal(accounts, reply, user, given, error);
    }
  });

  pages.post(`${PATH}/confirmation`, async (request, reply) => {
    const user = await request.requireUser();
    try {
      const email = newEmail(accounts, user, user.email);
      await accounts.mails.requestConfirmation(user, email);
      return seeOther(reply, PATH, sentNote(email));
    } catch (error) {
      return sendRefusal(accounts, reply, user, '', error);
    }
  });

  serveConfirmation(pages, accounts);
}

/**
 * The link requires a session of its account. Otherwise a person could confirm the address for the account of somebody
 * else, who could then sign in to applications with that address.
 */
function serveConfirmation(pages: FastifyInstance, accounts: Accounts): void {
  pages.get<{ Querystring: { link?: string } }>(CONFIRM, async (request, reply) => {
    const user = await request.requireUser();
    const text = String(request.query.link ?? '');
    const link = await openLink(accounts, 'confirm-email', text);
    return link?.user.id === user.id ? sendConfirmation(reply, link, text) : sendEnded(reply);
  });

  pages.post(CONFIRM, async (request, reply) => {
    const user = await request.requireUser();
    const link = await openLink(accounts, 'confirm-email', formOf(request).text('link'));
    if (link?.user.id !== user.id) return sendEnded(reply);
    try {
      await confirmEmail(accounts, link);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      return error.field === 'link' ? sendEnded(reply) : sendRefusal(accounts, reply, user, '', error);
    }
    return seeOther(reply, PATH, `${link.email} is confirmed.`);
  });
}

const sendEnded = (reply: FastifyReply) => sendEndedLink(reply, PATH, 'Email of this account');

const sentNote = (email: string) =>
  `A link was sent to ${email}. Open it in this browser within 24 hours to confirm the address.`;

/** The address to confirm. Throws a `FieldError` if it cannot be confirmed. */
function newEmail({ mailer }: Accounts, user: User, given: string): string {
  if (!mailer.isConfigured) throw new FieldError('mail', NO_MAIL);
  const email = emailOf(given);
  if (email === '') throw new FieldError('email', 'Enter an email.');
  if (email === user.email && user.email_confirmed_ms > 0)
    throw new FieldError('email', 'This email is confirmed already.');
  return email;
}

function sendRefusal(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  given: string,
  error: unknown,
): Promise<FastifyReply> {
  if (error instanceof FieldError) return sendEmail(accounts, reply, user, { given, error, status: 422 });
  if (!(error instanceof HttpError)) throw error;
  const { headers, message, status } = error;
  return sendEmail(accounts, reply.headers(headers), user, {
    given,
    error: new FieldError('mail', message),
    status,
  });
}

interface Refused {
  readonly given: string;
  readonly error: FieldError;
  readonly status: number;
}

async function sendEmail(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  refused?: Refused,
): Promise<FastifyReply> {
  const token = await reply.formToken();
  const { error, given, status = 200 } = refused ?? {};
  const { email, email_confirmed_ms } = user;
  const isOpen = email !== '' && email_confirmed_ms === 0;
  const canMail = accounts.mailer.isConfigured;
  const fault = faultOf(error, 'email');
  const body = html`<h1>Email</h1>
<p class="lead">Pages, notices about your account and links to set a new password are sent to a confirmed email.</p>
${error && fault === null && html`<p class="note bad" role="alert">${error.message}</p>`}
<section class="card"><h2>Current email</h2>
<p>${email === '' ? 'Not set' : html`<b>${email}</b> ${isOpen ? html`<span class="tag warn">Not confirmed</span>` : html`<span class="tag good">Confirmed</span>`}`}</p>
${isOpen && canMail && html`<form method="post" action="${PATH}/confirmation">${token}<button class="second">Send confirmation link</button></form>`}
${isOpen && !canMail && html`<p>The operator can confirm it: <code>chain-metrics users confirm-email ${user.username}</code>.</p>`}
${!canMail && html`<p class="note warn">${NO_MAIL}</p>`}</section>
${
  canMail &&
  formCard({
    title: email === '' ? 'Set email' : 'Change email',
    action: PATH,
    token,
    fields: html`${textField({ name: 'email', label: 'New email', type: 'email', value: given, autocomplete: 'email', fault, hint: 'You get a link at this address. Your email changes when you confirm it with the link.' })}
${confirmationField(user, 'password-email')}`,
    submit: 'Send confirmation link',
  })
}`;
  return reply.page({ title: 'Email', body, status });
}

async function sendConfirmation(
  reply: FastifyReply,
  { user, email }: OpenLink,
  text: string,
): Promise<FastifyReply> {
  const body = html`<h1>Confirm your email</h1>
<p class="lead"><b>${email}</b> becomes the confirmed email of the account <b>${user.username}</b>.</p>
<form method="post" action="${CONFIRM}">${await reply.formToken()}<input type="hidden" name="link" value="${text}">
<button class="whole">Confirm email</button></form>`;
  return reply.page({ title: 'Confirm your email', body, layout: 'narrow' });
}
