import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { button, table, tags, textField, time } from '../../http/pages/fields.ts';
import { formOf } from '../../http/pages/forms.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { seeOther } from '../../http/pages/page.ts';
import { type OutboxProgress, outboxProgressOf } from '../notifications/webhook-outbox.ts';
import {
  type AttemptResult,
  type DeliveryAttempt,
  deliveriesOf,
  sendTestWebhook,
} from '../notifications/webhook-sender.ts';
import {
  changeHook,
  createHook,
  deleteHook,
  HOOK_EVENTS,
  type HookEvent,
  hookOf,
  hooksOf,
} from '../notifications/webhooks.ts';
import { RequestRefused } from '../projects/access.ts';
import type { Hook } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';
import { ago, sendProjectPage, type Visit, visitOf } from './frame.ts';

const LIST = '/projects/:id/hooks';
const ONE = `${LIST}/:hook`;
export const DELIVERIES_SHOWN = 25;

const EVENTS: Readonly<Record<HookEvent, string>> = {
  created: 'An alert is new',
  acknowledged: 'Somebody looks at it',
  resolved: 'It is over',
};

const hookIdOf = (request: FastifyRequest) => (request.params as { hook: string }).hook;
const pathOf = ({ project_id, id }: Hook) => `/projects/${project_id}/hooks/${id}`;

function changesIn(request: FastifyRequest) {
  const form = formOf(request);
  return {
    name: form.text('name'),
    url: form.text('url'),
    events: HOOK_EVENTS.filter((event) => form.has(`event-${event}`)),
  };
}

/** Who else is told of alerts: the list, one webhook with what it was told, and what is done to it. */
export function serveHookPages(pages: FastifyInstance, services: AlertServices, url: () => string): void {
  pages.get(LIST, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    return sendList(services, request, reply, visit, null);
  });
  pages.post(LIST, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    try {
      const { hook, secret } = await createHook(services, visit.membership.project, changesIn(request));
      return await sendOne(services, request, reply, visit, hook, { news: secretCard(secret) });
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendList(services, request, reply, visit, error);
    }
  });
  pages.get(ONE, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const hook = await hookOf(services, visit.membership.project, hookIdOf(request));
    return sendOne(services, request, reply, visit, hook, {});
  });
  pages.post(`${ONE}/save`, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const { project } = visit.membership;
    try {
      const changes = { ...changesIn(request), is_active: formOf(request).has('active') };
      const hook = await changeHook(services, project, hookIdOf(request), changes);
      return await seeOther(reply, pathOf(hook), 'The webhook is saved.');
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      const hook = await hookOf(services, project, hookIdOf(request));
      return sendOne(services, request, reply, visit, hook, { error });
    }
  });
  pages.post(`${ONE}/test`, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const { project } = visit.membership;
    const told = await sendTestWebhook(services, url(), project, hookIdOf(request));
    const hook = await hookOf(services, project, hookIdOf(request));
    return sendOne(services, request, reply, visit, hook, { news: resultOf(told) });
  });
  pages.post(`${ONE}/delete`, async (request, reply) => {
    const { membership } = await visitOf(services, request, reply, 'Maintainer');
    await deleteHook(services, membership.project, hookIdOf(request));
    return seeOther(reply, `/projects/${membership.project.id}/hooks`, 'The webhook is deleted.');
  });
}

async function sendList(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  visit: Visit,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { project } = visit.membership;
  const [hooks, told] = await Promise.all([
    hooksOf(services, project.id),
    outboxProgressOf(services, Number(project.id)),
  ]);
  const now = services.accounts.clock.now();
  const rows = hooks.map((hook) => [
    html`<a href="${pathOf(hook)}">${hook.name || hook.url}</a>${hook.name && html` <span class="under">${hook.url}</span>`}`,
    tags(hook.events),
    hook.is_active ? html`<span class="tag good">enabled</span>` : html`<span class="tag">disabled</span>`,
    lastTold(
      told.find(({ target }) => target === hook.id),
      now,
    ),
  ]);
  const form = formOf(request);
  const chosen = error === null ? HOOK_EVENTS : HOOK_EVENTS.filter((event) => form.has(`event-${event}`));
  const given = { name: form.text('name'), url: form.text('url'), events: chosen };
  const body = html`<h1>Webhooks</h1><p class="lead">Addresses of yours that are told when an alert is new, acknowledged or resolved.</p>
${error && error.field === null && html`<p class="note bad" role="alert">${error.message}</p>`}
${table({ caption: 'Webhooks', head: ['Webhook', 'Events', 'Status', 'Told last'], rows, empty: 'Nobody else is told of alerts yet.' })}
<section class="card"><h2>New webhook</h2><form method="post" action="/projects/${project.id}/hooks">${visit.token}
${fieldsOf(given, error)}<button>Make the webhook</button></form></section>`;
  return sendProjectPage(services, request, reply, visit, {
    tab: 'hooks',
    title: 'Webhooks',
    body,
    status: error === null ? 200 : 422,
  });
}

