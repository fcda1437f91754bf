/**
 * The layout of every page. A domain serves its pages like this:
 *
 *     await servePages(app, accounts, async (pages) => {
 *       pages.get('/profile/things', async (request, reply) => {
 *         const user = await request.requireUser();
 *         return reply.page({ title: 'Things', body: html`<h1>…</h1>` });
 *       });
 *       pages.post('/profile/things', async (request, reply) => {
 *         const user = await request.requireUser();
 *         const name = formOf(request).text('name');           // the form token was checked before
 *         return seeOther(reply, '/profile/things', 'The thing was created.');
 *       });
 *     });
 *
 * Every `<form method="post">` contains `${await reply.formToken()}`. The Content-Security-Policy
 * allows no inline scripts or styles. Thrown errors are sent as a page.
 */

import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { requireUser, type SignedIn, SignInNeeded, sessionOf, signInPath } from '../accounts/sessions.ts';
import type { User } from '../accounts/tables.ts';
import { offerCompression } from '../http/content-codings.ts';
import { type Dialect, HttpError, handleErrors, RETRY_SOON } from '../http/errors.ts';
import { acceptForms } from '../http/form.ts';
import { assetUrl } from './assets.ts';
import { checkForm, formToken } from './forms.ts';
import { type Html, html } from './html.ts';
import { PROFILE_NAVIGATION, SITE_NAVIGATION } from './navigation.ts';
import { keepNote, type PageNote, sendNotes, takeNote } from './notes.ts';
import { contentPolicy, protectPages } from './protection.ts';

export interface Page {
  readonly title: string;
  /** For search engines and link previews. */
  readonly description?: string;
  readonly body: Html;
  /**
   * `narrow`: one form in the middle. `profile`: with the side navigation. `wide`: neither. `embedded`: for an `<iframe>`,
   * without navigation.
   */
  readonly layout?: 'narrow' | 'profile' | 'wide' | 'embedded';
  /** The script of the page. */
  readonly script?: 'wallet.js' | 'chart.js' | 'copy.js' | 'alerts.js' | 'explorer.js';
  /** Whether the body has no secret of a visitor, such as a form token. Only public pages are compressed (BREACH). */
  readonly isPublic?: boolean;
  readonly status?: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** In page scopes: the signed-in user with the session; null without a session. */
    signedIn(): Promise<SignedIn | null>;
    /** In page scopes: the signed-in user. Redirects other visitors to the sign-in page. */
    requireUser(): Promise<User>;
  }
  interface FastifyReply {
    /** In page scopes: the hidden CSRF field that every form must contain. */
    formToken(): Promise<Html>;
    page(page: Page): Promise<FastifyReply>;
  }
}

/** Registers a scope of pages: form tokens are checked, errors are pages, security headers are strict. */
export async function servePages(
  app: FastifyInstance,
  accounts: Accounts,
  routes: (pages: FastifyInstance) => Promise<void>,
): Promise<void> {
  await app.register(async (pages) => {
    sendNotes(pages, accounts);
    await pages.register(cookie);
    await offerCompression(pages);
    await protectPages(pages);
    await acceptForms(pages);
    pages.decorateRequest('signedIn', function (this: FastifyRequest) {
      return sessionOf(accounts, this);
    });
    pages.decorateRequest('requireUser', function (this: FastifyRequest) {
      return requireUser(accounts, this);
    });
    pages.decorateReply('formToken', function (this: FastifyReply) {
      return formToken(accounts, this.request, this);
    });
    pages.decorateReply('page', function (this: FastifyReply, page: Page) {
      return sendPage(accounts, this, page);
    });
    pages.addHook('preHandler', async (request) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') await checkForm(accounts, request);
    });
    handleErrors(pages, pageDialect(accounts));
    pages.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true };
    });
    await routes(pages);
  });
}

