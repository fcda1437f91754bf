import { sql } from '../../../infra/clickhouse/sql.ts';
import type { User } from '../../identity/accounts/tables.ts';
import { findUser } from '../../identity/accounts/users.ts';
import type { AlertServices } from '../services.ts';
import { LEVELS, type Membership, PROJECT_ROLES, RequestRefused, roleOf } from './access.ts';
import type { Member, Project } from './tables.ts';

// Projects and who may do what in them.

export const PROJECTS_PER_ACCOUNT = 100;
const MEMBERS_MOST = 1000;
const NAME_CHARACTERS_MAX = 255;

export interface ProjectChanges {
  readonly name?: string;
  readonly description?: string;
  readonly plan?: string;
  readonly makes_incidents?: boolean;
  readonly closes_incidents?: boolean;
}

/** Makes a project that the user owns. */
export async function createProject(
  services: AlertServices,
  user: User,
  given: ProjectChanges,
): Promise<Project> {
  const name = nameOf(given.name ?? '');
  const { accounts } = services;
  // One at a time, so that no number is given twice.
  return accounts.locks.run('projects', async (lease) => {
    const [row] = await accounts.store.rows<{ newest: number; own: number }>(
      sql`SELECT max(toUInt64(id)) AS newest, countIf(creator_id = ${user.id} AND deleted_ms = 0) AS own
        FROM ${services.projects.table} FINAL`,
    );
    if ((row?.own ?? 0) >= PROJECTS_PER_ACCOUNT) {
      throw new RequestRefused(
        'conflict',
        `An account may have ${PROJECTS_PER_ACCOUNT} projects; delete one first.`,
      );
    }
    const now = accounts.clock.now();
    const project: Omit<Project, 'version'> = {
      id: String((row?.newest ?? 0) + 1),
      expires_ms: 0,
      name,
      description: (given.description ?? '').slice(0, 2000),
      plan: given.plan ?? services.engine.config.ALERT_PLAN,
      creator_id: user.id,
      makes_incidents: given.makes_incidents ?? false,
      closes_incidents: given.closes_incidents ?? true,
      created_ms: now,
      deleted_ms: 0,
    };
    await lease.ensure();
    await services.members.add(membership(project.id, user.id, PROJECT_ROLES.Owner, now));
    await services.projects.add(project);
    await services.integrationCache.changed();
    return { ...project, version: 1 };
  });
}

export async function changeProject(
  services: AlertServices,
  id: string,
  changes: ProjectChanges,
): Promise<Project> {
  const name = changes.name === undefined ? {} : { name: nameOf(changes.name) };
  const project = await services.projects.change(id, (current) => {
    if (current === null || current.deleted_ms > 0) return { result: null };
    const next = { ...current, ...changes, ...name };
    return { next, result: next };
  });
  await services.integrationCache.changed();
  if (project === null) throw new RequestRefused('not_found', 'Project Not Found');
  return project;
}

/** Its webhooks are gone at once; what they told stays in the store. */
export async function deleteProject(services: AlertServices, id: string): Promise<void> {
  const now = services.accounts.clock.now();
  await services.projects.change(id, (current) =>
    current === null ? { result: undefined } : { next: { ...current, deleted_ms: now }, result: undefined },
  );
  await services.integrationCache.changed();
}

/** Projects that somebody is a member of, by number, with their level. */
export async function projectsOf(services: AlertServices, user: User): Promise<Membership[]> {
  const own = await services.members.find(sql`user_id = ${user.id} AND access_level > 0`, 'id');
  if (own.length === 0) return [];
  const ids = own.map(({ project_id }) => project_id);
  const found = await services.projects.find(sql`id IN ${ids} AND deleted_ms = 0`, 'toUInt64(id)');
  const levels = new Map(own.map(({ project_id, access_level }) => [project_id, access_level]));
  return found.map((project) => ({ project, level: levels.get(project.id) ?? 0 }));
}

export interface MemberOf {
  readonly user: User;
  readonly level: number;
  readonly since: number;
}

