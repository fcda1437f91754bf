import { cleanLine, visible } from '../../../aggregate/alerts/formats/values.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { hashSecret, isLocator, isSecretOf, newLocator, newSecret } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { OncallOverride, OncallRotation, OncallSchedule } from '../model/oncall-tables.ts';
import type { Members } from '../projects/members.ts';
import { timeZoneName } from './first-instant.ts';
import { gapsBetween, onCallAt, type ScheduleData, type Shift, shiftsBetween } from './on-call.ts';
import { OnCallMembers } from './on-call-members.ts';
import { Overrides } from './overrides.ts';
import { escalationLock } from './policies.ts';
import { type PersonChange, personChanges } from './preview.ts';
import {
  type Rotation,
  type RotationFields,
  Rotations,
  revisionOf,
  revisionRow,
  rotationIn,
  rotationsOf,
} from './rotations.ts';
import type { Span } from './time-intervals.ts';

const SCHEDULES_MAX = 50;
const NAME_CHARACTERS_MAX = 255;
const DESCRIPTION_CHARACTERS_MAX = 2000;
const PREVIEW_DAYS = 56;
const GAP_DAYS = 60;

interface ScheduleChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly time_zone?: string | undefined;
}

/** Options of an edit of a rotation. */
export interface EditOptions {
  readonly author: string;
  /** Time at which the edit takes effect; null for now. */
  readonly effective: number | null;
  /** Computes the changes without saving them. */
  readonly isDryRun: boolean;
}

export interface RotationEdit {
  /** Null if the rotation has ended. */
  readonly rotation: Rotation | null;
  /** Changes in the next 8 weeks. */
  readonly changes: readonly PersonChange[];
}

interface SchedulesDependencies {
  readonly records: Records<OncallSchedule>;
  readonly rotationRecords: Records<OncallRotation>;
  readonly overrideRecords: Records<OncallOverride>;
  readonly members: Pick<Members, 'list' | 'levelOf'>;
  /** Names of the policies that page a schedule. */
  readonly policiesUsing: (projectId: string, scheduleId: string) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly locks: Locks;
}

/** The schedules of projects. Shifts are computed, never stored. */
export class Schedules {
  readonly overrides: Overrides;
  readonly #records: Records<OncallSchedule>;
  readonly #rotations: Rotations;
  readonly #members: OnCallMembers;
  readonly #policiesUsing: SchedulesDependencies['policiesUsing'];
  readonly #clock: Clock;
  readonly #locks: Locks;

  constructor(dependencies: SchedulesDependencies) {
    const { clock, locks } = dependencies;
    this.#records = dependencies.records;
    this.#rotations = new Rotations(dependencies.rotationRecords);
    this.#members = new OnCallMembers(dependencies.members);
    this.overrides = new Overrides({
      ...{ clock, locks, members: this.#members },
      records: dependencies.overrideRecords,
    });
    this.#policiesUsing = dependencies.policiesUsing;
    this.#clock = clock;
    this.#locks = locks;
  }

  /** Sorted by name. */
  list(projectId: string): Promise<OncallSchedule[]> {
    return this.#records.find(
      sql`project_id = ${projectId} AND deleted_ms = 0`,
      'lowerUTF8(name), id',
      SCHEDULES_MAX,
    );
  }

  async find(projectId: string, id: string): Promise<OncallSchedule | null> {
    const schedule = await this.#records.get(id);
    return schedule && schedule.project_id === projectId && schedule.deleted_ms === 0 ? schedule : null;
  }

  async get(projectId: string, id: string): Promise<OncallSchedule> {
    const schedule = await this.find(projectId, id);
    if (schedule === null) throw new RequestRefused('not_found', 'Schedule Not Found');
    return schedule;
  }

