/**
 * The headers that protect pages. They are strict everywhere but on the steps of an authorization and of a
 * logout, which an application of another origin begins and which end with a redirect to it, and on charts that are made
 * for frames.
 */
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Form } from '../http/form.ts';

const AUTHORIZE = '/oauth/authorize';
/** Pages to which an application sends a browser. */
const APPLICATION_STEPS = new Set([AUTHORIZE, '/oauth/logout', '/oauth/logout/confirm']);
/** Pages that a visitor passes on the way to the page named in `next`. */
const SIGN_IN_STEPS = new Set(['/sign-in', '/sign-in/two-factor', '/sign-in/wallet', '/sign-up']);

/** Adds the headers to all answers of a scope; the policy of its content is added to pages only. */
export async function protectPages(pages: FastifyInstance): Promise<void> {
  await pages.register(helmet, HEADERS);
  pages.addHook('onSend', async (request, reply) => {
    if (isEmbedded(request)) reply.removeHeader('x-frame-options');
    // Any other value takes `window.opener` from a popup, also when only a redirect on the way has it.
    reply.header('cross-origin-opener-policy', isApplicationStep(request) ? 'unsafe-none' : 'same-origin');
  });
}

/** Allows no inline scripts or styles, and forms to this origin only. */
export function contentPolicy(request: FastifyRequest): string {
  // Browsers apply `form-action` to every redirect that follows a form: to the application, and to wherever its
  // callback leads. These addresses cannot be known, so these steps restrict none.
  const formAction = isApplicationStep(request) ? [] : ["form-action 'self'"];
  const framing = isEmbedded(request) ? 'frame-ancestors *' : "frame-ancestors 'none'";
  return [...CONTENT_POLICY, framing, ...formAction].join('; ');
}

/** A page that is made for the frame of another one: it holds public data only, and no form that changes something. */
const isEmbedded = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.url?.startsWith('/embed/') === true;

/** Whether the request belongs to the way from an application to one of its redirect URIs. */
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
  // Set by `sendPage`, since it depends on the page.
  contentSecurityPolicy: false,
  frameguard: { action: 'deny' },
  // With `no-referrer`, browsers would send `Origin: null` with every form.
  referrerPolicy: { policy: 'same-origin' },
  crossOriginOpenerPolicy: false,
} as const;
