import type { FastifyReply } from 'fastify';
import { html } from '../../pages/html.ts';

/** Sends the page for a mailed link that is not valid. A new link can be requested at `path`. */
export function sendEndedLink(reply: FastifyReply, path: string, action: string): Promise<FastifyReply> {
  const body = html`<h1>This link is not valid any more</h1>
<p class="lead">The link was used or has expired, it is for another account, or the account has changed since it was sent.</p>
<p class="actions"><a class="button" href="${path}">${action}</a></p>`;
  return reply.page({ title: 'Link not valid', body, layout: 'narrow', status: 410 });
}