  create(projectId: string, input: ScheduleChanges, author: string): Promise<OncallSchedule> {
    return this.#withLock(projectId, async (others) => {
      if (others.length >= SCHEDULES_MAX) {
        throw new RequestRefused(
          'conflict',
          `A project can have up to ${SCHEDULES_MAX} schedules. Delete one first.`,
        );
      }
      const schedule = {
        id: newLocator(),
        version: 1,
        expires_ms: 0,
        project_id: projectId,
        ...validSchedule(NEW_SCHEDULE, input, others),
        calendar_hash: '',
        author_id: author,
        created_ms: this.#clock.now(),
        deleted_ms: 0,
      };
      await this.#records.add(schedule);
      return schedule;
    });
  }

  /** The zone is fixed once there are rotations; otherwise past shifts would change. */
  change(projectId: string, id: string, changes: ScheduleChanges, author: string): Promise<OncallSchedule> {
    return this.#withLock(projectId, async (existing) => {
      const before = await this.get(projectId, id);
      const others = existing.filter((other) => other.id !== id);
      const valid = validSchedule(before, changes, others);
      if (valid.time_zone !== before.time_zone && (await this.#rotations.rows(id)).length > 0) {
        throw new RequestRefused(
          'conflict',
          'The time zone of a schedule with rotations cannot change. Create another schedule for the new zone.',
          'time_zone',
        );
      }
      return this.#change(before, { ...valid, author_id: author });
    });
  }

  /** Fails if a policy uses the schedule. Shares the lock of policies, so no policy can choose it meanwhile. */
  delete(projectId: string, id: string, author: string): Promise<void> {
    return this.#locks.run(escalationLock(projectId), async () => {
      const schedule = await this.get(projectId, id);
      const policies = await this.#policiesUsing(projectId, id);
      if (policies.length > 0) {
        throw new RequestRefused(
          'conflict',
          `Escalation policies use this schedule: ${policies.join(', ')}. Remove it from them first.`,
        );
      }
      await this.#change(schedule, { deleted_ms: this.#clock.now(), author_id: author });
    });
  }

  async rotations({ id }: OncallSchedule): Promise<readonly Rotation[]> {
    return rotationsOf(await this.#rotations.rows(id), this.#clock.now());
  }

  async rotation({ id }: OncallSchedule, rotationId: string): Promise<Rotation> {
    return rotationIn(await this.#rotations.rows(id), rotationId, this.#clock.now());
  }

  createRotation(
    schedule: OncallSchedule,
    input: Partial<RotationFields>,
    options: EditOptions,
  ): Promise<RotationEdit> {
    return this.#edit(schedule, null, input, options);
  }

  /** Revisions that take effect later stay as they are. */
  changeRotation(
    schedule: OncallSchedule,
    rotationId: string,
    changes: Partial<RotationFields>,
    options: EditOptions,
  ): Promise<RotationEdit> {
    return this.#edit(schedule, rotationId, changes, options);
  }

  deleteRotation(schedule: OncallSchedule, rotationId: string, options: EditOptions): Promise<RotationEdit> {
    return this.#edit(schedule, rotationId, null, options);
  }

  async #edit(
    schedule: OncallSchedule,
    rotationId: string | null,
    changes: Partial<RotationFields> | null,
    { author, effective: planned, isDryRun }: EditOptions,
  ): Promise<RotationEdit> {
    const now = this.#clock.now();
    const effective = planned ?? now;
    if (effective < now) {
      throw new RequestRefused(
        'bad_request',
        'Past shifts cannot change. Enter a time in the future, or leave it empty for now.',
        'effective_at',
      );
    }
    const { project_id, id } = schedule;
    if (changes?.turns) await this.#members.requireAvailable(project_id, changes.turns.flat(), 'turns');
    return this.#locks.run(`oncall/${id}`, async (lease) => {
      const rows = await this.#rotations.rows(id);
      const row = revisionRow(rows, { schedule, rotationId, changes, effective, now, author });
      const window = { from: now, until: now + PREVIEW_DAYS * DAY_MS };
      const before = await this.#data(schedule, window, rows);
      const after = { ...before, rotations: [...before.rotations, revisionOf(row)] };
      if (!isDryRun) {
        await lease.ensure();
        await this.#rotations.add(row);
      }
      const rotation = rotationsOf([...rows, row], now).find((one) => one.id === row.rotation_id);
      return { rotation: rotation ?? null, changes: personChanges(before, after, window) };
    });
  }

  /** The users who are on call at a moment; nobody if there is no such schedule. */
  async onCall(projectId: string, scheduleId: string, at: number): Promise<readonly string[]> {
    const schedule = await this.find(projectId, scheduleId);
    return schedule === null ? [] : onCallAt(await this.#data(schedule, { from: at, until: at + 1 }), at);
  }

  async shifts(schedule: OncallSchedule, window: Span): Promise<readonly Shift[]> {
    return shiftsBetween(await this.#data(schedule, window), window.from, window.until);
  }

  /** Gaps from now on, within 60 days by default. */
  async gaps(schedule: OncallSchedule, durationMs = GAP_DAYS * DAY_MS): Promise<readonly Span[]> {
    const from = this.#clock.now();
    const until = from + durationMs;
    return gapsBetween(await this.#data(schedule, { from, until }), from, until);
  }

  /** Users in current or future turns who cannot be on call. */
  async unavailable(schedule: OncallSchedule): Promise<readonly string[]> {
    const [rotations, available] = await Promise.all([
      this.rotations(schedule),
      this.#members.available(schedule.project_id),
    ]);
    const revisions = rotations.flatMap((rotation) => [rotation, ...rotation.upcoming]);
    const users = revisions.flatMap(({ turns }) => turns.flat());
    return [...new Set(users)].filter((user) => !available.has(user));
  }

  /** Creates a new calendar address and revokes the old one. Its secret is returned only here. */
  async renewCalendar(schedule: OncallSchedule): Promise<string> {
    const secret = newSecret();
    await this.#change(schedule, { calendar_hash: hashSecret(secret) });
    return `${schedule.id}${secret}`;
  }

  /** The schedule of a secret that `renewCalendar` returned; null for any other text. */
  async findByCalendar(text: string): Promise<OncallSchedule | null> {
    const [id, secret] = [text.slice(0, LOCATOR_CHARACTERS), text.slice(LOCATOR_CHARACTERS)];
    const schedule = isLocator(id) ? await this.#records.get(id) : null;
    const isOpen = schedule?.deleted_ms === 0 && isSecretOf(schedule.calendar_hash, secret);
    return isOpen ? schedule : null;
  }

  async #data(
    schedule: OncallSchedule,
    window: Span,
    rows?: readonly OncallRotation[],
  ): Promise<ScheduleData> {
    const [rotations, overrides, available] = await Promise.all([
      rows ?? this.#rotations.rows(schedule.id),
      this.overrides.within(schedule.id, window),
      this.#members.available(schedule.project_id),
    ]);
    return {
      timeZone: schedule.time_zone,
      rotations: rotations.map(revisionOf),
      overrides,
      isAvailable: (user) => available.has(user),
    };
  }

  /** The lock enforces unique names and the limit of schedules. */
  #withLock<Result>(
    projectId: string,
    work: (existing: readonly OncallSchedule[]) => Promise<Result>,
  ): Promise<Result> {
    return this.#locks.run(`oncall-schedules/${projectId}`, async () => work(await this.list(projectId)));
  }

  #change({ id }: OncallSchedule, changes: Partial<OncallSchedule>): Promise<OncallSchedule> {
    return this.#records.change(id, (current) => {
      const next = { ...(current as OncallSchedule), ...changes };
      return { next, result: next };
    });
  }
}

