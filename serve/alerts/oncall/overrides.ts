import { visible } from '../../../aggregate/alerts/formats/values.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { OncallOverride, OncallSchedule } from '../model/oncall-tables.ts';
import type { Override } from './on-call.ts';
import type { OnCallMembers } from './on-call-members.ts';
import type { Span } from './time-intervals.ts';

const FUTURE_MAX = 500;
const LENGTH_DAYS_MAX = 366;
const REASON_CHARACTERS_MAX = 1000;
/** Overrides read for one answer, which may span a year of the past. */
const READ_MAX = 10_000;

export interface OverrideFields {
  readonly from_ms: number;
  readonly until_ms: number;
  /** '' for nobody. */
  readonly user_id: string;
  /** '' for everybody. */
  readonly replaces_id: string;
  readonly reason: string;
}

/** The user who creates or deletes an override, with the access level in the project. */
interface OverrideAuthor {
  readonly id: string;
  readonly level: number;
}

/** The overrides of schedules. An override has no effect before its creation or after its deletion, so the past never changes. */
export class Overrides {
  readonly #records: Records<OncallOverride>;
  readonly #members: OnCallMembers;
  readonly #clock: Clock;
  readonly #locks: Locks;

  constructor({
    records,
    members,
    clock,
    locks,
  }: {
    readonly records: Records<OncallOverride>;
    readonly members: OnCallMembers;
    readonly clock: Clock;
    readonly locks: Locks;
  }) {
    this.#records = records;
    this.#members = members;
    this.#clock = clock;
    this.#locks = locks;
  }

  /** The overrides that have not ended, by start. */
  list(scheduleId: string): Promise<OncallOverride[]> {
    return this.#records.find(
      sql`schedule_id = ${scheduleId} AND deleted_ms = 0 AND until_ms > ${this.#clock.now()}`,
      'from_ms, created_ms, id',
      FUTURE_MAX,
    );
  }

  /** The overrides in effect during a span, in order of creation. Deleted ones count until their deletion. */
  async within(scheduleId: string, { from, until }: Span): Promise<Override[]> {
    const rows = await this.#records.find(
      sql`schedule_id = ${scheduleId} AND from_ms < ${until} AND until_ms > ${from}
        AND (deleted_ms = 0 OR deleted_ms > greatest(from_ms, ${from}))`,
      'created_ms, id',
      READ_MAX,
    );
    return rows.map(({ id, from_ms, until_ms, deleted_ms, user_id, replaces_id }) => ({
      id,
      from: from_ms,
      until: deleted_ms === 0 ? until_ms : Math.min(until_ms, deleted_ms),
      user: user_id,
      replaces: replaces_id,
    }));
  }

  async get(scheduleId: string, id: string): Promise<OncallOverride> {
    const row = await this.#records.get(id);
    if (row === null || row.schedule_id !== scheduleId || row.deleted_ms > 0)
      throw new RequestRefused('not_found', 'Override Not Found');
    return row;
  }

  async create(
    { id: scheduleId, project_id }: OncallSchedule,
    input: OverrideFields,
    author: OverrideAuthor,
  ): Promise<OncallOverride> {
    requireOwnShift(input, author);
    const now = this.#clock.now();
    const fields = validFields(input, now);
    await this.#requirePeople(project_id, fields);
    return this.#locks.run(`oncall/${scheduleId}`, async (lease) => {
      if ((await this.list(scheduleId)).length >= FUTURE_MAX) {
        throw new RequestRefused(
          'conflict',
          `A schedule can have up to ${FUTURE_MAX} overrides that have not ended. Delete one first.`,
        );
      }
      const row = {
        id: newLocator(),
        version: 1,
        expires_ms: 0,
        project_id,
        schedule_id: scheduleId,
        ...fields,
        author_id: author.id,
        created_ms: now,
        deleted_ms: 0,
      };
      await lease.ensure();
      await this.#records.add(row);
      return row;
    });
  }

  async delete(scheduleId: string, id: string, author: OverrideAuthor): Promise<void> {
    requireOwnShift(await this.get(scheduleId, id), author);
    await this.#records.change(id, (current) => ({
      next: { ...(current as OncallOverride), deleted_ms: this.#clock.now() },
      result: undefined,
    }));
  }

  async #requirePeople(projectId: string, { user_id, replaces_id }: OverrideFields): Promise<void> {
    if (user_id !== '') await this.#members.requireAvailable(projectId, [user_id], 'user_id');
    if (replaces_id !== '') await this.#members.requireMember(projectId, replaces_id, 'replaces_id');
  }
}

function requireOwnShift(
  { user_id, replaces_id }: Pick<OverrideFields, 'user_id' | 'replaces_id'>,
  { id, level }: OverrideAuthor,
): void {
  const takesOrGives = user_id === id || (replaces_id === id && user_id !== '');
  if (level < PROJECT_ROLES.Maintainer && !takesOrGives) {
    throw new RequestRefused(
      'forbidden',
      'This requires the Maintainer role in the project, unless you take a shift or give yours to somebody.',
    );
  }
}

function validFields(input: OverrideFields, now: number): OverrideFields {
  const refused = (text: string, field: string) => new RequestRefused('bad_request', text, field);
  const { user_id, replaces_id } = input;
  const from_ms = Math.max(input.from_ms, now);
  if (input.until_ms <= input.from_ms) throw refused('The end must be after the start.', 'until');
  if (input.until_ms <= now) throw refused('The end must be in the future.', 'until');
  if (input.until_ms - from_ms > LENGTH_DAYS_MAX * DAY_MS)
    throw refused('An override can last up to a year.', 'until');
  if (user_id !== '' && user_id === replaces_id) throw refused('Enter two different people.', 'replaces_id');
  const reason = visible(input.reason).trim();
  if (reason.length > REASON_CHARACTERS_MAX)
    throw refused(`Enter at most ${REASON_CHARACTERS_MAX} characters.`, 'reason');
  return { from_ms, until_ms: input.until_ms, user_id, replaces_id, reason };
}
