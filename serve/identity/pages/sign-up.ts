import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { textField } from '../../http/pages/fields.ts';
import { formOf, formToken } from '../../http/pages/forms.ts';
import { html } from '../../http/pages/html.ts';
import { sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { PASSWORD_CHARACTERS_MIN } from '../accounts/passwords.ts';
import { AccountError, createUser } from '../accounts/people.ts';
import type { User } from '../accounts/tables.ts';
import { throttled } from '../accounts/throttle.ts';
import { finish, nextOf } from './entering.ts';

/** Making an account, where the operator lets people do it by themselves. */
export function serveSignUp(pages: FastifyInstance, accounts: Accounts): void {
  pages.get<{ Querystring: { next?: string } }>('/sign-up', async (request, reply) => {
    mustBeOpen(accounts);
    return sendSignUp(accounts, request, reply, nextOf(String(request.query.next ?? '')));
  });

  pages.post('/sign-up', async (request, reply) => {
    mustBeOpen(accounts);
    const form = formOf(request);
    const next = nextOf(form.text('next'));
    let user: User;
    try {
      user = await makeUser(accounts, request, form);
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return sendSignUp(accounts, request, reply, next, form, error);
    }
    return finish(accounts, request, reply, user, next, 'Welcome. Your account is ready.');
  });
}

/** Every try counts, also one that succeeds: nobody needs many accounts in a quarter of an hour. */
async function makeUser(accounts: Accounts, request: FastifyRequest, form: Form): Promise<User> {
  await throttled(accounts, 'sign-up', request.ip, request.ip, async () => null);
  return createUser(accounts, {
    username: form.text('username'),
    email: form.text('email'),
    password: form.text('password'),
  });
}

function mustBeOpen({ settings }: Accounts): void {
  if (settings.SIGN_UP === 'open') return;
  throw new HttpError('forbidden', 'Accounts are made by the operator of this service. Ask there for one.');
}

async function sendSignUp(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  next: string,
  form?: Form,
  error?: AccountError,
): Promise<FastifyReply> {
  const faultOf = (field: AccountError['field']) => (error?.field === field ? error.message : null);
  const body = html`<h1>Make an account</h1>
<p class="lead">For API keys, applications and alerts.</p>
<form method="post" action="/sign-up">${await formToken(accounts, request, reply)}
<input type="hidden" name="next" value="${next}">
${textField({ name: 'username', label: 'User name', value: form?.text('username'), autocomplete: 'username', fault: faultOf('username'), hint: 'Letters a to z, digits, dots, hyphens and underscores.' })}
${textField({ name: 'email', label: 'E-mail address (optional)', type: 'email', value: form?.text('email'), autocomplete: 'email', required: false, fault: faultOf('email') })}
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', fault: faultOf('password'), hint: `At least ${PASSWORD_CHARACTERS_MIN} characters.` })}
<button class="whole">Make the account</button></form>
<p class="aside">You have one? <a href="/sign-in?next=${encodeURIComponent(next)}">Sign in</a></p>`;
  const status = error === undefined ? 200 : 422;
  return sendPage(accounts, request, reply, { title: 'Make an account', body, layout: 'narrow', status });
}
