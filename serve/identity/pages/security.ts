import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderSVG } from 'uqr';
import { HttpError } from '../../http/errors.ts';
import { textField } from '../../http/pages/fields.ts';
import { formOf, formToken } from '../../http/pages/forms.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { seeOther, sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { isPasswordOf, PASSWORD_CHARACTERS_MIN } from '../accounts/passwords.ts';
import { AccountError, setPassword } from '../accounts/people.ts';
import { requireUser, startSession } from '../accounts/sessions.ts';
import type { User } from '../accounts/tables.ts';
import { throttled } from '../accounts/throttle.ts';
import {
  isSecondFactor,
  newTotpSecret,
  renewRecoveryCodes,
  totpUri,
  turnOff,
  turnOn,
} from '../accounts/two-factor.ts';

const PATH = '/profile/security';

/** Password and two-factor authentication. Each change asks for the password again, where there is one. */
export function serveSecurity(pages: FastifyInstance, accounts: Accounts): void {
  pages.get(PATH, async (request, reply) => {
    const user = await requireUser(accounts, request);
    return sendSecurity(accounts, request, reply, user);
  });

  pages.post(`${PATH}/password`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    try {
      await proveAgain(accounts, request, user);
      await setPassword(accounts, user, formOf(request).text('new_password'));
    } catch (error) {
      return tell(accounts, request, reply, user, error);
    }
    // Every session ended with the old password; this one goes on.
    const changed = await accounts.users.get(user.id);
    if (changed) await startSession(accounts, request, reply, changed);
    return seeOther(reply, PATH, 'The password is changed. All other sessions are signed out.');
  });

  pages.get(`${PATH}/two-factor`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    if (user.totp_secret !== '') return seeOther(reply, PATH);
    return sendSetUp(accounts, request, reply, user, newTotpSecret());
  });

  pages.post(`${PATH}/two-factor`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    const secret = readSecret(accounts, user, formOf(request).text('setup'));
    if (user.totp_secret !== '') return seeOther(reply, PATH);
    try {
      const codes = await turnOn(accounts, user, secret, formOf(request).text('code'));
      return await sendCodes(accounts, request, reply, codes);
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      return sendSetUp(accounts, request, reply, user, secret, error.message);
    }
  });

  pages.post(`${PATH}/two-factor/off`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    try {
      await proveAgain(accounts, request, user);
    } catch (error) {
      return tell(accounts, request, reply, user, error);
    }
    await turnOff(accounts, user.id);
    return seeOther(reply, PATH, 'Two-factor authentication is off.');
  });

  pages.post(`${PATH}/recovery-codes`, async (request, reply) => {
    const user = await requireUser(accounts, request);
    try {
      await proveAgain(accounts, request, user);
    } catch (error) {
      return tell(accounts, request, reply, user, error);
    }
    return sendCodes(accounts, request, reply, await renewRecoveryCodes(accounts, user.id));
  });
}

/**
 * A session that somebody left open must not be enough to take the account over: the password is asked for, or a
 * code of the second factor where there is no password.
 */
async function proveAgain(accounts: Accounts, request: FastifyRequest, user: User): Promise<void> {
  const form = formOf(request);
  if (user.password_hash !== '') {
    const proven = await throttled(accounts, 'password', user.username, request.ip, async () =>
      (await isPasswordOf(user.password_hash, form.text('password'))) ? true : null,
    );
    if (!proven) throw new AccountError('password', 'This is not your present password.');
  } else if (user.totp_secret !== '') {
    const proven = await throttled(accounts, 'second factor', user.username, request.ip, async () =>
      (await isSecondFactor(accounts, user, form.text('code'))) ? true : null,
    );
    if (!proven) throw new AccountError('code', 'This code is wrong or was used already.');
  }
}

function tell(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  error: unknown,
): Promise<FastifyReply> {
  if (error instanceof AccountError || error instanceof HttpError) {
    return sendSecurity(accounts, request, reply, user, error.message);
  }
  throw error;
}

/** The secret travels through the browser while it is set up, signed, so that nobody else can choose it. */
const setUpField = (accounts: Accounts, { id }: User, secret: string) =>
  `${secret}.${accounts.seal.sign(`totp set-up ${id}`, secret)}`;

