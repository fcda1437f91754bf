/**
 * Security headers of pages. They are strict, with two exceptions: the steps of an OAuth authorization or logout, which
 * start at and return to another origin, and embedded charts.
 */
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Form } from '../http/form.ts';

const AUTHORIZE = '/oauth/authorize';
/** Pages to which an OAuth application redirects the browser. */
const APPLICATION_STEPS = new Set([AUTHORIZE, '/oauth/logout', '/oauth/logout/confirm']);
/** Sign-in pages, which continue to the page in `next`. */
const SIGN_IN_STEPS = new Set(['/sign-in', '/sign-in/two-factor', '/sign-in/wallet', '/sign-up']);

/** Adds the security headers to a scope, except the Content-Security-Policy, which `sendPage` sets. */
export async function protectPages(pages: FastifyInstance): Promise<void> {
  await pages.register(helmet, HEADERS);
  pages.addHook('onSend', async (request, reply) => {
    if (isEmbedded(request)) reply.removeHeader('x-frame-options');
    // Any other value, even on a redirect, cuts `window.opener` of a popup.
    reply.header('cross-origin-opener-policy', isApplicationStep(request) ? 'unsafe-none' : 'same-origin');
  });
}

/** The Content-Security-Policy: no inline scripts or styles, and forms only to this origin. */
export function contentPolicy(request: FastifyRequest): string {
  // Browsers apply `form-action` also to the redirects after a form: to the application, and to wherever its callback
  // redirects. These URLs are unknown, so application steps have no `form-action`.
  const formAction = isApplicationStep(request) ? [] : ["form-action 'self'"];
  const framing = isEmbedded(request) ? 'frame-ancestors *' : "frame-ancestors 'none'";
  return [...CONTENT_POLICY, framing, ...formAction].join('; ');
}

/** A page for an `<iframe>` on other sites: public data only, and no form that changes anything. */
const isEmbedded = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.url?.startsWith('/embed/') === true;

/** Whether the request is a step between an application and its redirect URI. */
function isApplicationStep(request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? '';
  if (APPLICATION_STEPS.has(route)) return true;
  if (!SIGN_IN_STEPS.has(route)) return false;
  const { next } = request.query as { readonly next?: unknown };
  const path = request.body instanceof Form ? request.body.text('next') : String(next ?? '');
  return path.split(/[?#]/, 1)[0] === AUTHORIZE;
}

const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
];

const HEADERS = {
  // `sendPage` sets it, because it depends on the request.
  contentSecurityPolicy: false,
  frameguard: { action: 'deny' },
  // With `no-referrer`, browsers would send `Origin: null` with every form.
  referrerPolicy: { policy: 'same-origin' },
  crossOriginOpenerPolicy: false,
} as const;
