import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import { button, secretCard, table, tags, textField, time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { showOnce, takeSecret } from '../../pages/shown-once.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { Progress } from '../events/consumer-progress.ts';
import { RequestRefused } from '../model/access.ts';
import type { Webhook } from '../model/tables.ts';
import type { AttemptResult } from '../notifications/webhook-sender.ts';
import { WEBHOOK_EVENTS, type WebhookEventName } from '../notifications/webhooks.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import { ago, type ProjectFrame, type Visit } from './frame.ts';
import { ATTEMPTS_MAX, attemptCard } from './webhook-attempts.ts';

const LIST = '/projects/:id/hooks';
const ONE = `${LIST}/:hook`;

const EVENTS: Readonly<Record<WebhookEventName, string>> = {
  created: 'An alert is created',
  raised: 'A repeat raises the severity of an alert',
  acknowledged: 'An alert is acknowledged',
  resolved: 'An alert is resolved',
};

const webhookIdOf = (request: FastifyRequest) => (request.params as { hook: string }).hook;
const pathOf = ({ project_id, id }: Webhook) => `/projects/${project_id}/hooks/${id}`;

function changesIn(request: FastifyRequest) {
  const form = formOf(request);
  return {
    name: form.text('name'),
    url: form.text('url'),
    events: WEBHOOK_EVENTS.filter((event) => form.has(`event-${event}`)),
  };
}

interface WebhookPageParts extends Pick<AlertDomain, 'webhooks' | 'progress' | 'webhookSender'> {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
}

/** The list of outgoing webhooks, the page of one with its deliveries, and the actions on it. */
export function serveWebhookPages(pages: FastifyInstance, parts: WebhookPageParts): void {
  const { frame, webhooks, webhookSender } = parts;
  pages.get(LIST, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    return sendList(parts, reply, visit, null);
  });
  pages.post(LIST, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    try {
      const { webhook, secret } = await webhooks.create(visit.membership.project, changesIn(request));
      return await showOnce(frame.accounts, reply, visit.user, pathOf(webhook), secret);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendList(parts, reply, visit, error);
    }
  });
  pages.get(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const webhook = await webhooks.get(visit.membership.project, webhookIdOf(request));
    const secret = await takeSecret(frame.accounts, request, visit.user);
    return sendOne(
      parts,
      reply,
      visit,
      webhook,
      secret === null ? {} : { news: secretCard('Signing secret', secret) },
    );
  });
  pages.post(`${ONE}/save`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    try {
      const changes = { ...changesIn(request), is_active: formOf(request).has('active') };
      const webhook = await webhooks.change(project, webhookIdOf(request), changes);
      return await seeOther(reply, pathOf(webhook), 'Changes saved.');
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      const webhook = await webhooks.get(project, webhookIdOf(request));
      return sendOne(parts, reply, visit, webhook, { error });
    }
  });
  pages.post(`${ONE}/test`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    const webhook = await webhooks.get(project, webhookIdOf(request));
    const result = await webhookSender.sendTest(webhook);
    return sendOne(parts, reply, visit, webhook, { news: resultOf(result) });
  });
  serveDeletion(pages, parts);
}

const serveDeletion = (pages: FastifyInstance, { frame, webhooks, clock }: WebhookPageParts): void =>
  serveConfirmationPage(pages, frame, {
    path: `${ONE}/delete`,
    tab: 'hooks',
    find: (request, visit) => webhooks.get(visit.membership.project, webhookIdOf(request)),
    questionOf: (webhook) => ({
      question: `Delete ${webhook.name || 'the webhook'}?`,
      facts: [
        ['URL', webhook.url],
        ['Events', tags(webhook.events)],
        ['Created', ago(webhook.created_ms, clock.now())],
      ],
      consequence: 'The URL receives no more events. Retries of earlier events are dropped.',
      submit: 'Delete webhook',
      back: pathOf(webhook),
    }),
    execute: async ({ id }, { membership: { project } }, reply) => {
      await webhooks.delete(project, id);
      return seeOther(reply, `/projects/${project.id}/hooks`, 'Webhook deleted.');
    },
  });

async function sendList(
  { clock, frame, webhooks, progress: consumers }: WebhookPageParts,
  reply: FastifyReply,
  visit: Visit,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { request } = reply;
  const { project } = visit.membership;
  const [found, progress] = await Promise.all([
    webhooks.list(project.id),
    consumers.list(Number(project.id)),
  ]);
  const now = clock.now();
  const rows = found.map((webhook) => [
    html`<a href="${pathOf(webhook)}">${webhook.name || webhook.url}</a>${webhook.name && html` <span class="under shortened" title="${webhook.url}">${webhook.url}</span>`}`,
    lastDelivery(
      progress.find(({ target }) => target === webhook.id),
      now,
    ),
    webhook.is_active ? html`<span class="tag good">enabled</span>` : html`<span class="tag">disabled</span>`,
    tags(webhook.events),
  ]);
  const form = formOf(request);
  const chosen =
    error === null ? WEBHOOK_EVENTS : WEBHOOK_EVENTS.filter((event) => form.has(`event-${event}`));
  const input = { name: form.text('name'), url: form.text('url'), events: chosen };
  const body = html`<h1>Webhooks</h1><p class="lead">A webhook sends a request to a URL when an alert is created, raised to a higher severity, acknowledged or resolved.</p>
${error && error.field === null && html`<p class="note bad" role="alert">${error.message}</p>`}
${table({ caption: 'Webhooks', head: ['Webhook', 'Last delivery', 'Status', 'Events'], rows, empty: 'No webhooks yet.' })}
<section class="card"><h2>Add webhook</h2><form method="post" action="/projects/${project.id}/hooks">${visit.token}
${fieldsOf(input, error)}<button>Add webhook</button></form></section>`;
  return frame.send(reply, visit, {
    tab: 'hooks',
    title: 'Webhooks',
    body,
    status: error === null ? 200 : 422,
  });
}

