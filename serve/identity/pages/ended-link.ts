import type { FastifyReply } from 'fastify';
import { html } from '../../pages/html.ts';

/** Answers a link of a mail that is not valid. `path` leads to a new one. */
export function sendEndedLink(reply: FastifyReply, path: string, action: string): Promise<FastifyReply> {
  const body = html`<h1>This link is not valid any more</h1>
<p class="lead">It was used, it has expired, the account has changed since it was sent, or it is for another account.</p>
<p class="actions"><a class="button" href="${path}">${action}</a></p>`;
  return reply.page({ title: 'Link not valid', body, layout: 'narrow', status: 410 });
}
