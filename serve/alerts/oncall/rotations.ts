import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import type { OncallRotation, OncallSchedule } from '../model/oncall-tables.ts';
import { ROTATION_UNITS, type RotationRevision, type RotationUnit } from './on-call.ts';
import { INTERVALS_MAX, timeIntervalSchema } from './time-intervals.ts';

const ROTATIONS_MAX = 20;
/** Limit of the revisions of one schedule, including ended rotations. Each request reads all of them. */
const REVISIONS_MAX = 2000;

const wallTime = z.string().refine(isWallTime, 'Enter a time without a zone, such as 2027-03-22T09:00.');

function isWallTime(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text)) return false;
  try {
    Temporal.PlainDateTime.from(text);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** The fields of a rotation except its turns, whose users the API writes as numbers. */
export const rotationFields = {
  name: z.string().overwrite(cleanLine).min(1, 'Enter a name.').max(255),
  priority: z
    .int()
    .min(0)
    .max(9)
    .describe('of the rotations with somebody on call, those with the highest priority decide'),
  starts_at: wallTime.describe('wall time in the zone of the schedule; all handoffs are counted from it'),
  ends_at: wallTime.nullable().describe('wall time at which the rotation ends'),
  length: z.int().min(1).max(365).describe('length of a turn, in `unit`'),
  unit: z.enum(ROTATION_UNITS),
  active_times: z
    .array(timeIntervalSchema)
    .max(INTERVALS_MAX)
    .describe("Alertmanager's time intervals in the zone of the schedule; an empty list means always"),
};

/** The turns of a rotation as lists of users. */
export const turnsOf = <User extends z.ZodType>(user: User) =>
  z
    .array(z.array(user).max(10, 'A turn can have up to 10 people.'))
    .min(1, 'Enter at least one turn.')
    .max(100, 'A rotation can have up to 100 turns.')
    .refine((turns) => turns.some((users) => users.length > 0), 'Enter at least one person.')
    .describe('users of each turn, in order; an empty turn is off');

const fieldsSchema = z.object({ ...rotationFields, turns: turnsOf(z.string()) });
export type RotationFields = z.output<typeof fieldsSchema>;

/** The fields of a rotation from `effective_ms` on. */
export interface Revision extends RotationFields {
  readonly effective_ms: number;
  readonly ends_rotation: boolean;
  readonly author_id: string;
}

/** The current revision of a rotation, or its first one, and the later revisions. */
export interface Rotation extends Revision {
  readonly id: string;
  readonly upcoming: readonly Revision[];
}

/** The defaults of a new rotation. */
export const NEW_ROTATION = {
  priority: 0,
  ends_at: null,
  length: 1,
  unit: 'weeks',
  active_times: [],
} as const;

/** The rotations of schedules, a row for each revision. */
export class Rotations {
  readonly #records: Records<OncallRotation>;

  constructor(records: Records<OncallRotation>) {
    this.#records = records;
  }

  /** All revisions of a schedule in order of creation. */
  rows(scheduleId: string): Promise<OncallRotation[]> {
    return this.#records.find(sql`schedule_id = ${scheduleId}`, 'created_ms, id', REVISIONS_MAX);
  }

  add(row: OncallRotation): Promise<void> {
    return this.#records.add(row);
  }
}

/** Converts a row for the computation of shifts. */
export const revisionOf = (row: OncallRotation): RotationRevision => ({
  rotation: row.rotation_id,
  effective: row.effective_ms,
  endsRotation: row.ends_rotation,
  priority: row.priority,
  startsAt: row.starts_at,
  endsAt: row.ends_at,
  length: row.length,
  unit: row.unit as RotationUnit,
  turns: JSON.parse(row.turns),
  activeTimes: row.active_times === '' ? [] : JSON.parse(row.active_times),
});

/** The rotations of a schedule that have not ended, by priority and name. */
export function rotationsOf(rows: readonly OncallRotation[], now: number): Rotation[] {
  return [...Map.groupBy(rows, ({ rotation_id }) => rotation_id)]
    .flatMap(([id, own]) => {
      const inOrder = inOrderOfEffect(own);
      const current = inOrder.findLastIndex(({ effective_ms }) => effective_ms <= now);
      const [shown, ...upcoming] = inOrder.slice(Math.max(0, current)).map(revisionFields);
      return shown === undefined || shown.ends_rotation ? [] : [{ ...shown, id, upcoming }];
    })
    .sort((a, b) => b.priority - a.priority || a.name.localeCompare(b.name));
}

export function rotationIn(rows: readonly OncallRotation[], id: string, now: number): Rotation {
  const rotation = rotationsOf(rows, now).find((one) => one.id === id);
  if (rotation === undefined) throw new RequestRefused('not_found', 'Rotation Not Found');
  return rotation;
}

/** A new rotation, or a new revision of one. */
interface RevisionRequest {
  readonly schedule: OncallSchedule;
  /** Null for a new rotation. */
  readonly rotationId: string | null;
  /** Null ends the rotation. */
  readonly changes: Partial<RotationFields> | null;
  readonly effective: number;
  readonly now: number;
  readonly author: string;
}

export function revisionRow(rows: readonly OncallRotation[], request: RevisionRequest): OncallRotation {
  const { schedule, rotationId, changes, effective, now, author } = request;
  if (rows.length >= REVISIONS_MAX)
    throw new RequestRefused(
      'conflict',
      `A schedule can have up to ${REVISIONS_MAX} changes of its rotations. Create another schedule.`,
    );
  if (rotationId === null && rotationsOf(rows, now).length >= ROTATIONS_MAX) {
    throw new RequestRefused(
      'conflict',
      `A schedule can have up to ${ROTATIONS_MAX} rotations. Delete one first.`,
    );
  }
  const before = rotationId === null ? NEW_ROTATION : fieldsAt(rows, rotationId, effective);
  const { turns, active_times, ends_at, ...rest } = validFields({ ...before, ...changes });
  return {
    id: newLocator(),
    version: 1,
    expires_ms: 0,
    project_id: schedule.project_id,
    schedule_id: schedule.id,
    rotation_id: rotationId ?? newLocator(),
    effective_ms: effective,
    created_ms: now,
    ends_rotation: changes === null,
    ...rest,
    ends_at: ends_at ?? '',
    turns: JSON.stringify(turns),
    active_times: active_times.length === 0 ? '' : JSON.stringify(active_times),
    author_id: author,
  };
}

/** The fields of a rotation at a moment; before its start, those of its first revision. */
function fieldsAt(rows: readonly OncallRotation[], id: string, at: number): RotationFields {
  const own = inOrderOfEffect(rows.filter(({ rotation_id }) => rotation_id === id));
  const row = own.findLast(({ effective_ms }) => effective_ms <= at) ?? own[0];
  if (row === undefined || row.ends_rotation) throw new RequestRefused('not_found', 'Rotation Not Found');
  return revisionFields(row);
}

/** Revisions by effective time. Drops revisions after the end of the rotation. */
function inOrderOfEffect(rows: readonly OncallRotation[]): readonly OncallRotation[] {
  const inOrder = rows.toSorted((a, b) => a.effective_ms - b.effective_ms || a.created_ms - b.created_ms);
  const end = inOrder.findIndex(({ ends_rotation }) => ends_rotation);
  return end < 0 ? inOrder : inOrder.slice(0, end + 1);
}

const revisionFields = (row: OncallRotation): Revision => ({
  name: row.name,
  priority: row.priority,
  starts_at: row.starts_at,
  ends_at: row.ends_at || null,
  length: row.length,
  unit: row.unit as RotationUnit,
  turns: JSON.parse(row.turns),
  active_times: row.active_times === '' ? [] : JSON.parse(row.active_times),
  effective_ms: row.effective_ms,
  ends_rotation: row.ends_rotation,
  author_id: row.author_id,
});

function validFields(input: object): RotationFields {
  const { data, error } = fieldsSchema.safeParse(input);
  if (error) {
    const { path, message } = error.issues[0] as z.core.$ZodIssue;
    throw new RequestRefused('bad_request', message, String(path[0]));
  }
  if (data.ends_at !== null && data.ends_at <= data.starts_at)
    throw new RequestRefused('bad_request', 'The end must be after the start.', 'ends_at');
  return data;
}
