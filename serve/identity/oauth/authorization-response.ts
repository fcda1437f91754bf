import type { FastifyReply } from 'fastify';
import { signInPath } from '../../accounts/sessions.ts';
import { seeOther } from '../../pages/page.ts';
import { postingPage } from '../../pages/posting-page.ts';
import type { RedirectTarget } from './authorization-request.ts';
import { OAuthError } from './errors.ts';
import { withParameters } from './redirect-uri.ts';

/** Sends the response of the authorization endpoint to the application. `iss` prevents mix-up (RFC 9207). */
export function respond(
  reply: FastifyReply,
  issuer: () => string,
  { application, redirectUri, state, responseMode }: RedirectTarget,
  answer: Readonly<Record<string, string>>,
): FastifyReply {
  const parameters = { ...answer, ...(state === '' ? {} : { state }), iss: issuer() };
  if (responseMode === 'form_post') {
    return postingPage(reply, {
      title: `Continue to ${application.name}`,
      text: `You are on your way back to ${application.name}.`,
      action: redirectUri,
      fields: Object.entries(parameters),
      button: 'Continue',
    });
  }
  // 303 keeps browsers from repeating the POST at the application (RFC 9700 §4.12).
  return reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(withParameters(redirectUri, parameters), 303);
}

/**
 * Sends errors to the application (RFC 6749 §4.1.2.1). If `signInAt` is not null, an error leads to the sign-in page first,
 * which returns to that address: otherwise anybody could use this server to redirect a browser (RFC 9700 §4.11.2).
 */
export async function withErrorResponse(
  reply: FastifyReply,
  issuer: () => string,
  target: RedirectTarget,
  signInAt: string | null,
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    if (signInAt !== null) return seeOther(reply, signInPath(signInAt));
    return respond(reply, issuer, target, { error: error.code, error_description: error.message });
  }
}
