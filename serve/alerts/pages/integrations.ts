import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { button, table, textField } from '../../http/pages/fields.ts';
import { formOf } from '../../http/pages/forms.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { seeOther } from '../../http/pages/page.ts';
import { addressOf } from '../intake/intake.ts';
import { type Pulse, pulseOf } from '../integrations/heartbeat.ts';
import {
  changeIntegration,
  createIntegration,
  deleteIntegration,
  endOldKey,
  integrationOf,
  integrationsOf,
  resetKey,
  rotateKey,
  type WithKey,
} from '../integrations/integrations.ts';
import { deliveriesOf } from '../notifications/webhook-sender.ts';
import { PROJECT_ROLES, RequestRefused } from '../projects/access.ts';
import type { Integration, IntegrationType } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';
import { ago, select, sendProjectPage, type Visit, visitOf } from './frame.ts';
import { DELIVERIES_SHOWN, deliveryTable } from './webhooks.ts';

export const TYPES: Readonly<Record<IntegrationType, string>> = {
  http: 'HTTP Endpoint',
  prometheus: 'Prometheus',
  oncall: 'Link to an on-call tool',
};
const LIST = '/projects/:id/integrations';
export const ONE = `${LIST}/:integration`;

export const integrationIdOf = (request: FastifyRequest) =>
  (request.params as { integration: string }).integration;
export const pathOf = ({ project_id, id }: Integration) => `/projects/${project_id}/integrations/${id}`;

/** Where alerts come from: the list, one with its credentials, and what is done to them. */
export function serveIntegrationPages(
  pages: FastifyInstance,
  services: AlertServices,
  url: () => string,
): void {
  pages.get(LIST, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Developer');
    return sendList(services, request, reply, visit, null);
  });
  pages.post(LIST, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const form = formOf(request);
    const [type] = Object.entries(TYPES).find(([name]) => name === form.text('type')) ?? ['http'];
    try {
      const given = { name: form.text('name'), api_url: form.text('api_url') };
      const made = await createIntegration(
        services,
        visit.membership.project,
        type as IntegrationType,
        given,
      );
      return await sendOne(services, request, reply, visit, made.integration, url, made);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendList(services, request, reply, visit, error);
    }
  });
  pages.get(ONE, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Maintainer');
    const integration = await integrationOf(services, visit.membership.project, integrationIdOf(request));
    return sendOne(services, request, reply, visit, integration, url, null);
  });
  for (const [name, work] of [['reset', resetKey] as const, ['rotate', rotateFor24Hours] as const]) {
    pages.post(`${ONE}/${name}`, async (request, reply) => {
      const visit = await visitOf(services, request, reply, 'Maintainer');
      const made = await work(services, visit.membership.project, integrationIdOf(request));
      return sendOne(services, request, reply, visit, made.integration, url, made);
    });
  }
  serveChanges(pages, services);
}

const rotateFor24Hours: typeof resetKey = (services, project, id) => rotateKey(services, project, id, 24);

function serveChanges(pages: FastifyInstance, services: AlertServices): void {
  const action = (
    name: string,
    work: (visit: Visit, id: string, request: FastifyRequest) => Promise<string>,
  ) =>
    pages.post(`${ONE}/${name}`, async (request, reply) => {
      const visit = await visitOf(services, request, reply, 'Maintainer');
      const list = `/projects/${visit.membership.project.id}/integrations`;
      const id = integrationIdOf(request);
      try {
        const note = await work(visit, id, request);
        return seeOther(reply, name === 'delete' ? list : `${list}/${id}`, note);
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.status === 404) throw error;
        return seeOther(reply, `${list}/${id}`, error.message, 'bad');
      }
    });
  action('save', async ({ membership: { project } }, id, request) => {
    const form = formOf(request);
    await changeIntegration(services, project, id, {
      name: form.text('name'),
      is_active: form.has('active'),
      ...(form.has('api_url') ? { api_url: form.text('api_url') } : {}),
      heartbeat_minutes: Math.floor(Number(form.text('heartbeat'))) || 0,
    });
    return 'The integration is saved.';
  });
  action('end-old-key', async ({ membership: { project } }, id) => {
    await endOldKey(services, project, id);
    return 'The old key is dead.';
  });
  action('delete', async ({ membership: { project } }, id) => {
    await deleteIntegration(services, project, id);
    return 'The integration is deleted.';
  });
}

