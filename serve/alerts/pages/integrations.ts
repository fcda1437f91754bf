import type { FastifyInstance, FastifyReply } from 'fastify';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import { button, secretCard, table, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { showOnce, takeSecret } from '../../pages/shown-once.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { HEARTBEAT_HELP } from '../integrations/heartbeat-settings.ts';
import { httpIntegration } from '../integrations/http.ts';
import { isSignedBySender } from '../integrations/integrations.ts';
import { isOncallLink } from '../integrations/oncall-link.ts';
import { PRESETS, presetOf } from '../integrations/presets/presets.ts';
import { snsIntegration } from '../integrations/sns.ts';
import { OFFERED_TYPES, typeOf } from '../integrations/types.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { Integration } from '../model/tables.ts';
import { connectCard } from './connect.ts';
import { DELIVERIES_MAX, deliveryCard, waitingNote } from './delivery-table.ts';
import { ago, type ProjectFrame, select, type Visit } from './frame.ts';
import { heartbeatCard, heartbeatTag, serveHeartbeatForms } from './heartbeats.ts';
import { type ShowKey, serveIntegrationConfirmations } from './integration-confirmations.ts';
import { integrationIdOf, ONE, pathOf } from './integration-paths.ts';
import { type LiveParts, liveBar } from './live.ts';
import { refusalCard } from './refusal-card.ts';
import { rulesCard } from './rules-card.ts';
import { subscriptionCard } from './subscription-card.ts';
import { unroutedNote } from './unrouted-note.ts';
import { ATTEMPTS_MAX, attemptCard } from './webhook-attempts.ts';

const LIST = '/projects/:id/integrations';

interface IntegrationPageParts
  extends Pick<
    AlertDomain,
    | 'alertRoutes'
    | 'heartbeats'
    | 'integrations'
    | 'policies'
    | 'receivedDeliveries'
    | 'refusals'
    | 'snsSubscriptions'
    | 'webhookSender'
  > {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
  readonly url: () => string;
  readonly live: LiveParts;
}

/** The list of integrations, the page of one with its credentials, and the actions on it. */
export function serveIntegrationPages(pages: FastifyInstance, parts: IntegrationPageParts): void {
  const { frame, integrations, live, receivedDeliveries, refusals } = parts;
  const showKey: ShowKey = ({ user }, reply, { integration, key }) =>
    showOnce(frame.accounts, reply, user, pathOf(integration), key);
  pages.get(LIST, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    return sendList(parts, reply, visit, null);
  });
  pages.post(LIST, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const form = formOf(request);
    const preset = presetOf({ preset: form.text('preset') });
    const chosen = preset?.type ?? form.text('type');
    const type = OFFERED_TYPES.find(({ name }) => name === chosen) ?? httpIntegration;
    try {
      const input = { name: form.text('name'), api_url: form.text('api_url') };
      const created = await integrations.create(visit.membership.project, type, input, preset);
      return await showKey(visit, reply, created);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendList(parts, reply, visit, error);
    }
  });
  pages.get(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const integration = await integrations.get(visit.membership.project, integrationIdOf(request));
    const key = await takeSecret(frame.accounts, request, visit.user);
    return sendOne(parts, reply, visit, integration, { key });
  });
  pages.get(`${ONE}/live`, async (request, reply) => {
    const { membership, store } = await frame.visit(request, reply, 'Maintainer');
    const integration = await integrations.get(membership.project, integrationIdOf(request));
    return live.send(request, reply, {
      project: membership.project.id,
      name: `integration ${integration.id}`,
      store,
      render: async (by, now) => {
        const last = await receivedDeliveries.withStore(by).latest(integration, DELIVERIES_MAX);
        const refused = await refusals.latest(integration.id, by);
        return html`${waitingNote(last, now)}${deliveryCard(last, integration.project_id)}${refusalCard(refused)}`;
      },
    });
  });
  pages.post(`${ONE}/rotate`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    const rotated = await integrations.rotateKey(project, integrationIdOf(request), ROTATION_HOURS);
    return showKey(visit, reply, rotated);
  });
  serveChanges(pages, parts);
  serveHeartbeatForms(pages, parts);
  serveIntegrationConfirmations(pages, parts, showKey);
}

const ROTATION_HOURS = 24;

function serveChanges(pages: FastifyInstance, parts: IntegrationPageParts): void {
  const { frame, integrations } = parts;
  pages.post(`${ONE}/save`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    const form = formOf(request);
    try {
      const integration = await integrations.change(project, integrationIdOf(request), {
        name: form.text('name'),
        is_active: form.has('active'),
        ...(form.has('api_url') ? { api_url: form.text('api_url') } : {}),
        ...(form.has('topics') ? { topics: form.text('topics').split(/\s+/).filter(Boolean) } : {}),
        heartbeat_minutes: wholeNumberIn(form.text('heartbeat')),
        ...(form.has('heartbeat_matchers') ? { heartbeat_matchers: form.text('heartbeat_matchers') } : {}),
      });
      return await seeOther(reply, pathOf(integration), 'Changes saved.');
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      const integration = await integrations.get(project, integrationIdOf(request));
      return sendOne(parts, reply, visit, integration, { error });
    }
  });
  pages.post(`${ONE}/end-old-key`, async (request, reply) => {
    const { membership } = await frame.visit(request, reply, 'Maintainer');
    const integration = await integrations.get(membership.project, integrationIdOf(request));
    await integrations.revokeOldKey(membership.project, integration.id);
    return seeOther(reply, pathOf(integration), 'Previous key revoked.');
  });
}

