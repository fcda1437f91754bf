import type { Accounts } from '../accounts/accounts.ts';
import '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ignore } from '../../infra/ignore.ts';
import { cookieRules, isSecure } from '../accounts/sessions.ts';
import { ensureVisitor, tokenContext, visitorOf } from './forms.ts';
import { type Html, html } from './html.ts';

// A page after a redirect shows a note once (a "flash message"). The note is in a cookie that is signed for the browser
// and the session and is valid for a minute, so other sites and subdomains cannot plant one.

export interface PageNote {
  readonly kind: 'good' | 'bad';
  readonly text: string;
}

/** Browsers limit the size of cookies. */
const CHARACTERS_MAX = 300;
const LIFETIME_SECONDS = 60;

const kept = new WeakMap<FastifyReply, PageNote>();

/** Sets the note for the page after the redirect. */
export const keepNote = (reply: FastifyReply, note: PageNote): void => {
  kept.set(reply, note);
};

/** Sets the cookies of notes. Register it before the cookie plugin, whose hook writes the header. */
export function sendNotes(pages: FastifyInstance, accounts: Accounts): void {
  pages.addHook('onSend', async (request, reply) => {
    const note = kept.get(reply);
    if (note === undefined) return;
    const visitor = ensureVisitor(accounts, request, reply);
    const text = `${accounts.clock.now()} ${note.kind} ${note.text.slice(0, CHARACTERS_MAX).toWellFormed()}`;
    const signature = await signed(accounts, request, visitor, text);
    reply.setCookie(noteCookie(accounts), `${signature} ${text}`, {
      ...cookieRules(accounts),
      maxAge: LIFETIME_SECONDS,
    });
  });
}

/** Reads and clears the note of the request; null if there is none or if the cookies were not parsed. */
export async function takeNote(
  accounts: Accounts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Html | null> {
  const cookie = request.cookies?.[noteCookie(accounts)];
  if (cookie === undefined) return null;
  reply.clearCookie(noteCookie(accounts), cookieRules(accounts));
  const [, signature = '', text = '', time, kind, note] =
    /^([\w-]{43}) ((\d{1,15}) (good|bad) ([\s\S]+))$/.exec(cookie) ?? [];
  const visitor = visitorOf(accounts, request);
  const age = accounts.clock.now() - Number(time);
  if (visitor === null || !(age <= LIFETIME_SECONDS * 1000)) return null;
  const context = await contextOf(accounts, request, visitor);
  if (!accounts.seal.isSigned('note', `${context}\n${text}`, signature)) return null;
  return html`<p class="note ${kind}" role="${kind === 'bad' ? 'alert' : 'status'}">${note}</p>`;
}

async function signed(
  accounts: Accounts,
  request: FastifyRequest,
  visitor: string,
  text: string,
): Promise<string> {
  return accounts.seal.sign('note', `${await contextOf(accounts, request, visitor)}\n${text}`);
}

/** If the session cannot be read, the note is bound to the browser alone. */
const contextOf = (accounts: Accounts, request: FastifyRequest, visitor: string): Promise<string> =>
  tokenContext(accounts, request, visitor).catch(ignore('pages.note', visitor));

const noteCookie = (accounts: Accounts) => (isSecure(accounts) ? '__Host-note' : 'note');