async function sendList(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  visit: Visit,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { project, level } = visit.membership;
  const mayChange = level >= PROJECT_ROLES.Maintainer;
  const found = await integrationsOf(services, project.id);
  const now = services.accounts.clock.now();
  const pulses = await Promise.all(found.map(({ id }) => pulseOf(services, id)));
  const rows = found.map((integration, i) => [
    mayChange ? html`<a href="${pathOf(integration)}">${integration.name}</a>` : html`${integration.name}`,
    html`${TYPES[integration.type as IntegrationType]}`,
    integration.is_active
      ? html`<span class="tag good">enabled</span>`
      : html`<span class="tag">disabled</span>`,
    heartbeat(integration, pulses[i] as Pulse, now),
    ago(integration.created_ms, now),
    html`<a class="button second small" href="${pathOf(integration)}/test">Send test alert</a>`,
  ]);
  const form = formOf(request);
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const body = html`<h1>Integrations</h1><p class="lead">Each has an address and a key, which a monitoring tool sends its alerts to.</p>
${error && error.field !== 'name' && error.field !== 'api_url' && html`<p class="note bad" role="alert">${error.message}</p>`}
${table({ caption: 'Integrations', head: ['Name', 'Type', 'Status', 'Heartbeat', 'Created', ''], rows, empty: 'Nothing is connected yet.' })}
${
  mayChange &&
  html`<section class="card"><h2>New integration</h2><form method="post" action="/projects/${project.id}/integrations">${visit.token}
<div class="picker">${select('type', 'Type', Object.entries(TYPES), form.text('type') || 'http')}</div>
${textField({ name: 'name', label: 'Name', value: form.text('name'), required: false, hint: 'Needed for every HTTP endpoint after the first.', fault: faultOf('name') })}
${textField({ name: 'api_url', label: 'Address of the on-call tool or metrics server', value: form.text('api_url'), required: false, hint: 'Needed for the link to an on-call tool, to which alerts are passed on.', fault: faultOf('api_url') })}
<button>Make the integration</button></form></section>`
}`;
  const status = error === null ? 200 : 422;
  return sendProjectPage(services, request, reply, visit, {
    tab: 'integrations',
    title: 'Integrations',
    body,
    status,
  });
}

async function sendOne(
  services: AlertServices,
  request: FastifyRequest,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  url: () => string,
  made: WithKey | null,
): Promise<FastifyReply> {
  const now = services.accounts.clock.now();
  const beats = integration.heartbeat_minutes > 0;
  const address = `${url()}${addressOf(integration.type === 'prometheus' ? 'prometheus' : 'http', integration.id)}`;
  const body = html`${heading(integration, 'settings')}
${made && keyCard(made.key, address, integration.type)}
<div class="columns"><section class="card"><h2>Settings</h2><form method="post" action="${pathOf(integration)}/save">${visit.token}
${textField({ name: 'name', label: 'Name', value: integration.name })}
<label class="choice"><input type="checkbox" name="active" value="on"${integration.is_active && html` checked`}><div><b>Active</b><span>A switched-off integration answers 403.</span></div></label>
${integration.type !== 'http' && textField({ name: 'api_url', label: integration.type === 'oncall' ? 'Address of the on-call tool' : 'API base URL', value: integration.api_url, required: integration.type === 'oncall', hint: integration.type === 'oncall' ? 'Every alert is passed on to it.' : 'Of the metrics server; nothing depends on it.' })}
${textField({ name: 'heartbeat', label: 'Heartbeat, minutes', value: String(integration.heartbeat_minutes), hint: 'An alert is raised when the source is silent for so long; 0 turns it off.' })}
${beats && html`<p>${heartbeat(integration, await pulseOf(services, integration.id), now)}</p>`}
<button>Save</button></form></section>
${credentials(integration, address, visit.token, now)}</div>
${integration.type === 'oncall' && html`<section class="card"><h2>Passed on lately</h2><p class="hint">Every attempt of the last week. What fails is tried again, later and later, for a day.</p>${deliveryTable(await deliveriesOf(services, integration.id, DELIVERIES_SHOWN), integration.project_id)}</section>`}
<section class="card"><h2>Delete</h2><p>Its address and key stop at once. Alerts that it brought stay.</p>${button(`${pathOf(integration)}/delete`, visit.token, 'Delete the integration', `Delete ${integration.name}`, 'danger')}</section>`;
  return sendProjectPage(services, request, reply, visit, {
    tab: 'integrations',
    title: integration.name,
    body,
  });
}