function readSecret(accounts: Accounts, { id }: User, field: string): string {
  const [secret = '', signature = ''] = field.split('.');
  if (!accounts.seal.isSigned(`totp set-up ${id}`, secret, signature)) {
    throw new HttpError('bad_request', 'This form was changed. Open the page again.');
  }
  return secret;
}

async function sendSecurity(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  fault?: string,
): Promise<FastifyReply> {
  const token = await formToken(accounts, request, reply);
  const has = user.password_hash !== '';
  // Password managers and people tell the fields apart by their ids.
  const present = (id: string): Html | false => {
    if (has) {
      const label = 'Present password';
      return textField({ name: 'password', id, label, type: 'password', autocomplete: 'current-password' });
    }
    return (
      user.totp_secret !== '' &&
      textField({ name: 'code', id, label: 'Code of your app', autocomplete: 'one-time-code', isCode: true })
    );
  };
  const twoFactor =
    user.totp_secret === ''
      ? html`<p><span class="tag warn">off</span> A code from your phone, in addition to the password or wallet, keeps others out even if they have it.</p>
<p><a class="button" href="${PATH}/two-factor">Turn it on</a></p>`
      : html`<p><span class="tag good">on</span> ${user.recovery_hashes.length} recovery codes are left. Scripts sign in with <a href="/profile/tokens">personal access tokens</a>.</p>
<form method="post" action="${PATH}/recovery-codes">${token}${present('password-codes')}
<p class="actions"><button class="second">New recovery codes</button><button class="danger" formaction="${PATH}/two-factor/off">Turn it off</button></p></form>`;
  const body = html`<h1>Security</h1>
<p class="lead">How you prove that you are you.</p>
${fault && html`<p class="note bad" role="alert">${fault}</p>`}
<section class="card"><h2>Two-factor authentication</h2>${twoFactor}</section>
<section class="card"><h2>${has ? 'Change the password' : 'Set a password'}</h2>
<form method="post" action="${PATH}/password">${token}${present('password-change')}
${textField({ name: 'new_password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: `At least ${PASSWORD_CHARACTERS_MIN} characters. All other sessions are signed out.` })}
<button>${has ? 'Change the password' : 'Set the password'}</button></form></section>`;
  const page = { title: 'Security', body, status: fault === undefined ? 200 : 422 };
  return sendPage(accounts, request, reply, page);
}

async function sendSetUp(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  secret: string,
  fault?: string,
): Promise<FastifyReply> {
  const picture = `data:image/svg+xml;base64,${Buffer.from(renderSVG(totpUri(secret, user.username), { border: 0 })).toString('base64')}`;
  const body = html`<h1>Turn on two-factor authentication</h1>
<p class="lead">Scan the picture with an authenticator app, then write the code that it shows.</p>
<section class="card"><img class="qr" src="${picture}" alt="QR code for an authenticator app; the same secret is below as text" width="184" height="184">
<p class="hint">No camera? Write this into the app:</p><code class="secret" id="totp-secret">${secret}</code>
<form method="post" action="${PATH}/two-factor">${await formToken(accounts, request, reply)}
<input type="hidden" name="setup" value="${setUpField(accounts, user, secret)}">
${textField({ name: 'code', label: 'Code of the app', autocomplete: 'one-time-code', isCode: true, fault })}
<p class="actions"><button>Turn it on</button><a class="button second" href="${PATH}">Not now</a></p></form></section>`;
  return sendPage(accounts, request, reply, {
    title: 'Two-factor',
    body,
    status: fault === undefined ? 200 : 422,
  });
}

async function sendCodes(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
  codes: readonly string[],
): Promise<FastifyReply> {
  const body = html`<h1>Recovery codes</h1>
<p class="lead">Each of these signs you in once when your phone is lost.</p>
<section class="card"><p class="note warn">Keep them in a safe place now: they cannot be shown again.</p>
<ul class="codes" id="recovery-codes">${codes.map((code) => html`<li>${code.slice(0, 5)}-${code.slice(5)}</li>`)}</ul>
<a class="button" href="${PATH}">I have kept them</a></section>`;
  return sendPage(accounts, request, reply, { title: 'Recovery codes', body });
}
