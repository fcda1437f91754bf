import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { textField } from '../../http/pages/fields.ts';
import { formOf, formToken } from '../../http/pages/forms.ts';
import { html } from '../../http/pages/html.ts';
import { seeOther, sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { userByPassword } from '../accounts/people.ts';
import { clearSessionCookie, endSession, halfSessionOf, sessionOf } from '../accounts/sessions.ts';
import { TooManyAttempts, throttled } from '../accounts/throttle.ts';
import { isSecondFactor } from '../accounts/two-factor.ts';
import { enter, finish, nextOf } from './entering.ts';
import { walletButton } from './wallet-sign-in.ts';

/** Signing in by password, the second factor after any way in, and signing out. */
export function serveSignIn(pages: FastifyInstance, accounts: Accounts): void {
  pages.get<{ Querystring: { next?: string } }>('/sign-in', async (request, reply) => {
    const next = nextOf(String(request.query.next ?? ''));
    if (await sessionOf(accounts, request)) return seeOther(reply, next);
    return sendSignIn(accounts, request, reply, { next });
  });

  pages.post('/sign-in', async (request, reply) => {
    const form = formOf(request);
    const next = nextOf(form.text('next'));
    const login = form.text('login');
    try {
      const user = await throttled(accounts, 'password', login, request.ip, () =>
        userByPassword(accounts, login, form.text('password')),
      );
      if (user) return await enter(accounts, request, reply, user, next);
    } catch (error) {
      if (!(error instanceof TooManyAttempts)) throw error;
      reply.headers(error.headers);
      return sendSignIn(accounts, request, reply, { next, login, fault: error.message, status: 429 });
    }
    const fault = 'The user name or password is wrong.';
    return sendSignIn(accounts, request, reply, { next, login, fault, status: 401 });
  });

  pages.get<{ Querystring: { next?: string } }>('/sign-in/two-factor', async (request, reply) => {
    const next = nextOf(String(request.query.next ?? ''));
    if ((await halfSessionOf(accounts, request)) === null) return seeOther(reply, signInPath(next));
    return sendSecondFactor(accounts, request, reply, { next });
  });

  pages.post('/sign-in/two-factor', async (request, reply) => {
    const form = formOf(request);
    const next = nextOf(form.text('next'));
    const half = await halfSessionOf(accounts, request);
    if (half === null) return seeOther(reply, signInPath(next), 'That took too long. Sign in again.');
    try {
      const proven = await throttled(accounts, 'second factor', half.user.username, request.ip, async () =>
        (await isSecondFactor(accounts, half.user, form.text('code'))) ? true : null,
      );
      if (proven) return await finish(accounts, request, reply, half.user, next);
    } catch (error) {
      if (!(error instanceof TooManyAttempts)) throw error;
      reply.headers(error.headers);
      return sendSecondFactor(accounts, request, reply, { next, fault: error.message, status: 429 });
    }
    const fault = 'This code is wrong or was used already.';
    return sendSecondFactor(accounts, request, reply, { next, fault, status: 401 });
  });

  pages.post('/sign-out', async (request, reply) => {
    await endSession(accounts, request);
    clearSessionCookie(accounts, reply);
    return seeOther(reply, '/sign-in', 'You are signed out.');
  });
}

const signInPath = (next: string) => `/sign-in?next=${encodeURIComponent(next)}`;

interface Told {
  readonly next: string;
  readonly login?: string;
  readonly fault?: string;
  readonly status?: number;
}

async function sendSignIn(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  { next, login, fault, status = 200 }: Told,
): Promise<FastifyReply> {
  const token = await formToken(accounts, request, reply);
  const isOpen = accounts.settings.SIGN_UP === 'open';
  const body = html`<h1>Sign in</h1>
<p class="lead">to Chain Metrics</p>
${fault && html`<p class="note bad" role="alert">${fault}</p>`}
<form method="post" action="/sign-in">${token}<input type="hidden" name="next" value="${next}">
${textField({ name: 'login', label: 'User name or e-mail address', value: login, autocomplete: 'username' })}
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
<button class="whole">Sign in</button></form>
<p class="or">or</p>
${walletButton({ token, purpose: 'sign in', next })}
${isOpen && html`<p class="aside">New here? <a href="/sign-up?next=${encodeURIComponent(next)}">Make an account</a></p>`}`;
  return sendPage(accounts, request, reply, {
    title: 'Sign in',
    body,
    layout: 'narrow',
    script: 'wallet.js',
    status,
  });
}

async function sendSecondFactor(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  { next, fault, status = 200 }: Told,
): Promise<FastifyReply> {
  const body = html`<h1>Two-factor authentication</h1>
<p class="lead">Write the code that your authenticator app shows now, or one of your recovery codes.</p>
<form method="post" action="/sign-in/two-factor">${await formToken(accounts, request, reply)}
<input type="hidden" name="next" value="${next}">
${textField({ name: 'code', label: 'Code', autocomplete: 'one-time-code', isCode: true, fault })}
<button class="whole">Go on</button></form>
<p class="aside"><a href="/sign-in">Start again</a></p>`;
  return sendPage(accounts, request, reply, {
    title: 'Two-factor authentication',
    body,
    layout: 'narrow',
    status,
  });
}