/** Whether a source that should be heard regularly is. */
function heartbeat({ heartbeat_minutes: minutes, is_active }: Integration, pulse: Pulse, now: number): Html {
  if (minutes === 0 || !is_active) return html`–`;
  const { heardMs, silentSinceMs } = pulse;
  if (silentSinceMs > 0) return html`<span class="tag bad">silent</span> heard ${ago(silentSinceMs, now)}`;
  const heard = heardMs === 0 ? 'not heard yet' : html`heard ${ago(heardMs, now)}`;
  return html`<span class="tag good">every ${minutes} min</span> ${heard}`;
}

function credentials(integration: Integration, address: string, token: Html, now: number): Html {
  const base = pathOf(integration);
  const isOldAlive = integration.old_key_hash !== '' && integration.old_key_ends_ms > now;
  return html`<section class="card"><h2>Credentials</h2>
<div class="field"><label for="address">Webhook URL</label><code class="secret" id="address">${address}</code></div>
<div class="field"><label for="key">Authorization key</label><code class="secret" id="key">••••••••••••••••</code><p class="hint">Made ${ago(integration.key_created_ms, now)}. It is kept only as a hash and cannot be shown.</p></div>
${isOldAlive && html`<p class="note warn">The key before is good for ${Math.ceil((integration.old_key_ends_ms - now) / 3_600_000)} more hours.</p>`}
<div class="actions">${button(`${base}/rotate`, token, 'Rotate', 'Make a new key and honour the old one for 24 hours', 'second')}
${isOldAlive && button(`${base}/end-old-key`, token, 'End the old key', 'End the old key at once', 'second')}
${button(`${base}/reset`, token, 'Reset', 'Make a new key and end every other one at once', 'danger')}</div>
<p class="hint">Rotate honours the old key for 24 hours; reset ends it at once.</p></section>`;
}

function keyCard(key: string, address: string, type: string): Html {
  const sample =
    type === 'prometheus'
      ? html`receivers:
  - name: chain-metrics
    webhook_configs:
      - url: ${address}
        send_resolved: true
        http_config:
          authorization:
            credentials: ${key}`
      : html`curl ${address} \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"title":"Disk full"}'`;
  return html`<section class="card" aria-live="polite"><h2>Your new authorization key</h2>
<p class="note warn">Copy it now: it is kept only as a hash and cannot be shown again.</p>
<code class="secret" id="secret">${key}</code><h2 class="spaced">${type === 'prometheus' ? 'In alertmanager.yml' : 'Try it'}</h2><pre class="payload" tabindex="0">${sample}</pre></section>`;
}

/** The head of each page of an integration. */
export function heading(integration: Integration, here: 'settings' | 'mapping' | 'test'): Html {
  const tabs = [
    ['settings', 'Settings and credentials', ''],
    ...(integration.type === 'http' ? [['mapping', 'Custom mapping', '/mapping']] : []),
    ['test', 'Send test alert', '/test'],
  ];
  return html`<h1>${integration.name}</h1><p class="lead">${TYPES[integration.type as IntegrationType]} ${integration.is_active ? html`<span class="tag good">enabled</span>` : html`<span class="tag">disabled</span>`}</p>
<nav class="tabs sub" aria-label="Integration"><ul>${tabs.map(([name, label, path]) => html`<li><a href="${pathOf(integration)}${path}"${name === here && html` aria-current="page"`}>${label}</a></li>`)}</ul></nav>`;
}
