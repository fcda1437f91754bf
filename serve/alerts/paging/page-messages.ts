import type { Clock } from '../../../infra/ports.ts';
import type { User } from '../../accounts/tables.ts';
import type { Destination } from '../messages/destination.ts';
import { messageAlertOf, type PageMessage } from '../messages/message.ts';
import type { Policies } from '../oncall/policies.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Projects } from '../projects/projects.ts';
import type { UserLookup } from '../projects/users.ts';
import type { AcknowledgeLinks } from './acknowledge-links.ts';
import type { PageNotification } from './page-reader.ts';

/** Alerts that a message lists. It gives only the number of the others. */
const ALERTS_MAX = 20;

interface PageMessagesDependencies {
  readonly clock: Clock;
  readonly reader: Pick<AlertReader, 'findAll'>;
  readonly projects: Pick<Projects, 'find'>;
  readonly policies: Pick<Policies, 'find'>;
  readonly users: Pick<UserLookup, 'byId'>;
  readonly links: Pick<AcknowledgeLinks, 'urlOf'>;
  readonly publicUrl: () => string;
}

interface MessageParts {
  readonly key: string;
  readonly destination: Destination;
  readonly duplicatePossible: boolean;
}

/** Builds messages from notifications. */
export class PageMessages {
  readonly #deps: PageMessagesDependencies;

  constructor(dependencies: PageMessagesDependencies) {
    this.#deps = dependencies;
  }

  /** One message for notifications of one destination, the most severe first; null if none of the listed alerts exists. */
  async of(
    notifications: readonly PageNotification[],
    { key, destination, duplicatePossible }: MessageParts,
  ): Promise<PageMessage | null> {
    const { reader, projects, policies, users, publicUrl } = this.#deps;
    const [first] = notifications;
    if (first === undefined) return null;
    const projectId = String(first.project);
    const iids = [...new Set(notifications.map(({ alert }) => alert))];
    const [alerts, project, policy, people] = await Promise.all([
      reader.findAll(first.project, iids.slice(0, ALERTS_MAX)),
      projects.find(projectId),
      policies.find(projectId, first.policy),
      users.byId([first.by, first.user]),
    ]);
    const listed = iids.flatMap((iid) => alerts.get(iid) ?? []);
    if (listed.length === 0 || project === null) return null;
    const person = people.get(first.user);
    const isCall = first.kind === 'triggered' && person !== undefined;
    return {
      key,
      event: first.kind,
      project: { id: first.project, name: project.name },
      alerts: listed.map((alert) => messageAlertOf(alert, publicUrl())),
      more: iids.length - listed.length,
      page: {
        ...{ round: first.round, step: first.step, policy: policy?.name ?? '', reason: first.reason },
        by: nameOf(people.get(first.by)),
      },
      user: person === undefined ? null : { name: nameOf(person) },
      acknowledgeUrl: isCall ? this.#urlOf(first, { key, destination }) : '',
      duplicatePossible,
    };
  }

  #urlOf(
    { project, user }: PageNotification,
    { key, destination }: Pick<MessageParts, 'key' | 'destination'>,
  ): string {
    const { links, publicUrl } = this.#deps;
    return `${publicUrl()}${links.urlOf({ project, user, message: key, destination: destination.id })}`;
  }
}

const nameOf = (user: User | undefined): string => user?.name || (user?.username ?? '');
