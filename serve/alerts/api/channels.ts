import { z } from 'zod';
import type { AlertDomain } from '../composition/domain.ts';
import type { Channels } from '../destinations/channels.ts';
import { storedTemplate } from '../destinations/template-changes.ts';
import { DESTINATION_TYPES, type DestinationType } from '../messages/destination.ts';
import { checkTemplate } from '../messages/templates.ts';
import { PROJECT_ROLES } from '../model/access.ts';
import type { NotificationChannel } from '../model/oncall-tables.ts';
import { timeText, wellFormedText } from '../projects/shapes.ts';
import { testJson, testShape } from './contacts.ts';
import type { Api } from './endpoint.ts';
import { templateInput, templateShape } from './template-shapes.ts';

const shape = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.enum(DESTINATION_TYPES),
    active: z.boolean(),
    settings: z
      .record(z.string(), z.string())
      .nullable()
      .describe('settings without secrets; null for roles below Maintainer'),
    secret_settings: z
      .array(z.string())
      .nullable()
      .describe('names of the secret settings that have a value'),
    template: templateShape.nullable().describe('null: messages use the built-in template'),
    template_warnings: z
      .array(z.string())
      .describe('variables in the template that do not exist; they render as empty text'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'NotificationChannel' });

const settings = z
  .record(z.string(), wellFormedText().max(2000))
  .describe(
    'email: `address`; slack and teams: `url`; pagerduty: `routing_key`, optionally `url` of another server; telegram: `chat_id`; webhook: `url`, optionally `secret` to sign requests. An empty value removes a setting',
  );
const fields = {
  name: wellFormedText().max(255).optional(),
  settings: settings.optional(),
  template: templateInput.optional(),
  active: z.boolean().optional(),
};

const changesOf = ({ active, name, settings, template }: z.output<z.ZodObject<typeof fields>>) => ({
  ...(name === undefined ? {} : { name }),
  ...(settings === undefined ? {} : { settings }),
  ...(template === undefined ? {} : { template }),
  ...(active === undefined ? {} : { is_active: active }),
});

const tag = 'On call' as const;
const all = '/projects/:id/notification_channels';
const one = `${all}/:channel_id`;
const params = z.object({ channel_id: z.string() });

/** Hides settings from members below Maintainer. */
const jsonOf = (channels: Channels) => (channel: NotificationChannel, level: number) => {
  const template = storedTemplate(channel.template);
  const visible = level < PROJECT_ROLES.Maintainer ? null : channels.settingsOf(channel);
  return {
    id: channel.id,
    name: channel.name,
    type: channel.type,
    active: channel.is_active,
    settings: visible?.shown ?? null,
    secret_settings: visible?.secrets ?? null,
    template,
    template_warnings: template === null ? [] : [...checkTemplate(template, channel.type as DestinationType)],
    created_at: timeText(channel.created_ms),
  };
};

/** Serves the channels that pages of a project are sent to. */
export function serveChannels(api: Api, { channels }: Pick<AlertDomain, 'channels'>): void {
  const json = jsonOf(channels);
  api.add(
    {
      method: 'GET',
      path: all,
      tag,
      summary: 'List notification channels',
      role: 'Reporter',
      isWholeList: true,
      answer: z.array(shape),
    },
    async ({ membership: { project, level } }) =>
      (await channels.list(project.id)).map((channel) => json(channel, level)),
  );
  api.add(
    {
      method: 'POST',
      path: all,
      tag,
      summary: 'Create a notification channel',
      role: 'Maintainer',
      body: z.object({
        ...fields,
        name: wellFormedText().max(255),
        type: z.enum(DESTINATION_TYPES),
        settings,
      }),
      answer: shape,
      status: 201,
    },
    async ({ caller, membership: { project, level }, body }) =>
      json(await channels.create(project.id, caller.user.id, { type: body.type, ...changesOf(body) }), level),
  );
  api.add(
    {
      method: 'GET',
      path: one,
      tag,
      summary: 'Get a notification channel',
      role: 'Reporter',
      params,
      answer: shape,
    },
    async ({ membership: { project, level }, params }) =>
      json(await channels.get(project.id, params.channel_id), level),
  );
  serveChannelChanges(api, channels);
}

function serveChannelChanges(api: Api, channels: Channels): void {
  const json = jsonOf(channels);
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Update a notification channel',
      doc: 'Settings that the request omits keep their values. The type cannot change.',
      role: 'Maintainer',
      params,
      body: z.object(fields),
      answer: shape,
    },
    async ({ membership: { project, level }, params, body }) =>
      json(await channels.change(project.id, params.channel_id, changesOf(body)), level),
  );
  api.add(
    {
      method: 'DELETE',
      path: one,
      tag,
      summary: 'Delete a notification channel',
      doc: 'Fails with 409 while an escalation policy uses the channel.',
      role: 'Maintainer',
      params,
      status: 204,
    },
    async ({ membership, params }) => channels.delete(membership.project.id, params.channel_id),
  );
  api.add(
    {
      method: 'POST',
      path: `${one}/test`,
      tag,
      summary: 'Send a test message to a notification channel',
      doc: 'Sends a message that is marked as a test, and returns the result.',
      role: 'Maintainer',
      params,
      answer: testShape,
    },
    async ({ membership, params }) =>
      testJson(await channels.sendTest(membership.project, params.channel_id)),
  );
}
