import type { Alert, AlertStatus } from '../../../aggregate/alerts/model/alert.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { User } from '../../accounts/tables.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { AlertReader } from './alert-reader.ts';
import type { Members } from './members.ts';

const ASSIGNEES_MAX = 20;

interface AlertChange {
  readonly status?: AlertStatus;
  /** Ids of users, members with at least the Developer role. */
  readonly assignees?: readonly string[];
  readonly incident?: number;
}

/** Results of a change of several alerts, as lists of alert numbers. */
export interface StatusChanges {
  readonly changed: readonly number[];
  /** Had the status already. */
  readonly same: readonly number[];
  /** Another unresolved alert has the same fingerprint. */
  readonly refused: readonly number[];
  readonly unknown: readonly number[];
  /** The result is not known; the change may still be applied. */
  readonly failed: readonly number[];
}

interface AlertActionsDependencies {
  readonly pipeline: AlertPipeline;
  readonly reader: AlertReader;
  readonly members: Members;
}

/** Changes of alerts by users. They pass through the log like deliveries, so the log orders both. */
export class AlertActions {
  readonly #pipeline: AlertPipeline;
  readonly #reader: AlertReader;
  readonly #members: Members;

  constructor({ pipeline, reader, members }: AlertActionsDependencies) {
    this.#pipeline = pipeline;
    this.#reader = reader;
    this.#members = members;
  }

  /** Returns the changed alert. By then every reader sees the change. */
  async change(projectId: string, iid: number, by: User | null, change: AlertChange): Promise<Alert> {
    const known = await this.#reader.get(projectId, iid);
    const assignees = change.assignees && [...new Set(change.assignees)];
    if (assignees) await this.#requireAssignable(projectId, known, assignees);
    this.#pipeline.requireRoom(Number(projectId));
    const { outcomes } = await this.#pipeline.applyAction({
      project: Number(projectId),
      iid,
      by: by?.id ?? '',
      change: { ...change, ...(assignees && { assignees }) },
    });
    const alert = await this.#reader.get(projectId, iid);
    if (outcomes[0] === 'refused') {
      throw new RequestRefused(
        'conflict',
        'Another unresolved alert has the same fingerprint, so this alert cannot be reopened.',
        'status',
      );
    }
    return alert;
  }

  /**
   * Sets the status of several alerts; with `expected`, only of those that have this status. A failure for one alert does
   * not affect the others.
   */
  async changeStatus(
    projectId: string,
    iids: readonly number[],
    by: User,
    status: AlertStatus,
    expected?: AlertStatus,
  ): Promise<StatusChanges> {
    this.#pipeline.requireRoom(Number(projectId));
    await this.#pipeline.waitUntilWritten();
    const project = Number(projectId);
    const known = await this.#reader.findAll(project, iids);
    const unknown = iids.filter((iid) => !known.has(iid));
    const had = iids.filter((iid) => known.get(iid)?.status === status);
    const asked = iids.filter((iid) => known.has(iid) && !had.includes(iid));
    const results = await Promise.allSettled(
      asked.map((iid) =>
        this.#pipeline.applyAction({
          ...{ project, iid, by: by.id, change: { status } },
          ...(expected !== undefined && { expected }),
        }),
      ),
    );
    const outcomes = results.map((one) => (one.status === 'fulfilled' ? one.value.outcomes[0] : null));
    return {
      changed: asked.filter((_, i) => outcomes[i] === 'changed' || outcomes[i] === 'resolved'),
      same: [...had, ...asked.filter((_, i) => outcomes[i] === 'unchanged')],
      refused: asked.filter((_, i) => outcomes[i] === 'refused'),
      unknown,
      failed: asked.filter((_, i) => outcomes[i] === null),
    };
  }

  /** Accepts current assignees who left the project, so other assignees can still be added. */
  async #requireAssignable(projectId: string, alert: Alert, ids: readonly string[]): Promise<void> {
    const refused = (text: string) => new RequestRefused('bad_request', text, 'assignee_ids');
    if (ids.length > ASSIGNEES_MAX) throw refused(`An alert can have up to ${ASSIGNEES_MAX} assignees.`);
    const assigned = new Set(alert.assignees);
    for (const id of ids) {
      if (assigned.has(id)) continue;
      const level = await this.#members.levelOf(projectId, id);
      if (level < PROJECT_ROLES.Developer)
        throw refused(`User ${id} does not have the Developer role in the project.`);
    }
  }
}
