import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderSVG } from 'uqr';
import type { Accounts } from '../../accounts/accounts.ts';
import { rememberCaller } from '../../accounts/devices.ts';
import { FieldError, faultOf } from '../../accounts/field-error.ts';
import { setPassword } from '../../accounts/password-change.ts';
import { isPasswordOf, PASSWORD_CHARACTERS_MIN } from '../../accounts/passwords.ts';
import { startSession } from '../../accounts/sessions.ts';
import type { User } from '../../accounts/tables.ts';
import {
  disableTwoFactor,
  enableTwoFactor,
  isSecondFactor,
  newTotpSecret,
  regenerateRecoveryCodes,
  totpUri,
} from '../../accounts/two-factor.ts';
import { walletsOf } from '../../accounts/wallets.ts';
import { addressKey } from '../../http/client-address.ts';
import { HttpError } from '../../http/errors.ts';
import { formCard, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { showOnce, takeSecret } from '../../pages/shown-once.ts';

const PATH = '/profile/security';
const CODES = `${PATH}/recovery-codes`;
/** A sign-in counts as recent for this time. */
const RECENT_MS = 15 * 60_000;

/** Password and two-factor authentication. Every change requires reauthentication. */
export function serveSecurity(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    const user = await request.requireUser();
    return sendSecurity(accounts, reply, user);
  });
  servePasswordChange(pages, accounts);
  pages.get(`${PATH}/two-factor`, async (request, reply) => {
    const user = await request.requireUser();
    if (user.totp_secret !== '') return seeOther(reply, PATH);
    return sendSetUp(accounts, reply, user, newTotpSecret());
  });

  pages.post(`${PATH}/two-factor`, async (request, reply) => {
    const user = await request.requireUser();
    const secret = readSecret(accounts, user, formOf(request).text('setup'));
    if (user.totp_secret !== '') return seeOther(reply, PATH);
    try {
      await reauthenticate(accounts, request, user, { recentIsEnough: true });
      const codes = await enableTwoFactor(accounts, user, secret, formOf(request).text('code'));
      return await showCodes(accounts, reply, user, codes);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      return sendSetUp(accounts, reply, user, secret, error);
    }
  });

  pages.post(`${PATH}/two-factor/off`, async (request, reply) => {
    const user = await request.requireUser();
    try {
      await reauthenticate(accounts, request, user);
    } catch (error) {
      return sendRefusal(accounts, reply, user, error);
    }
    await disableTwoFactor(accounts, user.id);
    return seeOther(reply, PATH, 'Two-factor authentication was disabled.');
  });

  pages.post(CODES, async (request, reply) => {
    const user = await request.requireUser();
    try {
      await reauthenticate(accounts, request, user);
      return await showCodes(accounts, reply, user, await regenerateRecoveryCodes(accounts, user));
    } catch (error) {
      return sendRefusal(accounts, reply, user, error);
    }
  });

  pages.get(CODES, async (request, reply) => {
    const user = await request.requireUser();
    const codes = await takeSecret(accounts, request, user);
    return codes === null ? seeOther(reply, PATH) : sendCodes(reply, codes.split(' '));
  });
}

function servePasswordChange(pages: FastifyInstance, accounts: Accounts): void {
  pages.post(`${PATH}/password`, async (request, reply) => {
    const user = await request.requireUser();
    let changed: Awaited<ReturnType<typeof setPassword>>;
    try {
      await reauthenticate(accounts, request, user);
      const form = formOf(request);
      // A user without a password has no other way to sign in than wallets.
      const keepWallets = user.password_hash === '' || form.has('keep_wallets');
      changed = await setPassword(accounts, user, form.text('new_password'), { keepWallets });
    } catch (error) {
      return sendRefusal(accounts, reply, user, error);
    }
    // The new password ended all sessions, so this browser gets a new session.
    const amr = (await request.signedIn())?.session.amr ?? [];
    await startSession(accounts, reply, changed.user, { amr });
    await rememberCaller(accounts, reply, changed.user);
    const wallets = changed.unlinkedWallets === 0 ? '' : ' All linked wallets were unlinked.';
    return seeOther(reply, PATH, `The password was changed. All other sessions were signed out.${wallets}`);
  });
}