interface WebhookPageState {
  /** The result of the last action, shown at the top. */
  readonly news?: Html;
  readonly error?: RequestRefused;
}

async function sendOne(
  { frame, webhookSender }: WebhookPageParts,
  reply: FastifyReply,
  visit: Visit,
  webhook: Webhook,
  { news, error }: WebhookPageState,
): Promise<FastifyReply> {
  const { request } = reply;
  const attempts = await webhookSender.attempts(webhook.id, ATTEMPTS_MAX);
  const input = error === undefined ? webhook : changesIn(request);
  const base = pathOf(webhook);
  const body = html`<h1>${webhook.name || 'Webhook'}</h1><p class="lead">${webhook.url} ${webhook.is_active ? html`<span class="tag good">enabled</span>` : html`<span class="tag">disabled</span>`}</p>
${news}
<div class="columns"><section class="card"><h2>Settings</h2><form method="post" action="${base}/save">${visit.token}
${fieldsOf(input, error ?? null)}
<label class="choice"><input type="checkbox" name="active" value="on"${webhook.is_active && html` checked`}><div><b>Active</b><span>An inactive webhook sends no events, and does not send them later.</span></div></label>
<button>Save changes</button></form></section>
<section class="card"><h2>Test</h2><p>Sends an example alert with the event <code>test</code>.</p>${button(`${base}/test`, visit.token, 'Send test', 'Send test request', 'second')}
<h2 class="spaced">Verify the signature</h2><p>The header <code>X-Chain-Metrics-Signature</code> is <code>t=SECONDS,v1=HEX</code>. HEX is the HMAC-SHA256 of the seconds, a dot and the body, with the secret as the key. Reject requests that do not match or are older than a few minutes.</p></section></div>
${attemptCard(attempts, visit.membership.project.id)}
<section class="card"><h2>Delete webhook</h2><p>The URL receives no more events.</p><a class="button danger" href="${base}/delete" aria-label="Delete webhook ${webhook.name || webhook.url}">Delete webhook</a></section>`;
  return frame.send(reply, visit, {
    tab: 'hooks',
    title: webhook.name || 'Webhook',
    body,
    script: 'alerts.js',
    status: error === undefined ? 200 : 422,
  });
}

type WebhookFields = Readonly<Partial<Pick<Webhook, 'name' | 'url' | 'events'>>>;

function fieldsOf({ name, url, events = [] }: WebhookFields, error: RequestRefused | null): Html {
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const fault = faultOf('events');
  return html`${textField({ name: 'url', label: 'URL', value: url, hint: 'An http or https URL without credentials.', fault: faultOf('url') })}
${textField({ name: 'name', label: 'Name', value: name, required: false, hint: 'Optional. For example, the chat or tool that receives the events.' })}
<fieldset class="field"${fault && html` aria-describedby="events-fault"`}><legend>Trigger</legend>${WEBHOOK_EVENTS.map(
    (event, i) =>
      html`<label class="choice"><input type="checkbox" name="event-${event}" value="on"${events.includes(event) && html` checked`}${fault && i === 0 && html` autofocus`}><div><b>${event}</b><span>${EVENTS[event]}</span></div></label>`,
  )}${fault && html`<p class="fault" id="events-fault">${fault}</p>`}</fieldset>`;
}

function resultOf({ status, fault, milliseconds }: AttemptResult): Html {
  return fault === ''
    ? html`<p class="note good" role="status">Test request succeeded with status ${status} in ${milliseconds} ms.</p>`
    : html`<p class="note bad" role="alert">Test request failed after ${milliseconds} ms: ${fault}.</p>`;
}

function lastDelivery(progress: Progress | undefined, now: number): Html {
  if (progress === undefined || (progress.status === 0 && progress.fault === '')) return html`never`;
  const { at, fault } = progress;
  return fault === ''
    ? html`<span class="tag good">succeeded</span> ${ago(at, now)}`
    : html`<span class="tag bad">${fault}</span> ${ago(at, now)}${retryOf(progress)}`;
}

const retryOf = ({ retry_ms }: Progress): Html | null =>
  retry_ms === 0 ? null : html` <span class="under">next attempt ${time(retry_ms)}</span>`;
