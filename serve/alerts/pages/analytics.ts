import type { FastifyInstance } from 'fastify';
import { DAY_MS, isoDay } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import { sparkline } from '../../console/charts/plot.ts';
import { formatShort } from '../../console/model/format.ts';
import { table } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { AlertDay, TimeRange } from '../projects/alert-analytics.ts';
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
    const own = analytics.withStore(visit.store);
    const now = clock.now();
    const range = { from: now - DAYS * DAY_MS, until: now + 1 };
    const [days, noisy, flapping] = await Promise.all([
      own.byDay(project, range),
      own.noisiest(project, range, ROWS),
      own.flapping(project, range, 3, ROWS),
    ]);
    const body = html`<h1>Analytics</h1><p class="lead">Alerts of the last ${DAYS} days, by the UTC day on which they were first seen.</p>
${tiles(days, range)}
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
    return frame.send(reply, visit, { tab: 'analytics', title: 'Analytics', body });
  });
}

/** Totals and newest medians, each with a line by day. A day without alerts counts as zero and has no median. */
function tiles(days: readonly AlertDay[], { from, until }: TimeRange): Html {
  const byDate = new Map(days.map((day) => [day.date, day]));
  const dates = datesBetween(from, until);
  const count = (label: string, field: 'alerts' | 'events' | 'resolved') =>
    tile(
      label,
      days.reduce((total, day) => total + day[field], 0).toLocaleString('en-US'),
      dates.map((date) => byDate.get(date)?.[field] ?? 0),
    );
  const median = (label: string, field: 'median_seconds_to_acknowledge' | 'median_seconds_to_resolve') =>
    tile(
      `${label}, newest day`,
      duration(days.findLast((day) => day[field] !== null)?.[field] ?? null),
      dates.map((date) => byDate.get(date)?.[field] ?? null),
    );
  return html`<div class="tiles">${count('Alerts', 'alerts')}${count('Events', 'events')}${count('Resolved', 'resolved')}${median('Median time to acknowledge', 'median_seconds_to_acknowledge')}${median('Median time to resolve', 'median_seconds_to_resolve')}</div>`;
}

const tile = (label: string, value: string, days: readonly (number | null)[]): Html =>
  html`<div class="tile"><span>${label}</span><strong>${value}</strong>${sparkline(days)}</div>`;

function datesBetween(from: number, until: number): string[] {
  const first = Math.floor(from / DAY_MS);
  const last = Math.floor((until - 1) / DAY_MS);
  return Array.from({ length: last - first + 1 }, (_, i) => isoDay((first + i) * DAY_MS));
}

/** A number with a bar relative to the largest number. */
function bar(value: number, largest: number): Html {
  const width = (100 * value) / Math.max(1, largest);
  return html`<span class="bar"><svg class="line-0" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${width.toFixed(1)}" height="8" rx="1"/></svg>${value}</span>`;
}

const duration = (seconds: number | null): string => formatShort(seconds, 'seconds');