/**
 * A session alone must not be enough to take over an account: a change requires the password, or a verification code
 * if the account has no password, or a recent sign-in when it has neither.
 */
export async function reauthenticate(
  accounts: Accounts,
  request: FastifyRequest,
  user: User,
  { recentIsEnough = false }: { readonly recentIsEnough?: boolean } = {},
): Promise<void> {
  const isRecent = await hasSignedInRecently(accounts, request);
  if (recentIsEnough && isRecent) return;
  const form = formOf(request);
  const account = user.username;
  // All attempts of a session share one budget.
  const session = await request.signedIn();
  const caller = { address: addressKey(request), device: session?.session.id ?? null };
  if (user.password_hash !== '') {
    const proven = await accounts.attempts.run({ what: 'password', account, ...caller }, async () =>
      (await isPasswordOf(user.password_hash, form.text('password'))) ? true : null,
    );
    if (!proven) throw new FieldError('password', 'Current password is incorrect.');
  } else if (user.totp_secret !== '') {
    const proven = await accounts.attempts.run({ what: 'second factor', account, ...caller }, async () =>
      (await isSecondFactor(accounts, user, form.text('code'))) ? true : null,
    );
    if (!proven) throw new FieldError('code', 'The verification code is incorrect or was already used.');
  } else if (!isRecent) {
    throw new FieldError('session', 'Sign out and sign in again with your wallet, then repeat the change.');
  }
}

async function hasSignedInRecently(accounts: Accounts, request: FastifyRequest): Promise<boolean> {
  const signedIn = await request.signedIn();
  return signedIn !== null && accounts.clock.now() - signedIn.session.created_ms < RECENT_MS;
}

/** The field that `reauthenticate` reads. `id` distinguishes it from that of another form of the page. */
export function confirmationField(user: User, id: string): Html | false {
  if (user.password_hash !== '') {
    const label = 'Current password';
    return textField({ name: 'password', id, label, type: 'password', autocomplete: 'current-password' });
  }
  return (
    user.totp_secret !== '' &&
    textField({ name: 'code', id, label: 'Verification code', autocomplete: 'one-time-code', isCode: true })
  );
}

function sendRefusal(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  error: unknown,
): Promise<FastifyReply> {
  if (error instanceof HttpError) {
    return sendSecurity(accounts, reply.headers(error.headers), user, error.message, error.status);
  }
  if (!(error instanceof FieldError)) throw error;
  return sendSecurity(accounts, reply, user, error.message, 422);
}

const KEEP_WALLETS = html`<label class="choice"><input type="checkbox" name="keep_wallets" value="on"><div><b>Keep the linked wallets</b><span>Otherwise they are unlinked: somebody who knew the password may have linked one.</span></div></label>`;

/** The secret passes through the browser during set-up. It is signed, so that it cannot be replaced. */
const setUpField = (accounts: Accounts, { id }: User, secret: string) =>
  `${secret}.${accounts.seal.sign(`totp set-up ${id}`, secret)}`;

function readSecret(accounts: Accounts, { id }: User, field: string): string {
  const [secret = '', signature = ''] = field.split('.');
  if (!accounts.seal.isSigned(`totp set-up ${id}`, secret, signature)) {
    throw new HttpError('bad_request', 'The form is invalid. Reload the page and try again.');
  }
  return secret;
}

