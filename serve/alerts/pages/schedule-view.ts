/** Two weeks of a schedule as bars, and as a table with the same content. */
import type { FastifyRequest } from 'fastify';
import { DAY_MS } from '../../../infra/days.ts';
import { table } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { OncallSchedule } from '../model/oncall-tables.ts';
import { gapsIn } from '../oncall/on-call.ts';
import type { Schedules } from '../oncall/schedules.ts';
import type { Span } from '../oncall/time-intervals.ts';
import type { StaffedSpan } from './on-call-board.ts';
import { schedulePath } from './schedule-parts.ts';
import { barRows, shiftBars } from './shift-bars.ts';
import { type Clocks, readerZoneOf, stretchBy } from './zone-times.ts';

const DAYS = 14;
/** The search for the ends of shifts extends this far beyond the two weeks. */
const MARGIN_MS = 31 * DAY_MS;

interface ShownWeeks {
  readonly request: FastifyRequest;
  readonly schedule: OncallSchedule;
  readonly schedules: Schedules;
  readonly clocks: Clocks;
  readonly now: number;
  /** The people of the rotations. */
  readonly people: readonly string[];
  readonly nameOf: (user: string) => string;
  /** Buttons for a span and the users on call in it. */
  readonly actionOf: (stretch: Span, users: readonly string[]) => Html | null;
}

export async function weeksOf(shown: ShownWeeks): Promise<Html> {
  const { request, schedule, schedules, clocks, now, people, nameOf } = shown;
  const { times, reader } = clocks;
  const { from: chosen } = request.query as { readonly from?: unknown };
  const first = times.dateOf(chosen, now);
  const [from, until] = [times.startOf(first), times.startOf(first.add({ days: DAYS }))];
  const window = { from: from - MARGIN_MS, until: until + MARGIN_MS };
  const all = await schedules.shifts(schedule, window);
  const isShown = (stretch: Span) => stretch.from < until && stretch.until > from;
  const shifts = all.filter(isShown);
  // The time before the first shift is not a gap.
  const begin = Math.max(window.from, Math.min(now, all[0]?.from ?? now));
  const gaps = gapsIn(all, { from: begin, until: window.until }).filter(isShown);
  const rows = barRows(shifts, gaps, people);
  const link = (days: number, text: string) =>
    html`<a class="button second small" href="${addressOf(request, schedule, first.add({ days }).toString())}">${text}</a>`;
  const last = times.day(until - 1);
  return html`<section class="card weeks plain"><div class="weeks-head"><h2>${times.day(from)} to ${last} ${first.year}</h2>
<nav class="actions" aria-label="Weeks">${link(-DAYS, 'Previous two weeks')}${chosen !== undefined && html`<a class="button second small" href="${addressOf(request, schedule, '')}">Today</a>`}${link(DAYS, 'Next two weeks')}</nav></div>
<p class="hint">Days of ${times.zone} above the bars${reader && html`, of ${reader.zone} below them`}. The table says the same.</p>
<div class="bars">${shiftBars({ from, until, rows, now, nameOf, times, reader })}</div>
${zoneForm(request, schedule)}
${shiftTable(shifts, gaps, shown)}</section>`;
}

function addressOf(request: FastifyRequest, schedule: OncallSchedule, from: string): string {
  const { zone } = request.query as { readonly zone?: unknown };
  const query = new URLSearchParams({
    ...(from !== '' && { from }),
    ...(typeof zone === 'string' && { zone }),
  }).toString();
  return `${schedulePath(schedule)}${query && `?${query}`}`;
}

function zoneForm(request: FastifyRequest, schedule: OncallSchedule): Html {
  const { from } = request.query as { readonly from?: unknown };
  return html`<form class="picker zone" method="get" action="${schedulePath(schedule)}">${typeof from === 'string' && html`<input type="hidden" name="from" value="${from}">`}
<label>Your time zone<input name="zone" list="time-zones" value="${readerZoneOf(request)}" autocomplete="off" placeholder="Europe/Berlin"></label><button class="second">Show</button></form>`;
}

function shiftTable(
  shifts: readonly StaffedSpan[],
  gaps: readonly Span[],
  { clocks, nameOf, actionOf }: ShownWeeks,
): Html {
  const all = [...shifts, ...gaps.map((gap) => ({ ...gap, users: [] }))].sort((a, b) => a.from - b.from);
  return table({
    caption: 'Shifts',
    head: ['On call', 'From and until'],
    rows: all.map(({ users, ...stretch }) => [
      users.length === 0 ? html`<span class="tag bad">nobody</span>` : html`${users.map(nameOf).join(', ')}`,
      html`<div class="with-action"><div>${stretchBy(stretch, clocks)}</div>${actionOf(stretch, users)}</div>`,
    ]),
    empty: 'No rotation has a shift in these weeks.',
  });
}
