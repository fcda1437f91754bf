import '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../../identity/accounts/accounts.ts';
import { isLocator, newLocator } from '../../identity/accounts/secrets.ts';
import { cookieRules, isSecure, sessionOf } from '../../identity/accounts/sessions.ts';
import { HttpError } from '../errors.ts';
import { EMPTY_FORM, Form } from '../form.ts';
import { type Html, html } from './html.ts';

/** The fields of the form that was sent; empty when none was. */
export const formOf = (request: FastifyRequest): Form =>
  request.body instanceof Form ? request.body : EMPTY_FORM;

/** The hidden field that every form of a page must hold. */
export async function formToken(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Html> {
  const visitor = visitorOf(accounts, request) ?? newLocator();
  reply.setCookie(visitorCookie(accounts), visitor, cookieRules(accounts));
  return html`<input type="hidden" name="form_token" value="${await tokenOf(accounts, request, visitor)}">`;
}

/**
 * Refuses a form that no page of ours made for this browser and session. Two guards, each enough by itself: where
 * the browser says the form comes from, and a token that another origin cannot read.
 */
export async function checkForm(accounts: Accounts, request: FastifyRequest): Promise<void> {
  if (!isFromHere(accounts, request)) {
    throw new HttpError('forbidden', 'This form was sent from another site, so nothing was done.');
  }
  const visitor = visitorOf(accounts, request);
  const given = formOf(request).text('form_token');
  const isOurs =
    visitor !== null && accounts.seal.isSigned('form', await bound(accounts, request, visitor), given);
  if (!isOurs) {
    throw new HttpError(
      'forbidden',
      'This form is too old, or cookies are switched off. Open the page again and repeat it.',
    );
  }
}

/** A browser that was told to send no referrer says `null` for its origin; then its other word is believed. */
function isFromHere(accounts: Accounts, request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  const { origin } = request.headers;
  if (origin === undefined) return true;
  if (origin === 'null') return site === 'same-origin';
  return origin === accounts.settings.PUBLIC_URL || URL.parse(origin)?.host === request.headers.host;
}

const tokenOf = async (accounts: Accounts, request: FastifyRequest, visitor: string) =>
  accounts.seal.sign('form', await bound(accounts, request, visitor));

/** The token ends with the session, so that one made for a signed-out visitor is of no use later. */
async function bound(accounts: Accounts, request: FastifyRequest, visitor: string): Promise<string> {
  const signedIn = await sessionOf(accounts, request);
  return `${visitor} ${signedIn?.session.id ?? ''}`;
}

export function visitorOf(accounts: Accounts, request: FastifyRequest): string | null {
  const visitor = request.cookies[visitorCookie(accounts)];
  return visitor !== undefined && isLocator(visitor) ? visitor : null;
}

const visitorCookie = (accounts: Accounts) => (isSecure(accounts) ? '__Host-visitor' : 'visitor');