/** NaN for any other text, because a typo must not turn the heartbeat off. */
const wholeNumberIn = (text: string): number => (/^\s*\d*\s*$/.test(text) ? Number(text) : Number.NaN);

async function sendList(
  { clock, frame, heartbeats, integrations }: IntegrationPageParts,
  reply: FastifyReply,
  visit: Visit,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { request } = reply;
  const { project, level } = visit.membership;
  const mayChange = level >= PROJECT_ROLES.Maintainer;
  const found = await integrations.list(project.id);
  const now = clock.now();
  const beats = Map.groupBy(await heartbeats.list(found), ({ integration }) => integration);
  const rows = found.map((integration) => [
    mayChange ? html`<a href="${pathOf(integration)}">${integration.name}</a>` : html`${integration.name}`,
    html`${typeOf(integration).label}`,
    integration.is_active
      ? html`<span class="tag good">enabled</span>`
      : html`<span class="tag">disabled</span>`,
    heartbeatTag(integration, beats.get(integration.id) ?? [], now),
    ago(integration.created_ms, now),
    html`<a class="button second small" href="${pathOf(integration)}/test">Send test alert</a>`,
  ]);
  const form = formOf(request);
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const body = html`<h1>Integrations</h1><p class="lead">An integration receives the alerts of a monitoring tool through its own URL and key.</p>
${error && error.field !== 'name' && error.field !== 'api_url' && html`<p class="note bad" role="alert">${error.message}</p>`}
${table({ caption: 'Integrations', head: ['Name', 'Type', 'Status', 'Heartbeat', 'Created', ''], rows, empty: 'No integrations yet.' })}
${
  mayChange &&
  html`<section class="card"><h2>Add integration</h2><form method="post" action="/projects/${project.id}/integrations">${visit.token}
<div class="picker">${select(
    'type',
    'Type',
    OFFERED_TYPES.map(({ name, label }): [string, string] => [name, label]),
    form.text('type') || httpIntegration.name,
  )}${select('preset', 'Tool', [['', 'Any'], ...OFFERED_PRESETS], form.text('preset'))}</div>
<p class="hint">A tool sets the type, and adds rules that read its payloads.</p>
${textField({ name: 'name', label: 'Name', value: form.text('name'), required: false, hint: 'Required for each additional HTTP endpoint.', fault: faultOf('name') })}
${urlField(form.text('api_url'), faultOf('api_url'))}
<button>Add integration</button></form></section>`
}`;
  const status = error === null ? 200 : 422;
  return frame.send(reply, visit, {
    tab: 'integrations',
    title: 'Integrations',
    body,
    status,
  });
}

/** Presets whose type is offered. */
const OFFERED_PRESETS = PRESETS.filter((preset) =>
  OFFERED_TYPES.some(({ name }) => name === preset.type),
).map(({ name, label }): [string, string] => [name, label]);

/** The field for the URL. It is shown for all types, because the type is selected in the same form. */
function urlField(value: string, fault: string | null): Html {
  const hints = OFFERED_TYPES.flatMap(({ label, settings }) =>
    settings.filter(({ name }) => name === 'api_url').map(({ hint }) => `${label}: ${hint}`),
  );
  return textField({
    name: 'api_url',
    label: 'API URL',
    value,
    required: false,
    hint: hints.join(' '),
    fault,
  });
}

/** Fields of the form of one integration, by the names of the API. */
const EDITED: ReadonlySet<string> = new Set([
  'name',
  'api_url',
  'topics',
  'heartbeat_minutes',
  'heartbeat_matchers',
]);

