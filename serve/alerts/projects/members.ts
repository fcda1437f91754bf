import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { DELETION_LOCK } from '../../accounts/personal-data.ts';
import type { User } from '../../accounts/tables.ts';
import type { Limiter, Limiters } from '../../http/limiter.ts';
import type { Records } from '../../stored-records/records.ts';
import { ACCESS_LEVELS, type Membership, PROJECT_ROLES, RequestRefused, roleOf } from '../model/access.ts';
import type { Member } from '../model/tables.ts';
import type { UserLookup } from './users.ts';

const MEMBERS_MAX = 1000;

/** A member of a project with the member's user. */
export interface ProjectMember {
  readonly user: User;
  readonly level: number;
  readonly since: number;
}

/** Id or username of a user to add as a member. */
interface NamedUser {
  readonly id?: number | undefined;
  readonly username?: string | undefined;
}

/** Users that a caller may look up to add them to a project. */
const LOOKUPS_PER_HOUR = 100;

interface MembersDependencies {
  readonly records: Records<Member>;
  readonly limiters: Limiters;
  readonly users: UserLookup;
  readonly clock: Clock;
  readonly locks: Locks;
}

/** The members of projects and their roles. */
export class Members {
  readonly #records: Records<Member>;
  readonly #users: UserLookup;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #lookups: Limiter;

  constructor({ records, users, clock, locks, limiters }: MembersDependencies) {
    this.#lookups = limiters({ name: 'members/lookups', max: LOOKUPS_PER_HOUR, seconds: 3600 });
    this.#records = records;
    this.#users = users;
    this.#clock = clock;
    this.#locks = locks;
  }

  async list(projectId: string): Promise<ProjectMember[]> {
    const rows = await this.#records.find(
      sql`project_id = ${projectId} AND access_level > 0`,
      'access_level DESC, toUInt64(user_id)',
      MEMBERS_MAX,
    );
    const users = await this.#users.byId(rows.map(({ user_id }) => user_id));
    return rows.flatMap(({ user_id, access_level, created_ms }) => {
      const user = users.get(user_id);
      return user ? [{ user, level: access_level, since: created_ms }] : [];
    });
  }

  /** 0 if the user is not a member. */
  async levelOf(projectId: string, userId: string): Promise<number> {
    return (await this.#records.get(`${projectId}/${userId}`))?.access_level ?? 0;
  }

  /** The user's level in each project, by the id of the project. */
  async levelsOf(user: User): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#records.find(sql`user_id = ${user.id} AND access_level > 0`, 'id');
    return new Map(rows.map(({ project_id, access_level }) => [project_id, access_level]));
  }

  /**
   * The user whom a caller names to add as a member: by exact username, or by the id of a user with whom the caller
   * shares a project. Ids are consecutive, so looking up any id would let callers list all users.
   */
  async findNamed(caller: User, { id, username }: NamedUser): Promise<User> {
    if ((await this.#lookups.count(caller.id)).isExceeded) {
      throw new RequestRefused('too_many_requests', 'Too many users were looked up. Try again in an hour.');
    }
    const user =
      id === undefined
        ? await this.#users.byUsername(username ?? '')
        : await this.#findKnown(caller, String(id));
    if (user === null) throw new RequestRefused('not_found', 'User Not Found', 'user');
    return user;
  }

  async #findKnown(caller: User, id: string): Promise<User | null> {
    const user = (await this.#users.byId([id])).get(id);
    if (user === undefined || id === caller.id) return user ?? null;
    const [own, other] = await Promise.all([this.levelsOf(caller), this.levelsOf(user)]);
    return [...own.keys()].some((project) => other.has(project)) ? user : null;
  }

  /** The user of a member. Throws "not found" for other users, whether they exist or not. */
  async userOf(projectId: string, userId: string): Promise<User> {
    const isMember = (await this.levelOf(projectId, userId)) > 0;
    const user = isMember ? (await this.#users.byId([userId])).get(userId) : undefined;
    if (user === undefined) throw new RequestRefused('not_found', 'Member Not Found', 'user');
    return user;
  }

  /** Stores a project with the user as its Owner; refused once the account is deleted. */
  async addOwner(projectId: string, user: User, storeProject: () => Promise<void>): Promise<void> {
    await this.#locks.run(DELETION_LOCK, async (lease) => {
      if (!(await this.#users.byId([user.id])).has(user.id))
        throw new RequestRefused('conflict', 'Your account was deleted.');
      await lease.ensure();
      await this.#records.add(memberRow(projectId, user.id, PROJECT_ROLES.Owner, this.#clock.now()));
      await storeProject();
    });
  }

  /**
   * Sets the level of a user; 0 removes the member. No one can grant a level above their own or change a member above
   * them, and a project always keeps an Owner.
   */
  async setLevel(
    { project, level: own }: Membership,
    user: User,
    level: number,
    mode: 'add' | 'change' | 'remove',
  ): Promise<Member> {
    if (mode !== 'remove' && !ACCESS_LEVELS.includes(level)) {
      const levels = ACCESS_LEVELS.map((known) => `${known} (${roleOf(known)})`).join(', ');
      throw new RequestRefused('bad_request', `Must be one of ${levels}.`, 'access_level');
    }
    if (level > own) {
      throw new RequestRefused(
        'forbidden',
        `You need the ${roleOf(level)} role to assign the ${roleOf(level)} role.`,
      );
    }
    return this.#locks.run(DELETION_LOCK, async () => {
      const before = await this.levelOf(project.id, user.id);
      if (mode === 'add' && before > 0) throw new RequestRefused('conflict', 'Member already exists', 'user');
      if (mode !== 'add' && before === 0) throw new RequestRefused('not_found', 'Member Not Found', 'user');
      if (before > own)
        throw new RequestRefused('forbidden', 'You cannot change a member with a higher role.');
      const losesOwner = before === PROJECT_ROLES.Owner && level < PROJECT_ROLES.Owner;
      if (losesOwner && !(await this.hasOtherOwner(project.id, user.id))) {
        throw new RequestRefused(
          'conflict',
          'A project needs at least one Owner. Assign another Owner first.',
        );
      }
      const now = this.#clock.now();
      return this.#records.change(`${project.id}/${user.id}`, (row) => {
        const next = {
          ...memberRow(project.id, user.id, level, row?.created_ms || now),
          version: row?.version ?? 1,
        };
        return { next, result: next };
      });
    });
  }

  /** Deleted and locked accounts do not count: a project keeps an Owner who can sign in. */
  async hasOtherOwner(projectId: string, userId: string): Promise<boolean> {
    const members = await this.list(projectId);
    return members.some(
      ({ user, level }) => level === PROJECT_ROLES.Owner && user.id !== userId && user.locked_ms === 0,
    );
  }
}

const memberRow = (project_id: string, user_id: string, access_level: number, created_ms: number) => ({
  id: `${project_id}/${user_id}`,
  expires_ms: 0,
  project_id,
  user_id,
  access_level,
  created_ms,
});
