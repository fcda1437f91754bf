import type { FastifyInstance } from 'fastify';
import ical from 'ical-generator';
import { z } from 'zod';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { Api } from './endpoint.ts';
import { ONE_SCHEDULE, type ScheduleParts, scheduleParams } from './oncall-schedules.ts';

const CALENDAR_DAYS = 90;

/** Serves the calendars of schedules. The secret in the address stands for a sign-in. */
export function serveOncallCalendars(
  app: FastifyInstance,
  { schedules, users, projects }: ScheduleParts & Pick<AlertDomain, 'projects'>,
  clock: Clock,
): void {
  app.get<{ Params: { secret: string } }>(
    '/oncall_calendars/:secret.ics',
    { schema: { hide: true } },
    async (request, reply) => {
      const schedule = await schedules.findByCalendar(request.params.secret);
      const project = schedule && (await projects.find(schedule.project_id));
      if (schedule === null || project === null) throw new RequestRefused('not_found', 'Calendar Not Found');
      const from = Math.floor(clock.now() / DAY_MS) * DAY_MS;
      const shifts = await schedules.shifts(schedule, { from, until: from + (CALENDAR_DAYS + 1) * DAY_MS });
      const known = await users.byId(shifts.flatMap((shift) => shift.users));
      const calendar = ical({
        prodId: { company: 'Chain Metrics', product: 'On call' },
        name: `On call: ${schedule.name}`,
        description: schedule.description,
      });
      for (const shift of shifts) {
        calendar.createEvent({
          // The start of a running shift is cut off, so its end identifies it.
          id: `${shift.until}-${schedule.id}@chain-metrics`,
          stamp: new Date(clock.now()),
          start: new Date(shift.from),
          end: new Date(shift.until),
          summary: shift.users.map((id) => known.get(id)?.name ?? `User ${id}`).join(', '),
        });
      }
      reply.header('cache-control', 'no-store').type('text/calendar; charset=utf-8');
      return calendar.toString();
    },
  );
}

/** The address of a calendar is shown once, when it is made. */
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
      summary: 'Renew the calendar address of an on-call schedule',
      doc: 'An iCalendar feed of the next 90 days in UTC that needs no sign-in. The earlier address ends. The address is returned only in this response.',
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
