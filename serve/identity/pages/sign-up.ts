import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ignore } from '../../../infra/ignore.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { FieldError, faultOf } from '../../accounts/field-error.ts';
import { PASSWORD_CHARACTERS_MIN } from '../../accounts/passwords.ts';
import { signInPath } from '../../accounts/sessions.ts';
import type { User } from '../../accounts/tables.ts';
import { createUser } from '../../accounts/users.ts';
import { addressKey } from '../../http/client-address.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { completeSignIn, nextPath } from './sign-in-steps.ts';

/** Sign-up, if the operator has enabled it. */
export function serveSignUp(pages: FastifyInstance, accounts: Accounts): void {
  pages.get<{ Querystring: { next?: string } }>('/sign-up', async (request, reply) => {
    requireOpenSignUp(accounts);
    return sendSignUp(reply, nextPath(String(request.query.next ?? '')));
  });

  pages.post('/sign-up', async (request, reply) => {
    requireOpenSignUp(accounts);
    const form = formOf(request);
    const next = nextPath(form.text('next'));
    let user: User;
    try {
      user = await signUp(accounts, request, form);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      return sendSignUp(reply, next, form, error);
    }
    const link = (await hasRequestedLink(accounts, user)) ? ' A link that confirms your email was sent.' : '';
    const note = `Welcome to Chain Metrics. Your account was created.${link}`;
    return completeSignIn(accounts, reply, { user, amr: ['pwd'] }, next, note);
  });
}

const signUp = (accounts: Accounts, request: FastifyRequest, form: Form): Promise<User> =>
  accounts.attempts.signUp(addressKey(request), () =>
    createUser(accounts, {
      username: form.text('username'),
      email: form.text('email'),
      password: form.text('password'),
    }),
  );

/** A mail that cannot be sent is no error: the user can request another link on the page Email. */
async function hasRequestedLink({ mailer, mails }: Accounts, user: User): Promise<boolean> {
  if (user.email === '' || !mailer.isConfigured) return false;
  return mails.requestConfirmation(user, user.email).then(() => true, ignore('sign-up.mail', false));
}

function requireOpenSignUp({ settings }: Accounts): void {
  if (settings.SIGN_UP === 'open') return;
  throw new HttpError('forbidden', 'Sign-up is disabled. Ask the operator of this service for an account.');
}

async function sendSignUp(
  reply: FastifyReply,
  next: string,
  form?: Form,
  error?: FieldError,
): Promise<FastifyReply> {
  const body = html`<h1>Create account</h1>
<p class="lead">Create API keys, register applications and receive alerts.</p>
<form method="post" action="/sign-up">${await reply.formToken()}
<input type="hidden" name="next" value="${next}">
${textField({ name: 'username', label: 'Username', value: form?.text('username'), autocomplete: 'username', fault: faultOf(error, 'username'), hint: 'Letters a to z, digits, dots, hyphens and underscores.' })}
${textField({ name: 'email', label: 'Email (optional)', type: 'email', value: form?.text('email'), autocomplete: 'email', required: false, fault: faultOf(error, 'email') })}
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', fault: faultOf(error, 'password'), hint: `At least ${PASSWORD_CHARACTERS_MIN} characters.` })}
<button class="whole">Create account</button></form>
<p class="aside">Already have an account? <a href="${signInPath(next)}">Sign in</a></p>`;
  const status = error === undefined ? 200 : 422;
  return reply.page({ title: 'Create account', body, layout: 'narrow', status });
}