interface Shown {
  /** What just happened, above everything else. */
  readonly news?: Html;
  readonly error?: RequestRefused;
}

async function sendOne(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  visit: Visit,
  hook: Hook,
  { news, error }: Shown,
): Promise<FastifyReply> {
  const deliveries = await deliveriesOf(services, hook.id, DELIVERIES_SHOWN);
  const given = error === undefined ? hook : changesIn(request);
  const base = pathOf(hook);
  const body = html`<h1>${hook.name || 'Webhook'}</h1><p class="lead">${hook.url} ${hook.is_active ? html`<span class="tag good">enabled</span>` : html`<span class="tag">disabled</span>`}</p>
${news}
<div class="columns"><section class="card"><h2>Settings</h2><form method="post" action="${base}/save">${visit.token}
${fieldsOf(given, error ?? null)}
<label class="choice"><input type="checkbox" name="active" value="on"${hook.is_active && html` checked`}><div><b>Active</b><span>What happens while it is off is never told.</span></div></label>
<button>Save</button></form></section>
<section class="card"><h2>Try it</h2><p>Tells the address of an example alert, with the event <code>test</code>.</p>${button(`${base}/test`, visit.token, 'Send a test', 'Send a test delivery', 'second')}
<h2 class="spaced">How to check a request</h2><p>The header <code>X-Chain-Metrics-Signature</code> is <code>t=SECONDS,v1=HEX</code>. HEX is the HMAC-SHA256, with the secret, of the seconds, a dot and the body. Refuse what does not match, and what is older than a few minutes.</p></section></div>
<section class="card"><h2>Recent deliveries</h2><p class="hint">Every attempt of the last week. What fails is tried again, later and later, for a day.</p>${deliveryTable(deliveries, visit.membership.project.id)}</section>
<section class="card"><h2>Delete</h2><p>The address is told of nothing any more.</p>${button(`${base}/delete`, visit.token, 'Delete the webhook', `Delete ${hook.name || hook.url}`, 'danger')}</section>`;
  return sendProjectPage(services, request, reply, visit, {
    tab: 'hooks',
    title: hook.name || 'Webhook',
    body,
    status: error === undefined ? 200 : 422,
  });
}

type Given = Readonly<Partial<Pick<Hook, 'name' | 'url' | 'events'>>>;

function fieldsOf({ name, url, events = [] }: Given, error: RequestRefused | null): Html {
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const fault = faultOf('events');
  return html`${textField({ name: 'url', label: 'Address', value: url, hint: 'http or https, without a user name.', fault: faultOf('url') })}
${textField({ name: 'name', label: 'Name', value: name, required: false, hint: 'Such as the chat or the tool behind it.' })}
<fieldset class="field"${fault && html` aria-describedby="events-fault"`}><legend>It is told when</legend>${HOOK_EVENTS.map(
    (event) =>
      html`<label class="choice"><input type="checkbox" name="event-${event}" value="on"${events.includes(event) && html` checked`}><div><b>${event}</b><span>${EVENTS[event]}</span></div></label>`,
  )}${fault && html`<p class="fault" id="events-fault">${fault}</p>`}</fieldset>`;
}

function secretCard(secret: string): Html {
  return html`<section class="card" aria-live="polite"><h2>Secret of its signatures</h2>
<p class="note warn">Copy it now: it cannot be shown again.</p><code class="secret" id="secret">${secret}</code></section>`;
}

function resultOf({ status, fault, milliseconds }: AttemptResult): Html {
  return fault === ''
    ? html`<p class="note good" role="status">The test was taken: ${status} after ${milliseconds} ms.</p>`
    : html`<p class="note bad" role="alert">The test was not taken: ${fault}, after ${milliseconds} ms.</p>`;
}

function lastTold(progress: OutboxProgress | undefined, now: number): Html {
  if (progress === undefined || (progress.status === 0 && progress.fault === '')) return html`never`;
  const { at, fault } = progress;
  return fault === ''
    ? html`<span class="tag good">taken</span> ${ago(at, now)}`
    : html`<span class="tag bad">${fault}</span> ${ago(at, now)}`;
}

/** What a target was told lately, and how that went. */
export function deliveryTable(deliveries: readonly DeliveryAttempt[], project: string): Html {
  return table({
    caption: 'Recent deliveries',
    head: ['When', 'Event', 'Alert', 'Took', 'Result'],
    rows: deliveries.map(({ at, event, iid, status, milliseconds, fault }) => [
      time(at),
      html`<span class="tag">${event}</span>`,
      iid === 0 ? html`–` : html`<a href="/projects/${project}/alerts/${iid}">#${iid}</a>`,
      html`${milliseconds} ms`,
      fault === ''
        ? html`<span class="tag good">${status}</span>`
        : html`<span class="tag bad">${fault}</span>`,
    ]),
    empty: 'It has been told of nothing yet.',
  });
}