export async function membersOf(services: AlertServices, projectId: string): Promise<MemberOf[]> {
  const rows = await services.members.find(
    sql`project_id = ${projectId} AND access_level > 0`,
    'access_level DESC, toUInt64(user_id)',
    MEMBERS_MOST,
  );
  const users = await usersById(
    services,
    rows.map(({ user_id }) => user_id),
  );
  return rows.flatMap(({ user_id, access_level, created_ms }) => {
    const user = users.get(user_id);
    return user ? [{ user, level: access_level, since: created_ms }] : [];
  });
}

export async function usersById(services: AlertServices, ids: readonly string[]): Promise<Map<string, User>> {
  const distinct = [...new Set(ids)].filter((id) => id !== '');
  const found = await Promise.all(distinct.map((id) => services.accounts.users.get(id)));
  return new Map(found.flatMap((user) => (user ? [[user.id, user]] : [])));
}

/** The user of an id or a user name. */
export async function userNamed(services: AlertServices, named: string | number): Promise<User> {
  const text = String(named).replace(/^@/, '');
  const user = /^\d+$/.test(text)
    ? await services.accounts.users.get(text)
    : await findUser(services.accounts, text);
  if (user === null) throw new RequestRefused('not_found', 'User Not Found', 'user');
  return user;
}

/**
 * Gives somebody a level, or takes the membership away with 0. Nobody gives more than they have or changes whoever
 * stands above them, and one Owner always stays.
 */
export async function setMember(
  services: AlertServices,
  { project, level: own }: Membership,
  user: User,
  level: number,
  mode: 'add' | 'change' | 'remove',
): Promise<Member> {
  if (mode !== 'remove' && !LEVELS.includes(level)) {
    throw new RequestRefused(
      'bad_request',
      `Use one of ${LEVELS.map((of) => `${of} (${roleOf(of)})`).join(', ')}.`,
      'access_level',
    );
  }
  if (level > own)
    throw new RequestRefused('forbidden', `Only somebody with the role ${roleOf(level)} can give it.`);
  return services.accounts.locks.run(`members/${project.id}`, async () => {
    const current = await services.members.get(`${project.id}/${user.id}`);
    const before = current?.access_level ?? 0;
    if (mode === 'add' && before > 0) throw new RequestRefused('conflict', 'Member already exists', 'user');
    if (mode !== 'add' && before === 0) throw new RequestRefused('not_found', 'Member Not Found', 'user');
    if (before > own) throw new RequestRefused('forbidden', 'Nobody changes a member who stands above them.');
    if (
      before === PROJECT_ROLES.Owner &&
      level < PROJECT_ROLES.Owner &&
      (await countOwners(services, project.id)) < 2
    ) {
      throw new RequestRefused(
        'conflict',
        'A project keeps at least one Owner; make somebody else Owner first.',
      );
    }
    const now = services.accounts.clock.now();
    return services.members.change(`${project.id}/${user.id}`, (row) => {
      const next = {
        ...membership(project.id, user.id, level, row?.created_ms || now),
        version: row?.version ?? 1,
      };
      return { next, result: next };
    });
  });
}

async function countOwners(services: AlertServices, projectId: string): Promise<number> {
  const owners = await services.members.find(
    sql`project_id = ${projectId} AND access_level = ${PROJECT_ROLES.Owner}`,
    'id',
  );
  return owners.length;
}

const membership = (project_id: string, user_id: string, access_level: number, created_ms: number) => ({
  id: `${project_id}/${user_id}`,
  expires_ms: 0,
  project_id,
  user_id,
  access_level,
  created_ms,
});

function nameOf(given: string): string {
  const name = given.trim();
  if (name === '') throw new RequestRefused('bad_request', 'A name is required.', 'name');
  if (name.length > NAME_CHARACTERS_MAX) {
    throw new RequestRefused('bad_request', `Use ${NAME_CHARACTERS_MAX} characters at most.`, 'name');
  }
  return name;
}
