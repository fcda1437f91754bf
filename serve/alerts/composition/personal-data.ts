import { deleteByIds } from '../../../infra/clickhouse/delete-by-id.ts';
import { type Sql, sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import {
  type DeletionBlocker,
  exportedTime,
  exportRows,
  type PersonalData,
} from '../../accounts/personal-data.ts';
import type { User } from '../../accounts/tables.ts';
import { Records } from '../../stored-records/records.ts';
import type { RecordColumns } from '../../stored-records/stored-table.ts';
import { contactAddress } from '../destinations/contacts.ts';
import { type Membership, PROJECT_ROLES } from '../model/access.ts';
import * as oncall from '../model/oncall-tables.ts';
import * as suppression from '../model/suppression-tables.ts';
import * as tables from '../model/tables.ts';
import { policiesUsing } from '../oncall/policies.ts';
import { rotationsOf } from '../oncall/rotations.ts';
import { Members } from '../projects/members.ts';
import { UserLookup } from '../projects/users.ts';
import { personalRows } from './personal-rows.ts';

const ROWS_MAX = 10_000;

/** Personal data in projects. Opens its own records, because commands use it without the rest of the alert domain. */
export class AlertPersonalData implements PersonalData {
  readonly #accounts: Accounts;
  readonly #memberRows: Records<tables.Member>;
  readonly #projects: Records<tables.Project>;
  readonly #members: Members;

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
    this.#memberRows = new Records<tables.Member>(accounts, tables.members);
    this.#projects = new Records<tables.Project>(accounts, tables.projects);
    const users = new UserLookup(accounts);
    this.#members = new Members({ ...accounts, records: this.#memberRows, users });
  }

  /** Projects whose only Owner is the user: a project must keep an Owner who can sign in. */
  async deletionBlockers({ id }: User): Promise<readonly DeletionBlocker[]> {
    const owned = (await this.#memberships(id)).filter(({ level }) => level === PROJECT_ROLES.Owner);
    const found = await Promise.all(
      owned.map(async ({ project }) =>
        (await this.#members.hasOtherOwner(project.id, id)) ? [] : [onlyOwnerOf(project)],
      ),
    );
    return found.flat();
  }

  async rolesOf({ id }: User): Promise<Record<string, readonly string[]>> {
    const memberships = await this.#memberships(id);
    const policies = new Records<oncall.EscalationPolicy>(this.#accounts, oncall.escalationPolicies);
    const paging = await Promise.all(
      memberships.map(async ({ project }) => {
        const names = await policiesUsing(policies, project.id, { type: 'user', id });
        return names.map((name) => `${name} of ${project.name}`);
      }),
    );
    return {
      Projects: memberships.map(({ project }) => project.name),
      'On-call schedules': await this.#schedulesOf(id, memberships),
      'Escalation policies': paging.flat(),
    };
  }

  async export(user: User): Promise<Record<string, unknown>> {
    const { seal, store } = this.#accounts;
    const contacts = await this.#rows<oncall.ContactMethod>(oncall.contactMethods, sql`user_id = ${user.id}`);
    const rows = await exportRows(store, personalRows(user));
    return {
      ...rows,
      contacts: contacts.map((row) => ({
        type: row.type,
        address: contactAddress(seal, row),
        template: row.template,
        verified_at: exportedTime(row.verified_ms),
        created_at: exportedTime(row.created_ms),
        deleted_at: exportedTime(row.deleted_ms),
      })),
    };
  }

  async remove({ id, username, deleted_ms: marked_ms }: User): Promise<void> {
    const deleted_ms = this.#accounts.clock.now();
    // The row of a deleted account has no name, but a concurrent request may have written the name afterwards.
    const isNamed =
      username === '' ? sql`author_id = ${id} AND created_ms >= ${marked_ms}` : sql`created_by = ${username}`;
    // Only in projects of the user: amtool sends any name, so elsewhere it may belong to another person.
    await this.#clear<suppression.SilenceRow>(
      suppression.alertSilences,
      sql`${isNamed} AND created_by != 'deleted-user'
        AND project_id IN (SELECT project_id FROM ${tables.members} WHERE user_id = ${id})`,
      { created_by: 'deleted-user' },
    );
    await this.#clear<tables.Member>(tables.members, sql`user_id = ${id} AND access_level > 0`, {
      access_level: 0,
    });
    await this.#delete<oncall.ContactMethod>(oncall.contactMethods, sql`user_id = ${id}`, {
      deleted_ms,
      address: '',
      template: '',
      code_hash: '',
    });
    await this.#delete<oncall.NotificationRules>(oncall.notificationRules, sql`id = ${id}`, {
      default_rules: '[]',
      important_rules: '[]',
      calendar_hash: '',
    });
    await this.#delete<tables.SavedFilter>(tables.savedFilters, sql`endsWith(owner, ${`/${id}`})`, {
      deleted_ms,
      name: '',
      search: '',
    });
  }

  /** Memberships in projects that are not deleted. */
  async #memberships(userId: string): Promise<Membership[]> {
    const rows = await this.#memberRows.find(
      sql`user_id = ${userId} AND access_level > 0`,
      'toUInt64(project_id)',
      ROWS_MAX,
    );
    const found = await Promise.all(
      rows.map(async ({ project_id, access_level: level }) => {
        const project = await this.#projects.get(project_id);
        return project === null || project.deleted_ms > 0 ? [] : [{ project, level }];
      }),
    );
    return found.flat();
  }

  /** Schedules with a current or future turn or override of the user. */
  async #schedulesOf(userId: string, memberships: readonly Membership[]): Promise<string[]> {
    const now = this.#accounts.clock.now();
    const names = new Map(memberships.map(({ project }) => [project.id, project.name]));
    const [revisions, overrides, schedules] = await Promise.all([
      this.#rows<oncall.OncallRotation>(oncall.oncallRotations, sql`project_id IN ${[...names.keys()]}`),
      this.#rows<oncall.OncallOverride>(
        oncall.oncallOverrides,
        sql`user_id = ${userId} AND deleted_ms = 0 AND until_ms > ${now}`,
      ),
      this.#rows<oncall.OncallSchedule>(
        oncall.oncallSchedules,
        sql`project_id IN ${[...names.keys()]} AND deleted_ms = 0`,
      ),
    ]);
    const inTurns = [...Map.groupBy(revisions, ({ schedule_id }) => schedule_id)].filter(([, rows]) =>
      rotationsOf(rows, now)
        .flatMap((rotation) => [rotation, ...rotation.upcoming])
        .some(({ turns }) => turns.flat().includes(userId)),
    );
    const named = new Set([...inTurns.map(([id]) => id), ...overrides.map((row) => row.schedule_id)]);
    return schedules
      .filter(({ id }) => named.has(id))
      .map(({ name, project_id }) => `${name} of ${names.get(project_id)}`);
  }

  #rows<Row extends RecordColumns>(table: Records<Row>['table'], where: Sql): Promise<Row[]> {
    return new Records<Row>(this.#accounts, table).find(where, 'id', ROWS_MAX);
  }

  /** Changes each row through its records, so that caches see it. Returns the rows as they were. */
  async #clear<Row extends RecordColumns>(
    table: Records<Row>['table'],
    where: Sql,
    changes: Partial<Row>,
  ): Promise<readonly Row[]> {
    const records = new Records<Row>(this.#accounts, table);
    const rows = await records.find(where, 'id', ROWS_MAX);
    for (const { id } of rows)
      await records.change(id, (row) =>
        row === null ? { result: undefined } : { next: { ...row, ...changes }, result: undefined },
      );
    return rows;
  }

  /** Clears rows, and then deletes them with all their versions. */
  async #delete<Row extends RecordColumns>(
    table: Records<Row>['table'],
    where: Sql,
    changes: Partial<Row>,
  ): Promise<void> {
    await deleteByIds(this.#accounts.store, table, await this.#clear(table, where, changes));
  }
}

const onlyOwnerOf = ({ id, name }: tables.Project): DeletionBlocker => ({
  text: `The project ${name} has no other Owner who can sign in. Make a member its Owner, or delete the project.`,
  path: `/projects/${id}/members`,
  link: 'Open its members',
});
