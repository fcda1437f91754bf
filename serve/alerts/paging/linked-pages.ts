import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { User } from '../../accounts/tables.ts';
import type { Project } from '../model/tables.ts';
import type { AlertActions } from '../projects/alert-actions.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Projects } from '../projects/projects.ts';
import type { AcknowledgeLink } from './acknowledge-links.ts';
import { canBePaged, type PeopleDependencies } from './can-be-paged.ts';
import type { PageSteps } from './page-steps.ts';
import { type DueNotification, destinationLock, type PageStore, withoutPageState } from './page-store.ts';

interface LinkedPagesDependencies extends PeopleDependencies {
  readonly clock: Clock;
  readonly locks: Locks;
  readonly store: PageStore;
  readonly reader: Pick<AlertReader, 'findAll'>;
  readonly actions: Pick<AlertActions, 'changeStatus'>;
  readonly projects: Pick<Projects, 'find'>;
  readonly steps: Pick<PageSteps, 'escalate'>;
  /** Applies all stored events to the pages of a project. */
  readonly catchUp: (project: number) => Promise<void>;
}

/** The alerts, the project and the user of a link. */
export interface LinkDetails {
  readonly project: Project;
  readonly user: User;
  /** The most severe first, at most 20. */
  readonly alerts: readonly Alert[];
  /** Numbers of all alerts of the message; `open` holds the unacknowledged ones. */
  readonly all: readonly number[];
  readonly open: readonly number[];
  /** True if the next step of a page can be requested; false if all pages ended or are suppressed. */
  readonly isCalling: boolean;
  /** Time of the use of the link; 0 if it was not used. */
  readonly usedMs: number;
  /** The acknowledgement of the first alert, if there is one. */
  readonly acknowledged: { readonly by: string; readonly at: number } | null;
}

const ALERTS_SHOWN = 20;
/** Alerts that are acknowledged at once; a bundle may have thousands. */
const ALERTS_PER_CHANGE = 500;

/** Finds the pages of an acknowledge link, and acknowledges or escalates them. */
export class LinkedPages {
  readonly #deps: LinkedPagesDependencies;

  constructor(dependencies: LinkedPagesDependencies) {
    this.#deps = dependencies;
  }

  /** Null if the person may not act in the project any more, or the message is gone. */
  async find(link: AcknowledgeLink): Promise<LinkDetails | null> {
    const { reader, projects, users, store } = this.#deps;
    const projectId = String(link.project);
    const [project, isAllowed, people, notifications] = await Promise.all([
      projects.find(projectId),
      canBePaged(this.#deps, projectId, link.user),
      users.byId([link.user]),
      store.ofMessage(link.project, link.destination, link.message),
    ]);
    const user = people.get(link.user);
    if (project === null || !isAllowed || user === undefined || notifications.length === 0) return null;
    const all = [...new Set(notifications.map(({ alert }) => alert))];
    const alerts = await reader.findAll(link.project, all.slice(0, ALERTS_SHOWN));
    return {
      ...{ project, user, all },
      alerts: all.flatMap((iid) => alerts.get(iid) ?? []),
      open: [...new Set(notifications.flatMap((one) => (one.isUnacknowledged ? [one.alert] : [])))],
      isCalling: notifications.some(({ isCalling }) => isCalling),
      usedMs: firstOf(notifications).used_ms,
      acknowledged: await this.#acknowledgement(link.project, firstOf(notifications)),
    };
  }

  /**
   * Acknowledges all unacknowledged alerts of the message, or carries out their next step. Returns false if the link was
   * used before or no alert is left. The use is stored last, so after a kill the action can be repeated.
   */
  use(link: AcknowledgeLink, action: 'acknowledge' | 'escalate'): Promise<boolean> {
    const { clock, locks, store } = this.#deps;
    const { project, destination, message } = link;
    return locks.run(destinationLock(project, destination), async (lease) => {
      const linked = await this.find(link);
      if (linked === null || linked.usedMs > 0 || linked.open.length === 0) return false;
      await this.#act(linked, action);
      // The response page shows who acknowledged.
      await this.#deps.catchUp(project);
      const first = withoutPageState(firstOf(await store.ofMessage(project, destination, message)));
      await lease.ensure();
      await store.change([{ ...first, used_ms: clock.now() }]);
      return true;
    });
  }

  async #act({ open, user, project }: LinkDetails, action: 'acknowledge' | 'escalate'): Promise<void> {
    const { actions, steps } = this.#deps;
    if (action === 'escalate') {
      return steps.escalate(Number(project.id), open, user.id);
    }
    for (let i = 0; i < open.length; i += ALERTS_PER_CHANGE) {
      const some = open.slice(i, i + ALERTS_PER_CHANGE);
      const { failed } = await actions.changeStatus(project.id, some, user, 'acknowledged', 'triggered');
      if (failed.length > 0)
        throw new ProductError(
          'store_failed',
          `the acknowledgement of ${failed.length} alerts was not confirmed`,
        );
    }
  }

  async #acknowledgement(
    project: number,
    { alert, policy }: DueNotification,
  ): Promise<LinkDetails['acknowledged']> {
    const pages = await this.#deps.store.ofAlerts(project, [alert]);
    const page = pages.find((other) => other.policy === policy && other.acknowledged_ms > 0);
    if (page === undefined) return null;
    const by = (await this.#deps.users.byId([page.acknowledged_by])).get(page.acknowledged_by);
    return { by: by?.name || (by?.username ?? ''), at: page.acknowledged_ms };
  }
}

/** The notification whose id is the key of the message. */
function firstOf(notifications: readonly DueNotification[]): DueNotification {
  const found = notifications.find((one) => one.message === `${one.project}/${one.id}`);
  return found ?? (notifications[0] as DueNotification);
}
