import { scaleLinear } from 'd3-scale';
import type { FastifyInstance } from 'fastify';
import { DAY_MS, isoDay } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import { table } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../domain.ts';
import type { AlertDay, TimeRange } from '../projects/alert-analytics.ts';
import { type DayChart, dayChart, durationText } from './day-chart.ts';
import { ago, type ProjectFrame } from './frame.ts';

const DAYS = 30;
const ROWS = 10;
const DAY_HEAD = [
  'Day',
  'Alerts',
  'Events',
  'Acknowledged',
  'Median time to acknowledge',
  'Resolved',
  'Median time to resolve',
];

/** The last 30 days: alerts by day, the noisiest and the flapping ones. */
export function serveAnalyticsPages(
  pages: FastifyInstance,
  frame: ProjectFrame,
  { analytics }: Pick<AlertDomain, 'analytics'>,
  clock: Clock,
): void {
  pages.get('/projects/:id/analytics', async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Reporter');
    const project = Number(visit.membership.project.id);
    const own = analytics.as(visit.store);
    const now = clock.now();
    const range = { from: now - DAYS * DAY_MS, until: now + 1 };
    const [days, noisy, flapping] = await Promise.all([
      own.byDay(project, range),
      own.noisiest(project, range, ROWS),
      own.flapping(project, range, 3, ROWS),
    ]);
    const sum = (of: 'alerts' | 'events' | 'resolved') => days.reduce((total, day) => total + day[of], 0);
    const body = html`<h1>Analytics</h1><p class="lead">Alerts of the last ${DAYS} days, by the UTC day on which they were first seen.</p>
<div class="tiles"><div class="tile"><strong>${sum('alerts')}</strong><span>Alerts</span></div><div class="tile"><strong>${sum('events')}</strong><span>Events</span></div><div class="tile"><strong>${sum('resolved')}</strong><span>Resolved</span></div></div>
${charts(days, range)}
<h2>Alerts by day</h2>${table({
      caption: 'Alerts by day',
      head: DAY_HEAD,
      rows: [...days]
        .reverse()
        .map((day) => [
          html`${day.date}`,
          html`${day.alerts}`,
          html`${day.events}`,
          html`${day.acknowledged}`,
          html`${duration(day.median_seconds_to_acknowledge)}`,
          html`${day.resolved}`,
          html`${duration(day.median_seconds_to_resolve)}`,
        ]),
      empty: 'No alerts',
      numbers: DAY_HEAD.slice(1),
    })}
<div class="columns even"><div><h2>Noisiest alerts</h2>${table({
      caption: 'Noisiest alerts',
      head: ['Alert', 'Events', 'Last seen'],
      rows: noisy.map(({ title, events, last_iid, last_seen_ms }) => [
        html`<a href="/projects/${project}/alerts/${last_iid}">${title}</a>`,
        bar(events, noisy[0]?.events ?? 0),
        ago(last_seen_ms, now),
      ]),
      empty: 'No alerts with a fingerprint',
    })}</div><div><h2>Flapping alerts</h2>${table({
      caption: 'Flapping alerts',
      head: ['Alert', 'Occurrences', 'Median duration'],
      rows: flapping.map(({ title, alerts, last_iid, median_seconds_open }) => [
        html`<a href="/projects/${project}/alerts/${last_iid}">${title}</a>`,
        html`${alerts}`,
        html`${duration(median_seconds_open)}`,
      ]),
      empty: 'No alert occurred three times',
      numbers: ['Occurrences', 'Median duration'],
    })}</div></div>`;
    return frame.send(request, reply, visit, { tab: 'analytics', title: 'Analytics', body });
  });
}

/** A chart for each number, side by side: in one, equal lines would hide each other. */
function charts(days: readonly AlertDay[], { from, until }: TimeRange): Html {
  const byDate = new Map(days.map((day) => [day.date, day]));
  const dates = datesBetween(from, until);
  // A day without alerts has a count of zero, but no median.
  const counts = (of: (day: AlertDay) => number) =>
    days.length === 0 ? [] : dates.map((date) => ({ date, value: numberOf(byDate.get(date), of) ?? 0 }));
  const medians = (of: (day: AlertDay) => number | null) =>
    dates.map((date) => ({ date, value: numberOf(byDate.get(date), of) }));
  const drawn: readonly DayChart[] = [
    { title: 'Alerts', colour: 0, unit: 'count', days: counts(({ alerts }) => alerts), empty: 'No alerts' },
    { title: 'Events', colour: 1, unit: 'count', days: counts(({ events }) => events), empty: 'No alerts' },
    {
      title: 'Median time to acknowledge',
      colour: 3,
      unit: 'seconds',
      days: medians((day) => day.median_seconds_to_acknowledge),
      empty: 'No acknowledged alerts',
    },
    {
      title: 'Median time to resolve',
      colour: 2,
      unit: 'seconds',
      days: medians((day) => day.median_seconds_to_resolve),
      empty: 'No resolved alerts',
    },
  ];
  return html`<div class="columns even charts">${drawn.map(dayChart)}</div>`;
}

const numberOf = <T>(day: AlertDay | undefined, of: (day: AlertDay) => T): T | null =>
  day === undefined ? null : of(day);

function datesBetween(from: number, until: number): string[] {
  const first = Math.floor(from / DAY_MS);
  const last = Math.floor((until - 1) / DAY_MS);
  return Array.from({ length: last - first + 1 }, (_, i) => isoDay((first + i) * DAY_MS));
}

/** A number with a bar whose length is relative to the largest number. */
function bar(value: number, largest: number): Html {
  const width = scaleLinear([0, largest], [0, 100])(value);
  return html`<span class="bar"><svg class="line-0" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${width.toFixed(1)}" height="8" rx="1"/></svg>${value}</span>`;
}

const duration = (seconds: number | null): string => (seconds === null ? '–' : durationText(seconds));
