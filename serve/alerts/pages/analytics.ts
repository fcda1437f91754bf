import type { FastifyInstance } from 'fastify';
import { table } from '../../console/fields.ts';
import { html } from '../../console/html.ts';
import { alertsByDay, flapping, noisiest } from '../analytics.ts';
import type { Desk } from '../desk.ts';
import { ago, sendProjectPage, visitOf } from './frame.ts';

const DAYS = 30;
const ROWS = 10;

/** The last 30 days: by day, what is noisiest, what comes back. */
export function serveAnalyticsPages(pages: FastifyInstance, desk: Desk): void {
  pages.get('/projects/:id/analytics', async (request, reply) => {
    const visit = await visitOf(desk, request, reply, 'Reporter');
    const project = Number(visit.membership.project.id);
    const now = desk.accounts.clock.now();
    const range = { from: now - DAYS * 86_400_000, until: now + 1 };
    const [days, noisy, coming] = await Promise.all([
      alertsByDay(desk, project, range),
      noisiest(desk, project, range, ROWS),
      flapping(desk, project, range, 3, ROWS),
    ]);
    const sum = (of: 'alerts' | 'events' | 'resolved') => days.reduce((total, day) => total + day[of], 0);
    const body = html`<h1>Analytics</h1><p class="lead">The last ${DAYS} days, by UTC day on which alerts were first seen.</p>
<div class="tiles"><div class="tile"><strong>${sum('alerts')}</strong><span>alerts</span></div><div class="tile"><strong>${sum('events')}</strong><span>events</span></div><div class="tile"><strong>${sum('resolved')}</strong><span>resolved</span></div></div>
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
        html`${events}`,
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
    return sendProjectPage(desk, request, reply, visit, { tab: 'analytics', title: 'Analytics', body });
  });
}

function duration(seconds: number | null): string {
  if (seconds === null) return '–';
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
