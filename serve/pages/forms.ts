import '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { isLocator, newLocator } from '../accounts/secrets.ts';
import { cookieRules, isSecure, sessionOf } from '../accounts/sessions.ts';
import { HttpError } from '../http/errors.ts';
import { EMPTY_FORM, Form } from '../http/form.ts';
import { type Html, html } from './html.ts';

/** The submitted form; empty if there is none. */
export const formOf = (request: FastifyRequest): Form =>
  request.body instanceof Form ? request.body : EMPTY_FORM;

/** The hidden field that every form must contain. */
export async function formToken(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Html> {
  const value = await formTokenValue(accounts, request, reply);
  return html`<input type="hidden" name="form_token" value="${value}">`;
}

export async function formTokenValue(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  const visitor = ensureVisitor(accounts, request, reply);
  return accounts.seal.sign('form', await tokenContext(accounts, request, visitor));
}

/**
 * Protects forms against cross-site request forgery, by two independent checks: the origin that the browser reports,
 * and a token, bound to browser and session, that other origins cannot read.
 */
export async function checkForm(accounts: Accounts, request: FastifyRequest): Promise<void> {
  if (!isSameOrigin(accounts, request)) {
    throw new HttpError(
      'forbidden',
      'The form was submitted from another site and was not processed. Open the page on this site and send the form there.',
    );
  }
  const visitor = visitorOf(accounts, request);
  const given = formOf(request).text('form_token');
  const isValid =
    visitor !== null && accounts.seal.isSigned('form', await tokenContext(accounts, request, visitor), given);
  if (!isValid) {
    throw new HttpError(
      'forbidden',
      'The form has expired, you are signed out, or cookies are disabled. Go back, reload that page, and send the form again.',
    );
  }
}

/** With the referrer policy `no-referrer`, browsers send the origin `null`; then `Sec-Fetch-Site` decides. */
function isSameOrigin(accounts: Accounts, request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  const { origin } = request.headers;
  if (origin === undefined) return true;
  if (origin === 'null') return site === 'same-origin';
  return origin === accounts.settings.PUBLIC_URL || URL.parse(origin)?.host === request.headers.host;
}

/** The context that binds a token to a browser. It includes the session, so sign-in and sign-out invalidate tokens. */
export async function tokenContext(
  accounts: Accounts,
  request: FastifyRequest,
  visitor: string,
): Promise<string> {
  const signedIn = await sessionOf(accounts, request);
  return `${visitor} ${signedIn?.session.id ?? ''}`;
}

/** Visitor ids that were created during a request. */
const newVisitors = new WeakMap<FastifyRequest, string>();

/** The visitor id of the browser; sets its cookie. */
export function ensureVisitor(accounts: Accounts, request: FastifyRequest, reply: FastifyReply): string {
  const visitor = visitorOf(accounts, request) ?? newVisitors.get(request) ?? newLocator();
  newVisitors.set(request, visitor);
  reply.setCookie(visitorCookie(accounts), visitor, cookieRules(accounts));
  return visitor;
}

export function visitorOf(accounts: Accounts, request: FastifyRequest): string | null {
  const visitor = request.cookies[visitorCookie(accounts)];
  return visitor !== undefined && isLocator(visitor) ? visitor : null;
}

const visitorCookie = (accounts: Accounts) => (isSecure(accounts) ? '__Host-visitor' : 'visitor');
