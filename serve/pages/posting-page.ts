import { randomBytes } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { html } from './html.ts';
import { barePage } from './page.ts';

interface PostingPage {
  readonly title: string;
  readonly text: string;
  /** URL that receives the form, on any origin. */
  readonly action: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Label of the button for browsers without scripts. */
  readonly button: string;
}

/** Sends a page whose script submits a form at once. The form has no CSRF token unless `fields` contain one. */
export function postingPage(reply: FastifyReply, page: PostingPage): FastifyReply {
  const { title, text, action, fields, button } = page;
  const nonce = randomBytes(16).toString('base64');
  // With scripts there is no button: a second post would repeat a code, which revokes its tokens.
  const body = html`<h1>${title}</h1>
<p>${text}</p>
<form method="post" action="${action}">
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<noscript><button class="whole">${button}</button></noscript>
</form>
<script nonce="${nonce}">document.forms[0].submit();</script>`;
  return reply
    .headers({
      'content-security-policy': [...CONTENT_POLICY, `script-src 'nonce-${nonce}'`].join('; '),
      'cache-control': 'no-store',
      // Any policy that hides the origin makes browsers send `Origin: null` with the form.
      'referrer-policy': 'origin',
    })
    .type('text/html; charset=utf-8')
    .send(barePage(title, body));
}

const CONTENT_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];