async function sendOne(
  parts: IntegrationPageParts,
  reply: FastifyReply,
  visit: Visit,
  integration: Integration,
  { key = null, error }: { readonly key?: string | null; readonly error?: RequestRefused },
): Promise<FastifyReply> {
  const { clock, frame, heartbeats, url, receivedDeliveries, refusals, snsSubscriptions, webhookSender } =
    parts;
  const { request } = reply;
  const now = clock.now();
  const form = formOf(request);
  const shownOf = (name: string, stored: string) => (error ? form.text(name) : stored);
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  const isActive = error ? form.has('active') : integration.is_active;
  const type = typeOf(integration);
  const isForwarding = isOncallLink(integration);
  const beats = await heartbeats.list([integration]);
  const last = await receivedDeliveries.withStore(visit.store).latest(integration, DELIVERIES_MAX);
  const body = html`${heading(integration, 'settings', isForwarding ? null : liveBar(`${pathOf(integration)}/live`, pathOf(integration)))}
${!isForwarding && waitingNote(last, now)}
${error && !EDITED.has(error.field ?? '') && html`<p class="note bad" role="alert">${error.message}</p>`}
${key && secretCard('New authorization key', key)}
${connectCard(url(), integration, type, key)}
${await unroutedNote(parts, integration.project_id)}
<div class="columns"><section class="card"><h2>Settings</h2><form method="post" action="${pathOf(integration)}/save">${visit.token}
${textField({ name: 'name', label: 'Name', value: shownOf('name', integration.name), fault: faultOf('name') })}
<label class="choice"><input type="checkbox" name="active" value="on"${isActive && html` checked`}><div><b>Active</b><span>An inactive integration rejects alerts with status 403.</span></div></label>
${type.settings.map(({ name, label, hint, isRequired }) => textField({ name, label, hint, value: shownOf(name, [integration[name]].flat().join('\n')), ...(name === 'topics' && { rows: 3 }), required: isRequired, fault: faultOf(name) }))}
${textField({ name: 'heartbeat', label: 'Heartbeat (minutes)', value: shownOf('heartbeat', String(integration.heartbeat_minutes)), fault: faultOf('heartbeat_minutes'), hint: `${HEARTBEAT_HELP} 0 turns the heartbeat off.` })}
${!isForwarding && textField({ name: 'heartbeat_matchers', label: 'Watchdogs', value: shownOf('heartbeat_matchers', integration.heartbeat_matchers), required: false, fault: faultOf('heartbeat_matchers'), hint: 'Alertmanager matchers. While the heartbeat is on, a firing alert that matches is a beat and creates no alert. Each label set is its own Watchdog.' })}
<button>Save changes</button></form></section>
${credentials(integration, visit.token, now)}</div>
${!isForwarding && heartbeatCard(integration, beats, visit.token, now)}
${type === snsIntegration && subscriptionCard(await snsSubscriptions.list(integration), now)}
${isForwarding && attemptCard(await webhookSender.attempts(integration.id, ATTEMPTS_MAX), integration.project_id)}
${type.hasMapping && rulesCard(integration)}
${!isForwarding && deliveryCard(last, integration.project_id)}
${refusalCard(await refusals.latest(integration.id, visit.store))}
<section class="card"><h2>Delete integration</h2><p>The URL and the key stop working immediately. Existing alerts are kept.</p><a class="button danger" href="${pathOf(integration)}/delete" aria-label="Delete integration ${integration.name}">Delete integration</a></section>`;
  return frame.send(reply, visit, {
    tab: 'integrations',
    title: integration.name,
    body,
    script: 'alerts.js',
    status: error === undefined ? 200 : 422,
  });
}

function credentials(integration: Integration, token: Html, now: number): Html {
  const base = pathOf(integration);
  const isOldKeyValid = integration.old_key_hash !== '' && integration.old_key_ends_ms > now;
  return html`<section class="card"><h2>Authorization key</h2>
<div class="field"><code class="secret" id="key">••••••••••••••••</code><p class="hint">Created ${ago(integration.key_created_ms, now)}. ${integration.sealed_key === '' ? 'Only a hash of the key is stored' : 'The key is stored encrypted, to check or make signatures'}, so it cannot be shown.</p></div>
${isOncallLink(integration) && integration.sealed_key === '' && html`<p class="note warn">Requests to the on-call tool are not signed, because this key is older than signatures. Rotate it to sign them.</p>`}
${isOldKeyValid && html`<p class="note warn">The previous key expires in ${Math.ceil((integration.old_key_ends_ms - now) / HOUR_MS)} hours.</p>`}
<div class="actions">${button(`${base}/rotate`, token, 'Rotate key', 'Rotate key and keep the previous one for 24 hours', 'second')}
${isOldKeyValid && button(`${base}/end-old-key`, token, 'Revoke previous key', 'Revoke the previous key immediately', 'second')}
<a class="button danger" href="${base}/reset" aria-label="Reset key and revoke all others immediately">Reset key</a></div>
${isSignedBySender(integration) && html`<p>The sender creates the secret that signs its requests. <a href="${base}/secret">Enter its client secret</a></p>`}
<p class="hint">Rotating keeps the previous key valid for 24 hours. Resetting revokes it immediately.</p></section>`;
}

/** The heading and the tabs of each page of an integration. */
export function heading(
  integration: Integration,
  here: 'settings' | 'mapping' | 'rules' | 'test',
  beside: Html | null = null,
): Html {
  const type = typeOf(integration);
  const tabs = [
    ['settings', 'Settings and credentials', ''],
    ...(type.hasMapping
      ? [
          ['mapping', 'Custom mapping', '/mapping'],
          ['rules', 'Rules', '/rules'],
        ]
      : []),
    ['test', 'Send test alert', '/test'],
  ];
  return html`<div class="heading"><div><h1>${integration.name}</h1><p class="under">${type.label} ${integration.is_active ? html`<span class="tag good">enabled</span>` : html`<span class="tag">disabled</span>`}</p></div>${beside}</div>
<nav class="tabs sub" aria-label="Integration"><ul>${tabs.map(([name, label, path]) => html`<li><a href="${pathOf(integration)}${path}"${name === here && html` aria-current="page"`}>${label}</a></li>`)}</ul></nav>`;
}
