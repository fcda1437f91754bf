import type { FastifyInstance, FastifyReply } from 'fastify';
import { formCard, table } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import type { Visit } from './frame.ts';
import { type Board, boardOf } from './on-call-board.ts';
import { scheduleFields, scheduleIn, timeZoneList } from './schedule-form.ts';
import {
  boardFacts,
  DAYS_AHEAD,
  lookAhead,
  nameIn,
  type OnCallPageParts,
  policiesOf,
  schedulePath,
  unreachableNote,
  unreachableUsers,
} from './schedule-parts.ts';
import { type Clocks, clocksOf, readerZoneOf, stretchBy } from './zone-times.ts';

const SHIFTS_MAX = 10;

interface ScheduleBoard extends Board {
  readonly schedule: OncallSchedule;
  readonly clocks: Clocks;
  /** Names of the policies that page the schedule. */
  readonly policies: readonly string[];
}

/** The people on call in each schedule of a project, now and next. */
export function serveOnCallPage(pages: FastifyInstance, parts: OnCallPageParts): void {
  const { frame, schedules } = parts;
  const path = '/projects/:id/oncall';
  pages.get(path, async (request, reply) =>
    send(parts, reply, await frame.visit(request, reply, 'Reporter'), null),
  );
  pages.post(path, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { project } = visit.membership;
    try {
      const schedule = await schedules.create(project.id, scheduleIn(formOf(request)), visit.user.id);
      const next = `${schedulePath(schedule)}/rotations/new`;
      return await seeOther(reply, next, 'Schedule created. Add its first rotation.');
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return send(parts, reply, visit, error);
    }
  });
}

async function send(
  parts: OnCallPageParts,
  reply: FastifyReply,
  visit: Visit,
  error: RequestRefused | null,
): Promise<FastifyReply> {
  const { project, level } = visit.membership;
  const boards = await boardsOf(parts, reply, visit);
  const people = new Set(
    boards.flatMap(({ current, next }) => [...(current?.users ?? []), ...(next?.users ?? [])]),
  );
  const [users, unreachable, steps] = await Promise.all([
    parts.users.byId([...people]),
    unreachableUsers(parts, [...people]),
    firstSteps(parts, project.id, boards),
  ]);
  const nameOf = nameIn(users);
  const form = formOf(reply.request);
  const input =
    error === null ? { name: '', description: '', time_zone: readerZoneOf(reply.request) } : scheduleIn(form);
  const body = html`<h1>On call</h1><p class="lead">Who is on call now, and who is next.</p>
${boards.flatMap(usedGaps)}
${unreachableNote(unreachable, nameOf)}
${error && error.field === null && html`<p class="note bad" role="alert">${error.message}</p>`}
${steps}
<div class="boards">${boards.map((board) => boardCard(board, nameOf))}</div>
${boards.length > 0 && myShifts(boards)}
${
  level >= PROJECT_ROLES.Maintainer &&
  formCard({
    title: 'New schedule',
    action: `/projects/${project.id}/oncall`,
    token: visit.token,
    fields: html`${scheduleFields(input, error)}${timeZoneList}`,
    submit: 'Create schedule',
  })
}`;
  return frame(parts, reply, visit, body, error === null ? 200 : 422);
}

const frame = (parts: OnCallPageParts, reply: FastifyReply, visit: Visit, body: Html, status: number) =>
  parts.frame.send(reply, visit, { tab: 'oncall', title: 'On call', body, status, script: 'alerts.js' });

async function boardsOf(
  { clock, policies, schedules }: OnCallPageParts,
  { request }: FastifyReply,
  { user, membership: { project } }: Visit,
): Promise<ScheduleBoard[]> {
  const window = lookAhead(clock.now());
  const [list, all] = await Promise.all([schedules.list(project.id), policies.list(project.id)]);
  return Promise.all(
    list.map(async (schedule) => {
      const shifts = await schedules.shifts(schedule, window);
      return {
        ...boardOf(shifts, window, user.id),
        schedule,
        clocks: clocksOf(request, schedule.time_zone, window),
        policies: policiesOf(schedule, all).map(({ name }) => name),
      };
    }),
  );
}

/** A banner for the first gap of a schedule that a policy uses. Pages during a gap reach nobody there. */
function usedGaps({ schedule, gaps, policies, clocks }: ScheduleBoard): Html[] {
  const [gap] = gaps;
  if (gap === undefined || policies.length === 0) return [];
  return [
    html`<p class="note bad" role="alert">Nobody is on call in <a href="${schedulePath(schedule)}">${schedule.name}</a> from ${stretchBy(gap, clocks)}. ${policies.join(', ')} ${policies.length === 1 ? 'pages' : 'page'} this schedule.</p>`,
  ];
}

function boardCard(board: ScheduleBoard, nameOf: (user: string) => string): Html {
  const { schedule, clocks } = board;
  return html`<section class="card"><h2><a href="${schedulePath(schedule)}">${schedule.name}</a></h2>
${schedule.description && html`<p>${schedule.description}</p>`}
${boardFacts(board, clocks, nameOf)}</section>`;
}

function myShifts(boards: readonly ScheduleBoard[]): Html {
  const shifts = boards
    .flatMap(({ schedule, clocks, mine }) => mine.map((shift) => ({ ...shift, schedule, clocks })))
    .sort((a, b) => a.from - b.from)
    .slice(0, SHIFTS_MAX);
  return html`<section class="card plain"><h2>My next shifts</h2>${table({
    caption: 'My next shifts',
    head: ['Schedule', 'From and until'],
    rows: shifts.map(({ schedule, clocks, ...shift }) => [
      html`<a href="${schedulePath(schedule)}">${schedule.name}</a>`,
      stretchBy(shift, clocks),
    ]),
    empty: `You are not on call in the next ${DAYS_AHEAD} days.`,
  })}</section>`;
}

/** The first steps of the setup, until an alert can page somebody. */
async function firstSteps(
  { alertRoutes, policies }: OnCallPageParts,
  projectId: string,
  boards: readonly ScheduleBoard[],
): Promise<Html | null> {
  const [all, { routes }] = await Promise.all([policies.list(projectId), alertRoutes.get(projectId)]);
  const isDone = [boards.length > 0, all.length > 0, routes.at(-1)?.policy_id !== ''];
  if (isDone.every(Boolean)) return null;
  const step = (i: number, text: Html) =>
    html`<li>${text} ${isDone[i] && html`<span class="tag good">done</span>`}</li>`;
  return html`<section class="card"><h2>Page a person when an alert comes</h2><ol class="steps">
${step(0, html`<b>Create a schedule</b> of <a href="/projects/${projectId}/members">members</a> who take turns.`)}
${step(1, html`<b><a href="/projects/${projectId}/escalation">Create an escalation policy</a></b> that pages who is on call in it.`)}
${step(2, html`<b><a href="/projects/${projectId}/escalation">Route the alerts</a></b> of the project to the policy.`)}
</ol><p class="hint"><a href="/docs/guides/on-call">The guide</a> explains the rest.</p></section>`;
}
