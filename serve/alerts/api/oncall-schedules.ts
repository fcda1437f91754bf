import { z } from 'zod';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { User } from '../../accounts/tables.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import type { Span } from '../oncall/time-intervals.ts';
import { timeText, userJson, userShape, wellFormedText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

export type ScheduleParts = Pick<AlertDomain, 'schedules' | 'users'>;

const WINDOW_DAYS_MAX = 400;
const WINDOW_DAYS_DEFAULT = 14;

const moment = z.iso.datetime();
/** Leaves room for computed times: RFC 3339 has no years after 9999. */
const LATEST = Date.UTC(9000, 0);
export const timeInput = z.iso
  .datetime({ offset: true })
  .refine((text) => Date.parse(text) < LATEST, 'Enter a time before the year 9000.');

const shape = z
  .object({
    id: z.string(),
    project_id: z.int(),
    name: z.string(),
    description: z.string(),
    time_zone: z.string().describe('name in the IANA time zone database'),
    created_at: moment,
    unavailable_user_ids: z
      .array(z.int())
      .describe('users with turns who cannot be paged: locked, or without the Developer role'),
  })
  .meta({ id: 'OncallSchedule' });

const fields = {
  name: wellFormedText().max(255),
  description: wellFormedText().max(2000).optional(),
  time_zone: wellFormedText().max(100).describe('name in the IANA time zone database; offsets are refused'),
};

const spanShape = { from: moment, until: moment };
export const spanJson = ({ from, until }: Span) => ({ from: timeText(from), until: timeText(until) });

const tag = 'On call' as const;
export const ONE_SCHEDULE = '/projects/:id/oncall_schedules/:schedule_id';
export const scheduleParams = z.object({ schedule_id: z.string() });

/** Skips users whose account is deleted. */
const usersJson = (ids: readonly string[], users: ReadonlyMap<string, User>) =>
  ids.flatMap((id) => {
    const user = users.get(id);
    return user ? [userJson(user)] : [];
  });

/** Serves schedules, their shifts and gaps, and the users who are on call. */
export function serveOncallSchedules(api: Api, parts: ScheduleParts, clock: Clock): void {
  const { schedules } = parts;
  const json = jsonOf(schedules);
  const list = '/projects/:id/oncall_schedules';
  const isWholeList = true;
  api.add(
    {
      method: 'GET',
      path: list,
      tag,
      summary: 'List on-call schedules',
      role: 'Reporter',
      isWholeList,
      answer: z.array(shape),
    },
    async ({ membership }) => Promise.all((await schedules.list(membership.project.id)).map(json)),
  );
  api.add(
    {
      method: 'POST',
      path: list,
      tag,
      summary: 'Create an on-call schedule',
      role: 'Maintainer',
      body: z.object(fields),
      answer: shape,
      status: 201,
    },
    async ({ membership, body, caller }) =>
      json(await schedules.create(membership.project.id, body, caller.user.id)),
  );
  serveSchedule(api, schedules);
  serveShifts(api, parts, clock);
  serveOnCall(api, parts, clock);
}

const jsonOf = (schedules: ScheduleParts['schedules']) => async (schedule: OncallSchedule) => ({
  id: schedule.id,
  project_id: Number(schedule.project_id),
  name: schedule.name,
  description: schedule.description,
  time_zone: schedule.time_zone,
  created_at: timeText(schedule.created_ms),
  unavailable_user_ids: (await schedules.unavailable(schedule)).map(Number),
});

function serveSchedule(api: Api, schedules: ScheduleParts['schedules']): void {
  const json = jsonOf(schedules);
  api.add(
    {
      method: 'GET',
      path: ONE_SCHEDULE,
      tag,
      summary: 'Get an on-call schedule',
      role: 'Reporter',
      params: scheduleParams,
      answer: shape,
    },
    async ({ membership, params }) => json(await schedules.get(membership.project.id, params.schedule_id)),
  );
  api.add(
    {
      method: 'PUT',
      path: ONE_SCHEDULE,
      tag,
      summary: 'Update an on-call schedule',
      doc: 'The time zone can be changed only while the schedule has no rotations.',
      role: 'Maintainer',
      params: scheduleParams,
      body: z.object(fields).partial(),
      answer: shape,
    },
    async ({ membership, params, body, caller }) =>
      json(await schedules.change(membership.project.id, params.schedule_id, body, caller.user.id)),
  );
  api.add(
    {
      method: 'DELETE',
      path: ONE_SCHEDULE,
      tag,
      summary: 'Delete an on-call schedule',
      doc: 'Fails with 409 while an escalation policy uses the schedule.',
      role: 'Maintainer',
      params: scheduleParams,
      status: 204,
    },
    async ({ membership, params, caller }) =>
      schedules.delete(membership.project.id, params.schedule_id, caller.user.id),
  );
}

function serveShifts(api: Api, { schedules, users }: ScheduleParts, clock: Clock): void {
  api.add(
    {
      method: 'GET',
      path: `${ONE_SCHEDULE}/shifts`,
      tag,
      summary: 'List the shifts of an on-call schedule',
      doc: 'Nobody is on call between two shifts. Shifts are cut off at `from` and `until`.',
      role: 'Reporter',
      params: scheduleParams,
      query: z.object({
        from: timeInput.optional().describe('default: now'),
        until: timeInput
          .optional()
          .describe(
            `at most ${WINDOW_DAYS_MAX} days after \`from\`; default: ${WINDOW_DAYS_DEFAULT} days after it`,
          ),
      }),
      answer: z.array(
        z.object({
          ...spanShape,
          users: z.array(userShape),
          rotation_ids: z.array(z.string()),
          override_ids: z.array(z.string()),
        }),
      ),
    },
    async ({ membership, params, query }) => {
      const schedule = await schedules.get(membership.project.id, params.schedule_id);
      const shifts = await schedules.shifts(schedule, windowOf(query, clock.now()));
      const known = await users.byId(shifts.flatMap((shift) => shift.users));
      return shifts.map((shift) => ({
        ...spanJson(shift),
        users: usersJson(shift.users, known),
        rotation_ids: shift.rotations,
        override_ids: shift.overrides,
      }));
    },
  );
  api.add(
    {
      method: 'GET',
      path: `${ONE_SCHEDULE}/gaps`,
      tag,
      summary: 'List the gaps of an on-call schedule',
      doc: 'Returns the times in the next 60 days at which nobody is on call.',
      role: 'Reporter',
      params: scheduleParams,
      answer: z.array(z.object(spanShape)),
    },
    async ({ membership, params }) =>
      (await schedules.gaps(await schedules.get(membership.project.id, params.schedule_id))).map(spanJson),
  );
}

function serveOnCall(api: Api, { schedules, users }: ScheduleParts, clock: Clock): void {
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/on_call',
      tag,
      summary: 'List the users who are on call, by schedule',
      role: 'Reporter',
      query: z.object({ at: timeInput.optional().describe('default: now') }),
      answer: z.array(
        z.object({
          schedule_id: z.string(),
          schedule_name: z.string(),
          users: z.array(userShape),
        }),
      ),
    },
    async ({ membership: { project }, query: { at } }) => {
      const moment = at === undefined ? clock.now() : Date.parse(at);
      const found = await Promise.all(
        (await schedules.list(project.id)).map(async ({ id, name }) => ({
          ...{ id, name },
          ids: await schedules.onCall(project.id, id, moment),
        })),
      );
      const known = await users.byId(found.flatMap(({ ids }) => ids));
      return found.map(({ id, name, ids }) => ({
        schedule_id: id,
        schedule_name: name,
        users: usersJson(ids, known),
      }));
    },
  );
}

function windowOf(
  { from, until }: { readonly from?: string | undefined; readonly until?: string | undefined },
  now: number,
): Span {
  const begin = from === undefined ? now : Date.parse(from);
  const end = until === undefined ? begin + WINDOW_DAYS_DEFAULT * DAY_MS : Date.parse(until);
  if (end <= begin) throw new RequestRefused('bad_request', 'until must be after from.', 'until');
  if (end - begin > WINDOW_DAYS_MAX * DAY_MS) {
    throw new RequestRefused(
      'bad_request',
      `until must be at most ${WINDOW_DAYS_MAX} days after from.`,
      'until',
    );
  }
  return { from: begin, until: end };
}