async function sendPage(accounts: Accounts, reply: FastifyReply, page: Page): Promise<FastifyReply> {
  const { request } = reply;
  const signedIn = await sessionOf(accounts, request);
  const note = await takeNote(accounts, request, reply);
  const token = signedIn ? await formToken(accounts, request, reply) : null;
  const { title, description, body, layout = 'profile', script, status = 200, isPublic = false } = page;
  reply.header('content-security-policy', contentPolicy(request));
  const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Chain Metrics</title>
${description && html`<meta name="description" content="${description}"><meta property="og:description" content="${description}">`}
<meta property="og:title" content="${title}"><meta property="og:site_name" content="Chain Metrics">
${isPublic && html`<meta property="og:image" content="${accounts.settings.PUBLIC_URL ?? ''}${assetUrl('preview.png')}"><meta property="og:image:width" content="1200"><meta property="og:image:height" content="630"><meta name="twitter:card" content="summary_large_image">`}
<link rel="icon" href="${assetUrl('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl('style.css')}">
${script === 'chart.js' && html`<link rel="stylesheet" href="${assetUrl('chart.css')}">`}
${script && html`<script type="module" src="${assetUrl(script)}"></script>`}
${layout !== 'embedded' && html`<script type="module" src="${assetUrl('search.js')}"></script>`}
</head>
<body>
${
  layout !== 'embedded' &&
  html`<a class="skip" href="#main">Skip to content</a>
${topBar(request.url, signedIn?.user.username ?? null, token)}`
}
${isPublic && demoBanner(reply)}
<div class="frame ${layout}">
${layout === 'profile' && signedIn ? sideBar(request.url) : null}
<main id="main" tabindex="-1">
${note}
${body}
</main>
</div>
${layout !== 'embedded' && html`<footer><a href="/docs/guides">Guides</a><a href="/docs">API reference</a><a href="/status">Status</a></footer>`}
</body>
</html>
`.text;
  reply.code(status).type('text/html; charset=utf-8').header('cache-control', 'no-store');
  // The length of a compressed page leaks secrets in it, if the URL is reflected (BREACH).
  if (!isPublic || signedIn !== null) return reply.send(text);
  reply.compress(text);
  return reply;
}

/** Redirects with 303 after a form was processed. The next page shows the note once. */
export function seeOther(
  reply: FastifyReply,
  path: string,
  note?: string,
  kind: PageNote['kind'] = 'good',
): FastifyReply {
  if (note !== undefined) keepNote(reply, { kind, text: note });
  return reply.header('cache-control', 'no-store').redirect(path, 303);
}

/** Returns an untrusted redirect target if it is a path of this site, or else the fallback. */
export function localPath(given: string, fallback: string): string {
  const isLocal = /^\/(?![/\\])[\x21-\x7e]*$/.test(given) && !given.includes('\\');
  return isLocal && URL.parse(given, 'http://here.invalid')?.host === 'here.invalid' ? given : fallback;
}

function topBar(url: string, username: string | null, token: Html | null): Html {
  const account =
    username === null
      ? html`<a href="/sign-in">Sign in</a>`
      : html`<a class="who" href="/profile">${username}</a>
<form method="post" action="/sign-out">${token}<button class="plain">Sign out</button></form>`;
  return html`<header class="top"><a class="brand" href="/"><img src="${assetUrl('icon.svg')}" alt="" width="26" height="26">Chain Metrics</a>
<nav class="main" aria-label="Main"><ul>${links(SITE_NAVIGATION, url)}</ul></nav>
<form class="find" data-search method="get" action="/search" role="search" aria-label="Everything"><input type="search" name="q" maxlength="100" placeholder="Search" aria-label="Search"></form>
<nav class="account" aria-label="Account">${account}</nav></header>`;
}

/** The demo data banner; null without demo data. */
const demoBanner = ({ demoNote }: FastifyReply): Html | null =>
  demoNote ? html`<aside class="demo" aria-label="Demo data">${demoNote}</aside>` : null;

const sideBar = (url: string): Html =>
  html`<nav class="side" aria-label="Profile"><ul>${links(PROFILE_NAVIGATION, url)}</ul></nav>`;

function links(list: typeof PROFILE_NAVIGATION, url: string): Html[] {
  const path = url.split('?')[0] ?? '';
  return list.map(({ href, label }) => {
    const isHere = path === href || (href !== '/profile' && path.startsWith(`${href}/`));
    return html`<li><a href="${href}"${isHere && html` aria-current="page"`}>${label}</a></li>`;
  });
}

const ERROR_TITLES: Readonly<Record<number, string>> = {
  403: 'Access denied',
  404: 'Page not found',
  429: 'Too many requests',
  503: 'The server is busy',
};

const BUSY = new HttpError(
  'unavailable',
  'The server is overloaded. Reload the page in a few seconds.',
  RETRY_SOON,
);

/** A page without navigation or anything else that depends on the visitor. */
export const barePage = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title} · Chain Metrics</title>
<link rel="icon" href="${assetUrl('icon.svg')}" type="image/svg+xml"><link rel="stylesheet" href="${assetUrl('style.css')}"></head>
<body><div class="frame narrow"><main>${body}</main></div></body></html>
`.text;

/** Sends errors as pages. Redirects to the sign-in page if a page requires a user. */
function pageDialect(accounts: Accounts): Dialect {
  const failure = new HttpError(
    'internal',
    'The server could not process this request. Go back and try again. If it fails again, contact the operator.',
  );
  return {
    explains: [],
    failure,
    translate: (error: Error & { statusCode?: number }) => (error.statusCode === 503 ? BUSY : undefined),
    send: async (error, request, reply) => {
      if (error instanceof SignInNeeded) {
        const next = request.method === 'GET' ? request.url : '/profile';
        return seeOther(reply, signInPath(next));
      }
      const { status } = error;
      const title =
        ERROR_TITLES[status] ??
        (status >= 500 ? 'Something went wrong' : 'The request could not be processed');
      const body = html`<h1>${title}</h1>
<p>${error.message}${error === failure && html` The server log has the reason under <code>${request.id}</code>.`}</p><p class="actions"><a class="button" href="/">Go to the overview</a><a class="button second" href="/search">Search</a></p>`;
      // `reply.page` needs parsed cookies and a readable session.
      const isVisitorKnown =
        (request.cookies as object | null) !== null &&
        (await sessionOf(accounts, request).then(
          () => true,
          () => false,
        ));
      if (!isVisitorKnown) return reply.type('text/html; charset=utf-8').send(barePage(title, body));
      return reply.page({ title, body, layout: 'narrow', status });
    },
  };
}
