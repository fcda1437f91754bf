import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator, type Seal } from '../../accounts/secrets.ts';
import type { Limiter, Limiters } from '../../http/limiter.ts';
import type { Records } from '../../stored-records/records.ts';
import type { Destination, DestinationType } from '../messages/destination.ts';
import { testMessage } from '../messages/message.ts';
import type { MessageSender, SendOutcome } from '../messages/send.ts';
import { RequestRefused } from '../model/access.ts';
import type { NotificationChannel } from '../model/oncall-tables.ts';
import type { Project } from '../model/tables.ts';
import { escalationLock } from '../oncall/policies.ts';
import { changedSettings, type DestinationSettings, SETTING_FIELDS } from './destination-settings.ts';
import { requireWithinLimit } from './message-limit.ts';
import { changedTemplate, type TemplateChanges, templateOf } from './template-changes.ts';

const CHANNELS_PER_PROJECT = 50;
const NAME_CHARACTERS_MAX = 100;
const TESTS_PER_HOUR = 30;

interface ChannelsDependencies {
  readonly records: Records<NotificationChannel>;
  readonly clock: Clock;
  readonly limiters: Limiters;
  readonly locks: Locks;
  readonly seal: Seal;
  readonly sender: MessageSender;
  /** Names of the policies that use a channel. */
  readonly policiesUsing: (projectId: string, channelId: string) => Promise<readonly string[]>;
  readonly publicUrl: () => string;
}

interface ChannelChanges {
  readonly name?: string;
  /** Changed settings; '' removes a setting. */
  readonly settings?: DestinationSettings;
  readonly template?: TemplateChanges;
  readonly is_active?: boolean;
}

/** The channels of projects. A channel notifies a team of pages. */
export class Channels {
  readonly #deps: ChannelsDependencies;
  /** Limits test messages, because a channel can have anybody's address. */
  readonly #tests: Limiter;

  constructor(dependencies: ChannelsDependencies) {
    this.#deps = dependencies;
    const limit = { name: 'channels/tests', max: TESTS_PER_HOUR, seconds: HOUR_MS / 1000 };
    this.#tests = dependencies.limiters(limit);
  }

