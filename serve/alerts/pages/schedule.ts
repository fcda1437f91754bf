import type { FastifyInstance, FastifyRequest } from 'fastify';
import { button, formCard, secretCard, time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { showOnce, takeSecret } from '../../pages/shown-once.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import type { Visit } from './frame.ts';
import { boardOf } from './on-call-board.ts';
import { overrideSection, serveOverrides, takeButtons } from './overrides.ts';
import { rotationSection } from './rotation-list.ts';
import { scheduleFields, scheduleIn, timeZoneList } from './schedule-form.ts';
import {
  boardFacts,
  candidatesOf,
  lookAhead,
  nameIn,
  type OnCallPageParts,
  policiesOf,
  type ScheduleState,
  type SendSchedule,
  schedulePath,
  unreachableNote,
  unreachableUsers,
} from './schedule-parts.ts';
import { weeksOf } from './schedule-view.ts';
import { clocksOf } from './zone-times.ts';

const ONE = '/projects/:id/oncall/:schedule';

/** The page of a schedule, and the actions on it. */
export function serveSchedulePage(pages: FastifyInstance, parts: OnCallPageParts): void {
  const { frame, schedules, url } = parts;
  const scheduleOf = ({ membership: { project } }: Visit, request: FastifyRequest) =>
    schedules.get(project.id, (request.params as { schedule: string }).schedule);
  const send: SendSchedule = async (reply, visit, schedule, state) => {
    const status = state.error === undefined && state.settingsError === undefined ? 200 : 422;
    const body = await scheduleBody(parts, reply.request, visit, schedule, state);
    return frame.send(reply, visit, {
      tab: 'oncall',
      title: schedule.name,
      body,
      status,
      script: 'alerts.js',
    });
  };
  pages.get(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Reporter');
    const schedule = await scheduleOf(visit, request);
    return send(reply, visit, schedule, { calendar: await takeSecret(frame.accounts, request, visit.user) });
  });
  pages.post(`${ONE}/save`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const schedule = await scheduleOf(visit, request);
    try {
      const changes = scheduleIn(formOf(request));
      await schedules.change(schedule.project_id, schedule.id, changes, visit.user.id);
      return await seeOther(reply, schedulePath(schedule), 'Changes saved.');
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.status === 404) throw error;
      return send(reply, visit, schedule, { settingsError: error });
    }
  });
  pages.post(`${ONE}/calendar`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const schedule = await scheduleOf(visit, request);
    const address = `${url()}/oncall_calendars/${await schedules.renewCalendar(schedule)}.ics`;
    return showOnce(frame.accounts, reply, visit.user, schedulePath(schedule), address);
  });
  serveOverrides(pages, parts, send);
  serveDeletion(pages, parts, scheduleOf);
}

const serveDeletion = (
  pages: FastifyInstance,
  { frame, schedules }: OnCallPageParts,
  scheduleOf: (visit: Visit, request: FastifyRequest) => Promise<OncallSchedule>,
): void =>
  serveConfirmationPage(pages, frame, {
    path: `${ONE}/delete`,
    tab: 'oncall',
    find: (request, visit) => scheduleOf(visit, request),
    questionOf: (schedule) => ({
      question: `Delete the schedule ${schedule.name}?`,
      facts: [
        ['Time zone', schedule.time_zone],
        ['Created', time(schedule.created_ms)],
      ],
      consequence: 'Its rotations, overrides and calendar stop working. This cannot be undone.',
      submit: 'Delete schedule',
      back: schedulePath(schedule),
    }),
    execute: async ({ project_id, id, name }, visit, reply) => {
      await schedules.delete(project_id, id, visit.user.id);
      return seeOther(reply, `/projects/${project_id}/oncall`, `Schedule ${name} deleted.`);
    },
  });

