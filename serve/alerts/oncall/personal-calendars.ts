import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { hashSecret, isSecretOf, newSecret } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import type {
  NotificationRules,
  OncallOverride,
  OncallRotation,
  OncallSchedule,
} from '../model/oncall-tables.ts';
import type { Shift } from './on-call.ts';
import type { Schedules } from './schedules.ts';
import type { Span } from './time-intervals.ts';

/** Schedules that one calendar reads. */
const SCHEDULES_MAX = 200;
const ROWS_MAX = 10_000;

interface PersonalCalendarsDependencies {
  readonly records: Records<NotificationRules>;
  readonly rotationRecords: Records<OncallRotation>;
  readonly overrideRecords: Records<OncallOverride>;
  readonly schedules: Pick<Schedules, 'find' | 'shifts'>;
  readonly clock: Clock;
}

interface PersonalShift extends Shift {
  readonly schedule: OncallSchedule;
}

/** The shifts of one user in all projects, and the secret of the calendar feed. */
export class PersonalCalendars {
  readonly #deps: PersonalCalendarsDependencies;

  constructor(dependencies: PersonalCalendarsDependencies) {
    this.#deps = dependencies;
  }

  /** True if the user has a calendar address. */
  async has(userId: string): Promise<boolean> {
    return ((await this.#deps.records.get(userId))?.calendar_hash ?? '') !== '';
  }

  /** Creates a new address and revokes the old one. Its secret is returned only here. */
  async renew(userId: string): Promise<string> {
    const { records, clock } = this.#deps;
    const secret = newSecret();
    const calendar_hash = hashSecret(secret);
    await records.change(userId, (current) => ({
      next: {
        id: userId,
        expires_ms: 0,
        default_rules: '[]',
        important_rules: '[]',
        status_updates: true,
        created_ms: clock.now(),
        ...current,
        calendar_hash,
      },
      result: undefined,
    }));
    return `${userId}-${secret}`;
  }

  /** The id of the user of a secret that `renew` returned; null for any other text. */
  async findUser(text: string): Promise<string | null> {
    const [, userId = '', secret = ''] = /^(\d{1,20})-(.+)$/.exec(text) ?? [];
    const hash = userId === '' ? '' : (await this.#deps.records.get(userId))?.calendar_hash;
    return hash && isSecretOf(hash, secret) ? userId : null;
  }

  /** Shifts in the given projects. Computes only the schedules that name the user. */
  async shifts(userId: string, projectIds: ReadonlySet<string>, window: Span): Promise<PersonalShift[]> {
    const { schedules } = this.#deps;
    const found: PersonalShift[] = [];
    for (const { project_id, schedule_id } of await this.#schedulesOf(userId, window)) {
      const schedule = projectIds.has(project_id) ? await schedules.find(project_id, schedule_id) : null;
      if (schedule === null) continue;
      const shifts = await schedules.shifts(schedule, window);
      found.push(
        ...shifts.filter(({ users }) => users.includes(userId)).map((one) => ({ ...one, schedule })),
      );
    }
    return found;
  }

  async #schedulesOf(
    userId: string,
    { from, until }: Span,
  ): Promise<Pick<OncallRotation, 'project_id' | 'schedule_id'>[]> {
    const { rotationRecords, overrideRecords } = this.#deps;
    const rows = await Promise.all([
      rotationRecords.find(sql`position(turns, ${`"${userId}"`}) > 0`, 'id', ROWS_MAX),
      overrideRecords.find(
        sql`user_id = ${userId} AND deleted_ms = 0 AND from_ms < ${until} AND until_ms > ${from}`,
        'id',
        ROWS_MAX,
      ),
    ]);
    const unique = new Map(rows.flat().map((row) => [row.schedule_id, row]));
    return [...unique.values()].slice(0, SCHEDULES_MAX);
  }
}
