import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { AttemptRefused } from '../../accounts/attempts.ts';
import { callerOf } from '../../accounts/devices.ts';
import { activeApplication } from '../../accounts/grants.ts';
import { clearSessionCookie, endSession, pendingSessionOf, signInPath } from '../../accounts/sessions.ts';
import { isSecondFactor } from '../../accounts/two-factor.ts';
import { userByPassword } from '../../accounts/users.ts';
import { textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { completeSignIn, continueSignIn, nextPath } from './sign-in-steps.ts';
import { walletButton } from './wallet-sign-in.ts';

/** Sign-in by password, the second factor, and sign-out. */
export function serveSignIn(pages: FastifyInstance, accounts: Accounts): void {
  pages.get<{ Querystring: { next?: string; again?: string } }>('/sign-in', async (request, reply) => {
    const next = nextPath(String(request.query.next ?? ''));
    const { again } = request.query;
    const signedIn = await request.signedIn();
    if (signedIn && again !== 'login' && again !== 'select_account') return seeOther(reply, next);
    const choice = signedIn && again === 'select_account' ? signedIn.user.username : undefined;
    return sendSignIn(accounts, reply, { next, ...(choice === undefined ? {} : { choice }) });
  });

  pages.post('/sign-in', async (request, reply) => {
    const form = formOf(request);
    const next = nextPath(form.text('next'));
    const login = form.text('login');
    try {
      const caller = await callerOf(accounts, request, login);
      const user = await accounts.attempts.run({ what: 'password', account: login, ...caller }, () =>
        userByPassword(accounts, login, form.text('password')),
      );
      if (user) return await continueSignIn(accounts, reply, { user, amr: ['pwd'] }, next);
    } catch (error) {
      if (!(error instanceof AttemptRefused)) throw error;
      reply.headers(error.headers);
      const { message: fault, status } = error;
      return sendSignIn(accounts, reply, { next, login, fault, status });
    }
    const fault = 'Invalid username or password.';
    return sendSignIn(accounts, reply, { next, login, fault, status: 401 });
  });

  pages.get<{ Querystring: { next?: string } }>('/sign-in/two-factor', async (request, reply) => {
    const next = nextPath(String(request.query.next ?? ''));
    if ((await pendingSessionOf(accounts, request)) === null) return seeOther(reply, signInPath(next));
    return sendSecondFactor(reply, { next });
  });

  pages.post('/sign-in/two-factor', async (request, reply) => {
    const form = formOf(request);
    const next = nextPath(form.text('next'));
    const pending = await pendingSessionOf(accounts, request);
    if (pending === null)
      return seeOther(reply, signInPath(next), 'Your sign-in has expired. Sign in again.');
    try {
      const account = pending.user.username;
      const caller = await callerOf(accounts, request, account);
      const proven = await accounts.attempts.run({ what: 'second factor', account, ...caller }, async () =>
        (await isSecondFactor(accounts, pending.user, form.text('code'))) ? true : null,
      );
      const amr = [...pending.session.amr, 'otp', 'mfa'];
      if (proven) return await completeSignIn(accounts, reply, { user: pending.user, amr }, next);
    } catch (error) {
      if (!(error instanceof AttemptRefused)) throw error;
      reply.headers(error.headers);
      const { message: fault, status } = error;
      return sendSecondFactor(reply, { next, fault, status });
    }
    const fault = 'The verification code is incorrect or was already used.';
    return sendSecondFactor(reply, { next, fault, status: 401 });
  });

  pages.post('/sign-out', async (request, reply) => {
    await endSession(accounts, request);
    clearSessionCookie(accounts, reply);
    return seeOther(reply, '/sign-in', 'You have been signed out.');
  });
}

interface SignInForm {
  readonly next: string;
  readonly login?: string;
  /** The account that the visitor is signed in to and may continue with. */
  readonly choice?: string;
  readonly fault?: string;
  readonly status?: number;
}

async function sendSignIn(
  accounts: Accounts,
  reply: FastifyReply,
  { next, login, choice, fault, status = 200 }: SignInForm,
): Promise<FastifyReply> {
  const token = await reply.formToken();
  const isOpen = accounts.settings.SIGN_UP === 'open';
  const request = authorizationRequest(next);
  const application = await activeApplication(accounts, request?.get('client_id') ?? '');
  const hint = application === null ? undefined : (request?.get('login_hint') ?? undefined);
  const body = html`<h1>Sign in to Chain Metrics</h1>
${application && html`<p>The application <b>${application.name}</b> asks you to sign in. You decide afterwards what it may do.</p>`}
${fault && html`<p class="note bad" role="alert">${fault}</p>`}
${choice && html`<p><a class="button second whole" href="${next}">Continue as ${choice}</a></p><p class="or">or</p>`}
<form method="post" action="/sign-in">${token}<input type="hidden" name="next" value="${next}">
${textField({ name: 'login', label: 'Username or email', value: login ?? hint, autocomplete: 'username' })}
${textField({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
<button class="whole">Sign in</button></form>
<p class="aside"><a href="/forgotten-password">Forgotten password?</a></p>
<p class="or">or</p>
${walletButton({ token, purpose: 'sign in', next })}
${isOpen && html`<p class="aside">Don’t have an account yet? <a href="/sign-up?next=${encodeURIComponent(next)}">Create account</a></p>`}`;
  return reply.page({
    title: 'Sign in',
    body,
    layout: 'narrow',
    script: 'wallet.js',
    status,
  });
}

/** The parameters of the authorization request that led to the sign-in page; null if there is none. */
function authorizationRequest(next: string): URLSearchParams | null {
  const { pathname, searchParams } = new URL(next, 'http://localhost');
  return pathname === '/oauth/authorize' ? searchParams : null;
}

async function sendSecondFactor(
  reply: FastifyReply,
  { next, fault, status = 200 }: SignInForm,
): Promise<FastifyReply> {
  const body = html`<h1>Two-factor authentication</h1>
<p class="lead">Enter the code from your authenticator app or a recovery code.</p>
<form method="post" action="/sign-in/two-factor">${await reply.formToken()}
<input type="hidden" name="next" value="${next}">
${textField({ name: 'code', label: 'Verification code', autocomplete: 'one-time-code', isCode: true, fault })}
<button class="whole">Verify code</button></form>
<p class="aside"><a href="${signInPath(next)}">Back to sign in</a></p>`;
  return reply.page({
    title: 'Two-factor authentication',
    body,
    layout: 'narrow',
    status,
  });
}