async function sendSecurity(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  fault?: string,
  status = 200,
): Promise<FastifyReply> {
  const token = await reply.formToken();
  const hasPassword = user.password_hash !== '';
  const hasWallets = (await walletsOf(accounts, user.id)).length > 0;
  const twoFactor =
    user.totp_secret === ''
      ? html`<p><span class="tag warn">Disabled</span> Require a verification code from an authenticator app in addition to your password or wallet.</p>
<p><a class="button" href="${PATH}/two-factor">Enable two-factor authentication</a></p>`
      : html`<p><span class="tag good">Enabled</span> Unused recovery codes: ${user.recovery_hashes.length}. Scripts authenticate with <a href="/profile/tokens">personal access tokens</a>.</p>
<form method="post" action="${CODES}">${token}${confirmationField(user, 'password-codes')}
<p class="actions"><button class="second">Regenerate recovery codes</button><button class="danger" formaction="${PATH}/two-factor/off">Disable two-factor authentication</button></p></form>`;
  const body = html`<h1>Security</h1>
<p class="lead">Change your password and manage two-factor authentication.</p>
${fault && html`<p class="note bad" role="alert">${fault}</p>`}
<section class="card"><h2>Two-factor authentication</h2>${twoFactor}</section>
${formCard({
  title: hasPassword ? 'Change password' : 'Set password',
  action: `${PATH}/password`,
  token,
  fields: html`${confirmationField(user, 'password-change')}
${textField({ name: 'new_password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: `At least ${PASSWORD_CHARACTERS_MIN} characters. All other sessions are signed out. API keys, personal access tokens and authorized applications keep their access: revoke what you do not recognize.` })}
${hasPassword && hasWallets && KEEP_WALLETS}`,
  submit: hasPassword ? 'Change password' : 'Set password',
})}`;
  return reply.page({ title: 'Security', body, status });
}

async function sendSetUp(
  accounts: Accounts,
  reply: FastifyReply,
  user: User,
  secret: string,
  error?: FieldError,
): Promise<FastifyReply> {
  const { request } = reply;
  const isRecent = await hasSignedInRecently(accounts, request);
  const picture = `data:image/svg+xml;base64,${Buffer.from(renderSVG(totpUri(secret, user.username), { border: 0 })).toString('base64')}`;
  const body = html`<h1>Enable two-factor authentication</h1>
${error && error.field !== 'code' && html`<p class="note bad" role="alert">${error.message}</p>`}
<p class="lead">Scan the QR code with an authenticator app, then enter the verification code.</p>
<section class="card"><img class="qr" src="${picture}" alt="QR code for an authenticator app; the same secret is below as text" width="184" height="184">
<p class="hint">Can’t scan the code? Enter this key in the app:</p><code class="secret" id="totp-secret">${secret}</code>
<form method="post" action="${PATH}/two-factor">${await reply.formToken()}
<input type="hidden" name="setup" value="${setUpField(accounts, user, secret)}">
${textField({ name: 'code', label: 'Verification code', autocomplete: 'one-time-code', isCode: true, fault: faultOf(error, 'code') })}
${isRecent ? null : confirmationField(user, 'password-set-up')}
<p class="actions"><button>Enable two-factor authentication</button><a class="button second" href="${PATH}">Cancel</a></p></form></section>`;
  return reply.page({
    title: 'Two-factor authentication',
    body,
    status: error === undefined ? 200 : 422,
  });
}

const showCodes = (accounts: Accounts, reply: FastifyReply, user: User, codes: readonly string[]) =>
  showOnce(accounts, reply, user, CODES, codes.join(' '));

async function sendCodes(reply: FastifyReply, codes: readonly string[]): Promise<FastifyReply> {
  const body = html`<h1>Recovery codes</h1>
<p class="lead">If you lose your device, sign in with a recovery code. Each code can be used once.</p>
<section class="card"><p class="note warn">Save these codes in a safe place. You cannot view them again.</p>
<ul class="codes" id="recovery-codes">${codes.map((code) => html`<li>${code.match(/.{1,5}/g)?.join('-')}</li>`)}</ul>
<a class="button" href="${PATH}">Continue</a></section>`;
  return reply.page({ title: 'Recovery codes', body });
}
