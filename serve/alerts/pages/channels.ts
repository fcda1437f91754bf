import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { button, table, textField } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { SETTING_FIELDS } from '../destinations/destination-settings.ts';
import { storedTemplate } from '../destinations/template-changes.ts';
import { DESTINATION_TYPES, type DestinationType } from '../messages/destination.ts';
import type { SendOutcome } from '../messages/send.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { NotificationChannel } from '../model/oncall-tables.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import { DESTINATION_LABELS } from './destination-labels.ts';
import { type ProjectFrame, select, type Visit } from './frame.ts';
import { templateFields, templateIn, templatePreview } from './template-fields.ts';

const LIST = '/projects/:id/channels';
const NEW = `${LIST}/new`;
const ONE = `${LIST}/:channel`;

const channelIdOf = (request: FastifyRequest) => (request.params as { channel: string }).channel;
const listPath = ({ membership }: Visit) => `/projects/${membership.project.id}/channels`;
const labelOf = (type: string) => DESTINATION_LABELS[type as DestinationType].label;
const typeIn = (text: string): DestinationType | undefined => DESTINATION_TYPES.find((type) => type === text);
const stateTag = ({ is_active }: NotificationChannel) =>
  is_active ? html`<span class="tag good">enabled</span>` : html`<span class="tag">disabled</span>`;

/** The channel in a form. An empty field of a secret keeps the secret. */
function channelInputIn(request: FastifyRequest, type: DestinationType) {
  const form = formOf(request);
  const entries = Object.entries(SETTING_FIELDS[type])
    .map(([name, { isSecret }]) => ({ name, isSecret, text: form.text(`setting-${name}`).trim() }))
    .filter(({ isSecret, text }) => !isSecret || text !== '');
  return {
    name: form.text('name'),
    settings: Object.fromEntries(entries.map(({ name, text }) => [name, text])),
    template: templateIn(form, type),
  };
}

interface ChannelPageParts extends Pick<AlertDomain, 'channels' | 'messageSender'> {
  readonly frame: ProjectFrame;
}

/** The channels of a project. */
export function serveChannelPages(pages: FastifyInstance, parts: ChannelPageParts): void {
  const { frame, channels } = parts;
  pages.get(LIST, async (request, reply) =>
    sendList(parts, reply, await frame.visit(request, reply, 'Reporter')),
  );
  pages.get(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const type = typeIn(String((request.query as { type?: unknown }).type));
    if (type === undefined) return seeOther(reply, listPath(visit));
    return sendNew(parts, reply, visit, type, null);
  });
  pages.post(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const type = typeIn(formOf(request).text('type'));
    if (type === undefined) return seeOther(reply, listPath(visit));
    try {
      const input = { type, ...channelInputIn(request, type) };
      const { id } = await channels.create(visit.membership.project.id, visit.user.id, input);
      return seeOther(reply, `${listPath(visit)}/${id}`, 'Channel added. Send a test to check it.');
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendNew(parts, reply, visit, type, error);
    }
  });
  serveOne(pages, parts);
  serveDeletion(pages, parts);
}

function serveOne(pages: FastifyInstance, parts: ChannelPageParts): void {
  const { frame, channels } = parts;
  const get = (request: FastifyRequest, { membership }: Visit) =>
    channels.get(membership.project.id, channelIdOf(request));
  pages.get(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    return sendOne(parts, reply, visit, await get(request, visit), {});
  });
  pages.post(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const channel = await get(request, visit);
    try {
      const input = channelInputIn(request, channel.type as DestinationType);
      const changes = { ...input, is_active: formOf(request).has('active') };
      await channels.change(visit.membership.project.id, channel.id, changes);
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      return sendOne(parts, reply, visit, channel, { error });
    }
    return seeOther(reply, `${listPath(visit)}/${channel.id}`, 'Changes saved.');
  });
  pages.post(`${ONE}/test`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const channel = await get(request, visit);
    const outcome = await channels.sendTest(visit.membership.project, channel.id);
    return sendOne(parts, reply, visit, channel, { news: testResult(outcome) });
  });
}

/** The result of a test message. */
export function testResult({ status, fault }: SendOutcome): Html {
  const answer = status > 0 && `with status ${status}`;
  return fault === ''
    ? html`<p class="note good" role="status">The test message was accepted ${answer}.</p>`
    : html`<p class="note bad" role="alert">The test message was not accepted: ${fault}.</p>`;
}

const serveDeletion = (pages: FastifyInstance, { frame, channels }: ChannelPageParts): void =>
  serveConfirmationPage(pages, frame, {
    path: `${ONE}/delete`,
    tab: 'channels',
    find: (request, visit) => channels.get(visit.membership.project.id, channelIdOf(request)),
    questionOf: ({ id, name, type }, visit) => ({
      question: `Delete the channel ${name}?`,
      facts: [['Type', labelOf(type)]],
      consequence: 'It receives no more messages. Retries of earlier messages are dropped.',
      submit: 'Delete channel',
      back: `${listPath(visit)}/${id}`,
    }),
    execute: async ({ id }, visit, reply) => {
      await channels.delete(visit.membership.project.id, id);
      return seeOther(reply, listPath(visit), 'Channel deleted.');
    },
  });