  /** Sorted by name. */
  list(projectId: string): Promise<NotificationChannel[]> {
    return this.#deps.records.find(
      sql`project_id = ${projectId} AND deleted_ms = 0`,
      'lowerUTF8(name), id',
      CHANNELS_PER_PROJECT,
    );
  }

  async get(projectId: string, id: string): Promise<NotificationChannel> {
    const channel = await this.#own(projectId, id);
    if (channel === null) throw new RequestRefused('not_found', 'Channel Not Found');
    return channel;
  }

  /** True for inactive channels, too. */
  async has(projectId: string, id: string): Promise<boolean> {
    return (await this.#own(projectId, id)) !== null;
  }

  /** The destination of an active channel; null if there is none. */
  async find(projectId: string, id: string): Promise<Destination | null> {
    const channel = await this.#own(projectId, id);
    return channel?.is_active ? this.#destinationOf(channel) : null;
  }

  /** The settings without secrets, and the names of the secrets that are set. */
  settingsOf(channel: NotificationChannel): { shown: DestinationSettings; secrets: readonly string[] } {
    const fields = SETTING_FIELDS[channel.type as DestinationType];
    const entries = Object.entries(this.#settingsOf(channel) ?? {});
    const isSecret = (name: string) => fields[name]?.isSecret !== false;
    return {
      shown: Object.fromEntries(entries.filter(([name]) => !isSecret(name))),
      secrets: entries.map(([name]) => name).filter(isSecret),
    };
  }

  async create(
    projectId: string,
    author: string,
    input: ChannelChanges & { readonly type: DestinationType },
  ): Promise<NotificationChannel> {
    const { type } = input;
    const missing = this.#deps.sender.missingSetup(type);
    if (missing !== '') throw new RequestRefused('bad_request', missing, 'type');
    const settings = changedSettings(type, {}, input.settings ?? {});
    const template = changedTemplate(type, '', input.template ?? null);
    const name = nameOf(input.name ?? '');
    return this.#withLock(projectId, async (existing) => {
      if (existing.length >= CHANNELS_PER_PROJECT)
        throw new RequestRefused(
          'conflict',
          `A project can have up to ${CHANNELS_PER_PROJECT} channels. Delete one first.`,
        );
      requireFreeName(existing, name);
      const id = newLocator();
      const channel = {
        id,
        expires_ms: 0,
        project_id: projectId,
        name,
        type,
        settings: this.#encrypted(id, settings),
        template,
        is_active: input.is_active ?? true,
        author_id: author,
        created_ms: this.#deps.clock.now(),
        deleted_ms: 0,
      };
      await this.#deps.records.add(channel);
      return { ...channel, version: 1 };
    });
  }

  change(
    projectId: string,
    id: string,
    { settings, is_active, template, ...input }: ChannelChanges,
  ): Promise<NotificationChannel> {
    return this.#withLock(projectId, async (existing) => {
      const before = await this.get(projectId, id);
      const name = input.name === undefined ? before.name : nameOf(input.name);
      requireFreeName(
        existing.filter((channel) => channel.id !== id),
        name,
      );
      const type = before.type as DestinationType;
      const changed =
        settings && this.#encrypted(id, changedSettings(type, this.#settingsOf(before) ?? {}, settings));
      const ownTexts =
        template === undefined ? before.template : changedTemplate(type, before.template, template);
      return this.#deps.records.change(id, (current) => {
        const base = current ?? before;
        const next = {
          ...base,
          name,
          settings: changed ?? base.settings,
          template: ownTexts,
          is_active: is_active ?? base.is_active,
        };
        return { next, result: next };
      });
    });
  }

  /** Shares the lock of policies, so none can choose a channel that is being deleted. */
  async delete(projectId: string, id: string): Promise<void> {
    const { records, locks, policiesUsing, clock } = this.#deps;
    await locks.run(escalationLock(projectId), async () => {
      const channel = await this.get(projectId, id);
      const policies = await policiesUsing(projectId, id);
      if (policies.length > 0)
        throw new RequestRefused(
          'conflict',
          `Escalation policies use this channel: ${policies.join(', ')}. Remove it from them first.`,
        );
      await records.change(id, (current) => ({
        next: { ...(current ?? channel), deleted_ms: clock.now(), is_active: false },
        result: undefined,
      }));
    });
  }

  /** Sends a message that is marked as a test, also to an inactive channel. */
  async sendTest({ id: projectId, name }: Pick<Project, 'id' | 'name'>, id: string): Promise<SendOutcome> {
    const channel = await this.get(projectId, id);
    const { sender, publicUrl, clock } = this.#deps;
    const message = testMessage({
      key: `test.${newLocator()}`,
      project: { id: Number(projectId), name },
      user: null,
      publicUrl: publicUrl(),
      now: clock.now(),
    });
    const destination = this.#destinationOf(channel);
    if (destination === null) throw new RequestRefused('conflict', UNREADABLE);
    await requireWithinLimit(this.#tests, projectId);
    return sender.send(destination, message);
  }

  async #own(projectId: string, id: string): Promise<NotificationChannel | null> {
    const channel = await this.#deps.records.get(id);
    return channel?.project_id === projectId && channel.deleted_ms === 0 ? channel : null;
  }

  #destinationOf(channel: NotificationChannel): Destination | null {
    const { id, type, template } = channel;
    const settings = this.#settingsOf(channel);
    if (settings === null) return null;
    return { id, type: type as DestinationType, isChannel: true, settings, ...templateOf(template) };
  }

  #encrypted(id: string, settings: DestinationSettings): string {
    return this.#deps.seal.encrypt(JSON.stringify(settings), contextOf(id));
  }

  /** Null if the server's key has changed since the settings were encrypted. */
  #settingsOf({ id, settings }: NotificationChannel): DestinationSettings | null {
    try {
      return JSON.parse(this.#deps.seal.decrypt(settings, contextOf(id))) as DestinationSettings;
    } catch (error) {
      return ignore('channels.decrypt', null)(error);
    }
  }

  /** The lock keeps names unique and the number of channels within its bound. */
  #withLock<T>(
    projectId: string,
    work: (existing: readonly NotificationChannel[]) => Promise<T>,
  ): Promise<T> {
    return this.#deps.locks.run(`channels/${projectId}`, async () => work(await this.list(projectId)));
  }
}

const UNREADABLE =
  'The key of this server has changed since the channel was saved. Enter its settings again.';

const contextOf = (id: string): string => `channel/${id}`;

function nameOf(input: string): string {
  const name = cleanLine(input);
  const refused = (text: string) => new RequestRefused('bad_request', text, 'name');
  if (name === '') throw refused('Enter a name.');
  if (name.length > NAME_CHARACTERS_MAX) throw refused(`Enter at most ${NAME_CHARACTERS_MAX} characters.`);
  return name;
}

function requireFreeName(others: readonly NotificationChannel[], name: string): void {
  const isTaken = others.some((other) => other.name.toLowerCase() === name.toLowerCase());
  if (isTaken)
    throw new RequestRefused('conflict', 'Another channel has this name. Enter another one.', 'name');
}