const LOCATOR_CHARACTERS = 22;

const NEW_SCHEDULE = { name: '', description: '', time_zone: '' };

function validSchedule(
  before: typeof NEW_SCHEDULE,
  changes: ScheduleChanges,
  others: readonly OncallSchedule[],
): Pick<OncallSchedule, 'name' | 'description' | 'time_zone'> {
  const refused = (text: string, field: string) => new RequestRefused('bad_request', text, field);
  const name = cleanLine(changes.name ?? before.name);
  const description = visible(changes.description ?? before.description).trim();
  if (name === '') throw refused('Enter a name.', 'name');
  if (name.length > NAME_CHARACTERS_MAX)
    throw refused(`Enter at most ${NAME_CHARACTERS_MAX} characters.`, 'name');
  if (description.length > DESCRIPTION_CHARACTERS_MAX)
    throw refused(`Enter at most ${DESCRIPTION_CHARACTERS_MAX} characters.`, 'description');
  const time_zone = timeZoneName(changes.time_zone ?? before.time_zone);
  if (time_zone === null)
    throw refused('Enter a time zone of the IANA database, such as Europe/Berlin.', 'time_zone');
  if (others.some((other) => other.name.toLowerCase() === name.toLowerCase()))
    throw new RequestRefused('conflict', 'Another schedule has this name. Enter another one.', 'name');
  return { name, description, time_zone };
}