async function sendList(
  { frame, channels }: ChannelPageParts,
  reply: FastifyReply,
  visit: Visit,
): Promise<FastifyReply> {
  const { project, level } = visit.membership;
  const mayChange = level >= PROJECT_ROLES.Maintainer;
  const rows = (await channels.list(project.id)).map((channel) => [
    html`${mayChange ? html`<a href="${listPath(visit)}/${channel.id}">${channel.name}</a>` : channel.name} <span class="under">${labelOf(channel.type)}</span>`,
    stateTag(channel),
  ]);
  const types = DESTINATION_TYPES.map((type): [string, string] => [type, labelOf(type)]);
  const body = html`<h1>Channels</h1><p class="lead">A channel notifies a whole team when an alert pages, is acknowledged or is resolved. Add channels to the steps of <a href="/projects/${project.id}/escalation">escalation policies</a>.</p>
${table({ caption: 'Channels', head: ['Channel', 'Status'], rows, empty: 'No channels yet.' })}
${mayChange && html`<section class="card"><h2>Add channel</h2><form method="get" action="${listPath(visit)}/new"><div class="picker">${select('type', 'Type', types, 'slack')}<button>Continue</button></div></form></section>`}`;
  return frame.send(reply, visit, { tab: 'channels', title: 'Channels', body });
}

function sendNew(
  { frame, messageSender }: ChannelPageParts,
  reply: FastifyReply,
  visit: Visit,
  type: DestinationType,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const input = channelInputIn(reply.request, type);
  const missing = messageSender.missingSetup(type);
  const body = html`<h1>New channel</h1><p class="lead">${labelOf(type)}</p>
${missing === '' ? otherFault(type, error) : html`<p class="note warn">${missing}</p>`}
<section class="card"><form method="post" action="${listPath(visit)}/new">${visit.token}<input type="hidden" name="type" value="${type}">
${channelFields(type, input, [], error)}
${templateFields(type, input.template, faultIn(error))}
<div class="actions"><button>Add channel</button><a class="button second" href="${listPath(visit)}">Cancel</a></div></form></section>`;
  const status = error === null ? 200 : 422;
  return frame.send(reply, visit, { tab: 'channels', title: 'New channel', body, status });
}

interface ChannelPageState {
  /** The result of the last action, shown at the top. */
  readonly news?: Html;
  readonly error?: RequestRefused;
}

function sendOne(
  { frame, channels }: ChannelPageParts,
  reply: FastifyReply,
  visit: Visit,
  channel: NotificationChannel,
  { news, error }: ChannelPageState,
): Promise<FastifyReply> {
  const type = channel.type as DestinationType;
  const base = `${listPath(visit)}/${channel.id}`;
  const { shown: settings, secrets } = channels.settingsOf(channel);
  const stored = storedTemplate(channel.template);
  const saved = { name: channel.name, settings, template: stored };
  const input = error === undefined ? saved : channelInputIn(reply.request, type);
  const isActive = error === undefined ? channel.is_active : formOf(reply.request).has('active');
  const body = html`<h1>${channel.name}</h1><p class="lead">${labelOf(type)} ${stateTag(channel)}</p>
${news}${otherFault(type, error ?? null)}
<div class="columns"><section class="card"><h2>Settings</h2><form method="post" action="${base}">${visit.token}
${channelFields(type, input, secrets, error ?? null)}
${templateFields(type, input.template, faultIn(error ?? null))}
<label class="choice"><input type="checkbox" name="active" value="on"${isActive && html` checked`}><div><b>Active</b><span>An inactive channel receives no messages. A step without another target reaches nobody.</span></div></label>
<button>Save changes</button></form></section>
<section class="card"><h2>Test</h2><p>Sends a message that is marked as a test.</p>${button(`${base}/test`, visit.token, 'Send test', 'Send test message', 'second')}
<h2 class="spaced">Delete channel</h2><p>The channel receives no more messages.</p><a class="button danger" href="${base}/delete" aria-label="Delete channel ${channel.name}">Delete channel</a></section>${stored && templatePreview(type, stored)}</div>`;
  const status = error === undefined ? 200 : 422;
  return frame.send(reply, visit, { tab: 'channels', title: channel.name, body, status });
}

/** A fault that belongs to no field of the form. */
const otherFault = (type: DestinationType, error: RequestRefused | null): Html | null =>
  error === null ||
  error.field === 'name' ||
  error.field?.startsWith('template.') ||
  Object.hasOwn(SETTING_FIELDS[type], error.field ?? '')
    ? null
    : html`<p class="note bad" role="alert">${error.message}</p>`;

const faultIn = (error: RequestRefused | null) => (field: string) =>
  error?.field === field ? error.message : null;

function channelFields(
  type: DestinationType,
  input: { readonly name: string; readonly settings: Readonly<Record<string, string>> },
  secrets: readonly string[],
  error: RequestRefused | null,
): Html {
  const faultOf = faultIn(error);
  const labels = DESTINATION_LABELS[type].settings;
  const fields = Object.entries(SETTING_FIELDS[type]).map(([name, { isRequired, isSecret }]) => {
    const { label, hint } = labels[name] ?? { label: name, hint: '' };
    const isSaved = isSecret && secrets.includes(name);
    return textField({
      name: `setting-${name}`,
      label,
      value: input.settings[name],
      hint: isSaved ? 'Saved and hidden. Leave it empty to keep it.' : hint,
      required: isRequired && !isSaved,
      fault: faultOf(name),
    });
  });
  return html`${textField({ name: 'name', label: 'Name', value: input.name, hint: 'For example, the chat or the team.', fault: faultOf('name') })}${fields}`;
}
