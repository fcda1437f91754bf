import type { Channels } from '../destinations/channels.ts';
import type { NotificationRulesStore } from '../destinations/rules.ts';
import { PROJECT_ROLES } from '../model/access.ts';
import type { PolicyStep, PolicyTarget } from '../oncall/policies.ts';
import type { Schedules } from '../oncall/schedules.ts';
import type { Members } from '../projects/members.ts';
import { canBePaged, type PeopleDependencies } from './can-be-paged.ts';

/** A contact of a person, or a channel, that a step calls. */
export interface Recipient {
  readonly destination: string;
  /** '' for a channel. */
  readonly user: string;
  readonly afterMinutes: number;
}

export interface RecipientsDependencies extends PeopleDependencies {
  readonly schedules: Pick<Schedules, 'onCall'>;
  readonly channels: Pick<Channels, 'find'>;
  readonly rules: Pick<NotificationRulesStore, 'rulesFor' | 'wantsStatusUpdates'>;
  readonly members: Pick<Members, 'levelOf' | 'list'>;
}

/** Finds the recipients of a step. Caches lookups for the pages of one batch. */
export class Recipients {
  readonly #deps: RecipientsDependencies;
  readonly #projectId: string;
  readonly #now: number;
  readonly #targets = new Map<string, Promise<readonly Recipient[]>>();
  #maintainers: Promise<readonly Recipient[]> | undefined;

  constructor(dependencies: RecipientsDependencies, projectId: string, now: number) {
    this.#deps = dependencies;
    this.#projectId = projectId;
    this.#now = now;
  }

  /** Recipients of a step: each contact and channel once per delay. */
  async ofStep({ targets, important }: PolicyStep): Promise<readonly Recipient[]> {
    const found = await Promise.all(targets.map((target) => this.#ofTarget(target, important)));
    const all = found.flat().map((one) => [`${one.destination}/${one.afterMinutes}`, one] as const);
    return [...new Map(all).values()];
  }

  /** The first contact of each Owner and Maintainer. They are notified of policies that ended. */
  ofMaintainers(): Promise<readonly Recipient[]> {
    this.#maintainers ??= this.#findMaintainers();
    return this.#maintainers;
  }

  async #findMaintainers(): Promise<readonly Recipient[]> {
    const members = await this.#deps.members.list(this.#projectId);
    const maintainers = members.filter(
      ({ user, level }) => level >= PROJECT_ROLES.Maintainer && user.locked_ms === 0,
    );
    const found = await Promise.all(maintainers.map(({ user }) => this.#ofUser(user.id, false)));
    return found.flatMap((contacts) => contacts.slice(0, 1)).map((one) => ({ ...one, afterMinutes: 0 }));
  }

  #ofTarget(target: PolicyTarget, isImportant: boolean): Promise<readonly Recipient[]> {
    const key = `${target.type}/${target.id}/${isImportant}`;
    const cached = this.#targets.get(key) ?? this.#find(target, isImportant);
    this.#targets.set(key, cached);
    return cached;
  }

  async #find({ type, id }: PolicyTarget, isImportant: boolean): Promise<readonly Recipient[]> {
    if (type === 'channel') {
      const channel = await this.#deps.channels.find(this.#projectId, id);
      return channel === null ? [] : [{ destination: channel.id, user: '', afterMinutes: 0 }];
    }
    const users = type === 'user' ? [id] : await this.#deps.schedules.onCall(this.#projectId, id, this.#now);
    return (await Promise.all(users.map((user) => this.#ofUser(user, isImportant)))).flat();
  }

  async #ofUser(user: string, isImportant: boolean): Promise<readonly Recipient[]> {
    if (!(await canBePaged(this.#deps, this.#projectId, user))) return [];
    const contacts = await this.#deps.rules.rulesFor(user, isImportant);
    return contacts.map(({ contactId, afterMinutes }) => ({ destination: contactId, user, afterMinutes }));
  }
}
