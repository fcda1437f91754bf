import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { User } from '../../accounts/tables.ts';
import type { Records } from '../../stored-records/records.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import { type Membership, RequestRefused } from '../model/access.ts';
import type { Project } from '../model/tables.ts';
import type { Members } from './members.ts';

const PROJECTS_PER_ACCOUNT = 100;
const NAME_CHARACTERS_MAX = 255;
const DESCRIPTION_CHARACTERS_MAX = 2000;

interface ProjectChanges {
  readonly name?: string;
  readonly description?: string;
  readonly plan?: string;
  readonly makes_incidents?: boolean;
  readonly closes_incidents?: boolean;
}

interface ProjectsDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly records: Records<Project>;
  readonly members: Members;
  readonly cache: IntegrationCache;
  /** The plan of new projects. */
  readonly defaultPlan: string;
  /** Called before the first event of a new project. */
  readonly onCreate: (project: number) => Promise<void>;
  /** Called before the incident settings of a project change. */
  readonly beforeIncidentRules: (project: number) => Promise<void>;
}

export class Projects {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #records: Records<Project>;
  readonly #members: Members;
  readonly #cache: IntegrationCache;
  readonly #defaultPlan: string;
  readonly #onCreate: ProjectsDependencies['onCreate'];
  readonly #beforeIncidentRules: ProjectsDependencies['beforeIncidentRules'];

  constructor(dependencies: ProjectsDependencies) {
    const { store, clock, locks, records, members, cache, defaultPlan, onCreate } = dependencies;
    this.#onCreate = onCreate;
    this.#beforeIncidentRules = dependencies.beforeIncidentRules;
    this.#store = store;
    this.#clock = clock;
    this.#locks = locks;
    this.#records = records;
    this.#members = members;
    this.#cache = cache;
    this.#defaultPlan = defaultPlan;
  }

  /** Creates a project with the user as its Owner. */
  create(user: User, given: ProjectChanges): Promise<Project> {
    const name = validName(given.name ?? '');
    // The lock keeps two projects from getting the same number.
    return this.#locks.run('projects', async (lease) => {
      const [row] = await this.#store.rows<{ newest: number; own: number }>(
        sql`SELECT max(toUInt64(id)) AS newest, countIf(creator_id = ${user.id} AND deleted_ms = 0) AS own
          FROM ${this.#records.table} FINAL`,
      );
      if ((row?.own ?? 0) >= PROJECTS_PER_ACCOUNT) {
        throw new RequestRefused(
          'conflict',
          `An account can have up to ${PROJECTS_PER_ACCOUNT} projects. Delete one first.`,
        );
      }
      const project: Omit<Project, 'version'> = {
        id: String((row?.newest ?? 0) + 1),
        expires_ms: 0,
        name,
        description: (given.description ?? '').slice(0, DESCRIPTION_CHARACTERS_MAX),
        plan: given.plan ?? this.#defaultPlan,
        creator_id: user.id,
        makes_incidents: given.makes_incidents ?? false,
        closes_incidents: given.closes_incidents ?? true,
        created_ms: this.#clock.now(),
        deleted_ms: 0,
      };
      await lease.ensure();
      await this.#onCreate(Number(project.id));
      await this.#members.addOwner(project.id, user, () => this.#records.add(project));
      await this.#cache.invalidate();
      return { ...project, version: 1 };
    });
  }

  async change(id: string, changes: ProjectChanges): Promise<Project> {
    const name = changes.name === undefined ? {} : { name: validName(changes.name) };
    await this.#beforeChange(id, changes);
    const project = await this.#records.change(id, (current) => {
      if (current === null || current.deleted_ms > 0) return { result: null };
      const next = { ...current, ...changes, ...name };
      return { next, result: next };
    });
    await this.#cache.invalidate();
    if (project === null) throw new RequestRefused('not_found', 'Project Not Found');
    return project;
  }

  async #beforeChange(id: string, changes: ProjectChanges): Promise<void> {
    const before = await this.find(id);
    const differs = (name: 'makes_incidents' | 'closes_incidents') =>
      changes[name] !== undefined && changes[name] !== before?.[name];
    if (before !== null && (differs('makes_incidents') || differs('closes_incidents'))) {
      await this.#beforeIncidentRules(Number(id));
    }
  }

  /** Its integrations and webhooks stop at once; its alerts stay in the store. */
  async delete(id: string): Promise<void> {
    const deleted_ms = this.#clock.now();
    await this.#records.change(id, (current) =>
      current === null ? { result: undefined } : { next: { ...current, deleted_ms }, result: undefined },
    );
    await this.#cache.invalidate();
  }

  /** Null if the project does not exist or is deleted. */
  async find(id: string): Promise<Project | null> {
    const project = await this.#records.get(id);
    return project === null || project.deleted_ms > 0 ? null : project;
  }

  /** The numbers of all projects that are not deleted. */
  async numbers(): Promise<number[]> {
    const rows = await this.#store.rows<{ project: number }>(
      sql`SELECT toUInt64(id) AS project FROM ${this.#records.table} FINAL WHERE deleted_ms = 0 ORDER BY project`,
    );
    return rows.map(({ project }) => project);
  }

  /** The projects of a user and the user's levels in them, by number. */
  async ofUser(user: User): Promise<Membership[]> {
    const levels = await this.#members.levelsOf(user);
    if (levels.size === 0) return [];
    const found = await this.#records.find(
      sql`id IN ${[...levels.keys()]} AND deleted_ms = 0`,
      'toUInt64(id)',
    );
    return found.map((project) => ({ project, level: levels.get(project.id) ?? 0 }));
  }

  /** The membership of a user. Throws "not found" for other users, so that they cannot tell which projects exist. */
  async membershipOf(projectId: string, user: User): Promise<Membership> {
    const isId = /^[1-9]\d{0,14}$/.test(projectId);
    const [project, level] = isId
      ? await Promise.all([this.find(projectId), this.#members.levelOf(projectId, user.id)])
      : [null, 0];
    if (project === null || level === 0) throw new RequestRefused('not_found', 'Project Not Found');
    return { project, level };
  }
}

function validName(given: string): string {
  const name = cleanLine(given);
  if (name === '') throw new RequestRefused('bad_request', 'Enter a name.', 'name');
  if (name.length > NAME_CHARACTERS_MAX) {
    throw new RequestRefused('bad_request', `Enter at most ${NAME_CHARACTERS_MAX} characters.`, 'name');
  }
  return name;
}
