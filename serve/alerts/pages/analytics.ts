import { scaleLinear } from 'd3-scale';
import type { FastifyInstance } from 'fastify';
import { table } from '../../http/pages/fields.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { chart } from '../../metrics/pages/chart.ts';
import type { Series } from '../../metrics/pages/series.ts';
import { alertsByDay, type DayOfAlerts, flapping, noisiest, type Range } from '../projects/analytics.ts';
import type { AlertServices } from '../services.ts';
import { ago, sendProjectPage, visitOf } from './frame.ts';

const DAYS = 30;
const ROWS = 10;

/** The last 30 days: by day, what is noisiest, what comes back. */
export function serveAnalyticsPages(pages: FastifyInstance, services: AlertServices): void {
  pages.get('/projects/:id/analytics', async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Reporter');
    const project = Number(visit.membership.project.id);
    const now = services.accounts.clock.now();
    const range = { from: now - DAYS * 86_400_000, until: now + 1 };
    const [days, noisy, coming] = await Promise.all([
      alertsByDay(services, project, range),
      noisiest(services, project, range, ROWS),
      flapping(services, project, range, 3, ROWS),
    ]);
    const sum = (of: 'alerts' | 'events' | 'resolved') => days.reduce((total, day) => total + day[of], 0);
    const body = html`<h1>Analytics</h1><p class="lead">The last ${DAYS} days, by UTC day on which alerts were first seen.</p>
<div class="tiles"><div class="tile"><strong>${sum('alerts')}</strong><span>alerts</span></div><div class="tile"><strong>${sum('events')}</strong><span>events</span></div><div class="tile"><strong>${sum('resolved')}</strong><span>resolved</span></div></div>
${plots(days, range)}
<h2>By day</h2>${table({
      caption: 'By day',
      head: [
        'Day',
        'Alerts',
        'Events',
        'Acknowledged',
        'Median to acknowledge',
        'Resolved',
        'Median to resolve',
      ],
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
      empty: 'No alert was seen.',
    })}
<div class="columns even"><div><h2>Noisiest</h2>${table({
      caption: 'Noisiest',
      head: ['Alert', 'Events', 'Last seen'],
      rows: noisy.map(({ title, events, last_iid, last_seen_ms }) => [
        html`<a href="/projects/${project}/alerts/${last_iid}">${title}</a>`,
        bar(events, noisy[0]?.events ?? 0),
        ago(last_seen_ms, now),
      ]),
      empty: 'Nothing makes noise.',
    })}</div><div><h2>Flapping</h2>${table({
      caption: 'Flapping',
      head: ['Alert', 'Times', 'Median open'],
      rows: coming.map(({ title, alerts, last_iid, median_seconds_open }) => [
        html`<a href="/projects/${project}/alerts/${last_iid}">${title}</a>`,
        html`${alerts}`,
        html`${duration(median_seconds_open)}`,
      ]),
      empty: 'Nothing came back three times.',
    })}</div></div>`;
    return sendProjectPage(services, request, reply, visit, { tab: 'analytics', title: 'Analytics', body });
  });
}

/** Two plots: how much there was, and how long it took. */
function plots(days: readonly DayOfAlerts[], { from, until }: Range): Html {
  const empty = html`No alert was seen.`;
  const byDate = new Map(days.map((day) => [day.date, day]));
  const dates = days.length === 0 ? [] : datesBetween(from, until);
  // A day without alerts is a day with none of them, but says nothing of how long they take.
  const counted = (name: string, of: (day: DayOfAlerts) => number): Series => ({
    name,
    points: dates.map((date) => {
      const day = byDate.get(date);
      return { at: new Date(date), value: day === undefined ? 0 : of(day) };
    }),
  });
  const taken = (name: string, of: (day: DayOfAlerts) => number | null): Series => ({
    name,
    points: days.flatMap((day) => {
      const seconds = of(day);
      return seconds === null ? [] : [{ at: new Date(day.date), value: seconds }];
    }),
  });
  return html`<section class="card"><h2>Alerts and events</h2>${chart(
    [counted('alerts', ({ alerts }) => alerts), counted('events', ({ events }) => events)],
    'Alerts and events by day',
    empty,
  )}</section>
<section class="card"><h2>Median seconds</h2>${chart(
    [
      taken('to acknowledge', (day) => day.median_seconds_to_acknowledge),
      taken('to resolve', (day) => day.median_seconds_to_resolve),
    ],
    'Median seconds to acknowledge and to resolve, by day',
    html`Nothing was acknowledged or resolved.`,
  )}</section>`;
}

const DAY_MS = 86_400_000;

function datesBetween(from: number, until: number): string[] {
  const first = Math.floor(from / DAY_MS);
  const last = Math.floor((until - 1) / DAY_MS);
  return Array.from({ length: last - first + 1 }, (_, i) =>
    new Date((first + i) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** A number with a bar behind it, as long as it is beside the largest. */
function bar(value: number, largest: number): Html {
  const width = scaleLinear([0, largest], [0, 100])(value);
  return html`<span class="bar"><svg class="line-0" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${width.toFixed(1)}" height="8" rx="1"/></svg>${value}</span>`;
}

function duration(seconds: number | null): string {
  if (seconds === null) return '–';
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