async function scheduleBody(
  parts: OnCallPageParts,
  request: FastifyRequest,
  visit: Visit,
  schedule: OncallSchedule,
  { calendar, error = null, settingsError = null }: ScheduleState,
): Promise<Html> {
  const { clock, members, policies, schedules, users } = parts;
  const now = clock.now();
  const ahead = lookAhead(now);
  const [rotations, overrides, shifts, unavailable, all, allPolicies] = await Promise.all([
    schedules.rotations(schedule),
    schedules.overrides.list(schedule.id),
    schedules.shifts(schedule, ahead),
    schedules.unavailable(schedule),
    members.list(schedule.project_id),
    policies.list(schedule.project_id),
  ]);
  const people = [...new Set(rotations.flatMap(({ turns }) => turns.flat()))];
  const accounts = await users.byId([
    ...people,
    ...all.map(({ user }) => user.id),
    ...overrides.flatMap(({ user_id, replaces_id }) => [user_id, replaces_id]),
  ]);
  const nameOf = nameIn(accounts);
  const clocks = clocksOf(request, schedule.time_zone, ahead);
  const shown = { now, nameOf, clocks };
  const weeks =
    rotations.length === 0 && overrides.length === 0
      ? null
      : await weeksOf({
          ...{ ...shown, request, schedule, schedules, people },
          actionOf: (stretch, onCall) => takeButtons(schedule, visit, stretch, onCall, shown),
        });
  const board = boardOf(shifts, ahead, visit.user.id);
  return html`<div class="heading"><div><p class="under"><a href="/projects/${schedule.project_id}/oncall">On call</a></p><h1>${schedule.name}</h1>
<p class="lead">${schedule.description} <span class="tag">${schedule.time_zone}</span></p></div></div>
${calendar && secretCard('Address of the calendar', calendar)}
${rotations.length > 0 && policiesOf(schedule, allPolicies).length === 0 && unusedNote(schedule)}
${unavailableNote(unavailable, nameOf)}
${unreachableNote(await unreachableUsers(parts, people), nameOf)}
${rotations.length > 0 && html`<section class="card">${boardFacts(board, clocks, nameOf)}</section>`}
${weeks}
${rotationSection({ schedule, rotations, visit, nameOf, clocks })}
${overrideSection({ schedule, visit, overrides, candidates: candidatesOf(all), nameOf, clocks, form: formOf(request), error })}
${visit.membership.level >= PROJECT_ROLES.Maintainer && settings(schedule, visit, request, settingsError)}
${timeZoneList}`;
}

const unusedNote = ({ project_id }: OncallSchedule): Html =>
  html`<p class="note warn">No escalation policy pages this schedule, so nobody in it is paged. <a href="/projects/${project_id}/escalation">Add it to a policy</a>.</p>`;

function unavailableNote(people: readonly string[], nameOf: (user: string) => string): Html | null {
  if (people.length === 0) return null;
  const names = people.map(nameOf).join(', ');
  return html`<p class="note warn">${names} cannot be on call: the account is locked or has no Developer role. The next turn stands in.</p>`;
}

function settings(
  schedule: OncallSchedule,
  { token }: Visit,
  request: FastifyRequest,
  error: RequestRefused | null,
): Html {
  const base = schedulePath(schedule);
  const input = error === null ? schedule : scheduleIn(formOf(request));
  const has = schedule.calendar_hash !== '';
  return html`<div class="columns even">${formCard({
    title: 'Settings',
    action: `${base}/save`,
    token,
    fields: html`${error && error.field === null && html`<p class="fault" role="alert">${error.message}</p>`}${scheduleFields(input, error)}`,
    submit: 'Save changes',
  })}
<div><section class="card"><h2>Calendar</h2><p>The shifts of the next 90 days for a calendar application. Anyone with the address can read it. It is shown once.${has && ' A new address replaces the old one.'}</p>${button(`${base}/calendar`, token, has ? 'Renew the address' : 'Create an address', 'Create an address of the calendar', 'second')}</section>
<section class="card"><h2>Delete schedule</h2><p>Its rotations, overrides and calendar stop working.</p><a class="button danger" href="${base}/delete" aria-label="Delete schedule ${schedule.name}">Delete schedule</a></section></div></div>`;
}
