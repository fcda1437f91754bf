import type { FastifyInstance } from 'fastify';
import ical from 'ical-generator';
import { z } from 'zod';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { Span } from '../oncall/time-intervals.ts';
import type { Api } from './endpoint.ts';
import { ONE_SCHEDULE, type ScheduleParts, scheduleParams } from './oncall-schedules.ts';

const CALENDAR_DAYS = 90;

type CalendarParts = ScheduleParts & Pick<AlertDomain, 'personalCalendars' | 'projects'>;

/** Serves iCalendar feeds of schedules and users. The secret in the URL replaces the sign-in. */
export function serveOncallCalendars(app: FastifyInstance, parts: CalendarParts, clock: Clock): void {
  app.get<{ Params: { secret: string } }>(
    '/oncall_calendars/:secret.ics',
    { schema: { hide: true } },
    async (request, reply) => {
      const { secret } = request.params;
      const from = Math.floor(clock.now() / DAY_MS) * DAY_MS;
      const window = { from, until: from + (CALENDAR_DAYS + 1) * DAY_MS };
      const content = (await ofSchedule(parts, secret, window)) ?? (await ofPerson(parts, secret, window));
      if (content === null) throw new RequestRefused('not_found', 'Calendar Not Found');
      const { shifts, ...about } = content;
      const calendar = ical({ prodId: { company: 'Chain Metrics', product: 'On call' }, ...about });
      const stamp = new Date(clock.now());
      for (const { from, until, ...shift } of shifts)
        calendar.createEvent({ ...shift, stamp, start: new Date(from), end: new Date(until) });
      reply.header('cache-control', 'no-store').type('text/calendar; charset=utf-8');
      return calendar.toString();
    },
  );
}

interface CalendarContent {
  readonly name: string;
  readonly description: string;
  readonly shifts: readonly (Span & { readonly id: string; readonly summary: string })[];
}

/** Uses the end of the shift, because the start of a current shift is cut off. */
const eventId = (until: number, ...parts: readonly string[]): string =>
  `${until}-${parts.join('-')}@chain-metrics`;

async function ofSchedule(
  { schedules, users, projects }: CalendarParts,
  secret: string,
  window: Span,
): Promise<CalendarContent | null> {
  const schedule = await schedules.findByCalendar(secret);
  if (schedule === null || (await projects.find(schedule.project_id)) === null) return null;
  const shifts = await schedules.shifts(schedule, window);
  const known = await users.byId(shifts.flatMap((shift) => shift.users));
  return {
    name: `On call: ${schedule.name}`,
    description: schedule.description,
    shifts: shifts.map(({ from, until, users }) => ({
      ...{ from, until, id: eventId(until, schedule.id) },
      summary: users.map((id) => known.get(id)?.name ?? `User ${id}`).join(', '),
    })),
  };
}

async function ofPerson(
  { personalCalendars, users, projects }: CalendarParts,
  secret: string,
  window: Span,
): Promise<CalendarContent | null> {
  const id = await personalCalendars.findUser(secret);
  const user = id === null ? undefined : (await users.byId([id])).get(id);
  if (user === undefined || user.locked_ms > 0) return null;
  const memberships = await projects.ofUser(user);
  const names = new Map(memberships.map(({ project }) => [project.id, project.name]));
  const shifts = await personalCalendars.shifts(user.id, new Set(names.keys()), window);
  return {
    name: `On call: ${user.name || user.username}`,
    description: 'Shifts in all projects.',
    shifts: shifts.map(({ from, until, schedule }) => ({
      ...{ from, until, id: eventId(until, schedule.id, user.id) },
      summary: `On call: ${schedule.name} (${names.get(schedule.project_id)})`,
    })),
  };
}

/** Serves new calendar URLs. Each is shown once. */
export function serveCalendarAddress(
  api: Api,
  { schedules }: Pick<ScheduleParts, 'schedules'>,
  url: () => string,
): void {
  api.add(
    {
      method: 'POST',
      path: `${ONE_SCHEDULE}/calendar`,
      tag: 'On call',
      summary: 'Create a new calendar URL of an on-call schedule',
      doc: 'The URL returns an iCalendar feed of the next 90 days in UTC and needs no sign-in. The previous URL stops working. The URL is returned only in this response.',
      role: 'Maintainer',
      params: scheduleParams,
      answer: z.object({ url: z.string() }),
      status: 201,
    },
    async ({ membership, params }) => {
      const schedule = await schedules.get(membership.project.id, params.schedule_id);
      return { url: `${url()}/oncall_calendars/${await schedules.renewCalendar(schedule)}.ics` };
    },
  );
}
