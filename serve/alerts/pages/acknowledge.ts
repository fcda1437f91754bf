import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import { time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { AcknowledgeLink } from '../paging/acknowledge-links.ts';
import type { LinkDetails } from '../paging/linked-pages.ts';
import { severityTag, statusTag } from './frame.ts';

/** A wildcard, because Fastify limits named parameters to 100 characters. */
const PATH = '/acknowledge/*';

const linkTextOf = (request: FastifyRequest): string => (request.params as { '*': string })['*'];

/** The pages behind the links in messages. GET changes nothing, because mail scanners follow links. */
export function serveAcknowledgePages(
  pages: FastifyInstance,
  { acknowledgeLinks, linkedPages }: Pick<AlertDomain, 'acknowledgeLinks' | 'linkedPages'>,
): void {
  const open = (request: FastifyRequest) => {
    const opened = acknowledgeLinks.open(linkTextOf(request));
    if ('fault' in opened && opened.fault === 'unknown') throw notFound();
    return opened;
  };
  const linkedBy = async (link: AcknowledgeLink): Promise<LinkDetails> => {
    const linked = await linkedPages.find(link);
    if (linked === null) throw notFound();
    return linked;
  };
  pages.get(PATH, async (request, reply) => {
    const opened = open(request);
    if ('fault' in opened) return sendExpired(reply, opened.project);
    const linked = await linkedBy(opened.link);
    const token = await reply.formToken();
    return send(reply, linked, token);
  });
  pages.post(PATH, async (request, reply) => {
    const opened = open(request);
    if ('fault' in opened) return sendExpired(reply, opened.project);
    const { link } = opened;
    await linkedBy(link);
    const action = formOf(request).text('action') === 'escalate' ? 'escalate' : 'acknowledge';
    const isDone = await linkedPages.use(link, action);
    const text = action === 'acknowledge' ? 'Acknowledged.' : 'The next step was carried out.';
    return isDone
      ? seeOther(reply, `/acknowledge/${linkTextOf(request)}`, text)
      : seeOther(
          reply,
          `/acknowledge/${linkTextOf(request)}`,
          'Nothing changed: the link was used already, or nobody is paged any more.',
          'bad',
        );
  });
}

const notFound = () => new HttpError('not_found', 'This link is not valid. Sign in to see your alerts.');

function sendExpired(reply: FastifyReply, project: number): Promise<FastifyReply> {
  const title = 'This link has expired';
  const next = encodeURIComponent(`/projects/${project}/alerts`);
  const body = html`<h1>${title}</h1><p><a href="/sign-in?next=${next}">Sign in</a> to act on the alert.</p>`;
  return reply.page({ title, body, layout: 'narrow', status: 410 });
}

function send(reply: FastifyReply, linked: LinkDetails, token: Html): Promise<FastifyReply> {
  const { project, user, alerts, all, open, usedMs } = linked;
  reply.header('x-robots-tag', 'noindex');
  const [first] = alerts;
  const title = all.length === 1 ? (first?.title ?? 'Alert') : `${all.length} alerts`;
  const body = html`<p class="under">${project.name}</p><h1>${title}</h1>
${alerts.map(
  (alert) =>
    html`<p>${severityTag(alert)} ${statusTag(alert)} ${all.length > 1 && html`<b>${alert.title}</b> `}<span class="under">${alert.service && `${alert.service}, `}since ${time(alert.started_ms)}</span></p>`,
)}
${all.length > alerts.length && html`<p>${all.length - alerts.length} more.</p>`}
${usedMs > 0 || open.length === 0 ? doneNote(linked) : buttons(linked, token)}
<p class="aside">You act as ${user.name || user.username}.${first !== undefined && all.length === 1 && html` <a href="/projects/${project.id}/alerts/${first.iid}">Open the alert</a>`}</p>`;
  return reply.page({ title, body, layout: 'narrow' });
}

const buttons = ({ open, isCalling }: LinkDetails, token: Html): Html =>
  html`<form method="post" class="actions">${token}
<button name="action" value="acknowledge">${open.length === 1 ? 'Acknowledge' : `Acknowledge ${open.length} alerts`}</button>
${isCalling && html`<button name="action" value="escalate" class="second">Page the next step</button>`}</form>`;

const doneNote = ({ acknowledged, usedMs }: LinkDetails): Html => {
  if (acknowledged === null)
    return html`<p class="note">${usedMs > 0 ? 'This link was used already.' : 'Nobody is paged any more. Sign in to see whether the alert is open.'}</p>`;
  const { by, at } = acknowledged;
  return html`<p class="note good" role="status">Acknowledged ${by !== '' && html`by ${by} `}${time(at)}.</p>`;
};
