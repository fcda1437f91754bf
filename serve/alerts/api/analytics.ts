import { z } from 'zod';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { NoisyAlert, TimeRange } from '../projects/alert-analytics.ts';
import { timeText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const DAYS_DEFAULT = 30;

const range = z.object({
  start_date: z.iso.date().optional().describe('first UTC day; default: 30 days before the last'),
  end_date: z.iso.date().optional().describe('last UTC day; default: today'),
});

const noisyShape = z.object({
  title: z.string(),
  fingerprint: z.string(),
  alerts: z.int(),
  events: z.int(),
  last_iid: z.int(),
  last_seen_at: z.iso.datetime(),
});
const noisyJson = <Row extends NoisyAlert>({ last_seen_ms, ...rest }: Row) => ({
  ...rest,
  last_seen_at: timeText(last_seen_ms),
});

const number = z.number().nullable();
const dayShape = z.object({
  date: z.iso.date(),
  alerts: z.int(),
  events: z.int(),
  acknowledged: z.int(),
  resolved: z.int(),
  mean_seconds_to_acknowledge: number,
  median_seconds_to_acknowledge: number,
  mean_seconds_to_resolve: number,
  median_seconds_to_resolve: number,
});
const most = wholeNumber(1, 100).default(20);

/** Statistics of the alerts of a project. */
export function serveAnalytics(api: Api, { analytics }: Pick<AlertDomain, 'analytics'>, clock: Clock): void {
  const tag = 'Alerts' as const;
  const role = 'Reporter' as const;
  const rangeOf = ({ start_date, end_date }: z.output<typeof range>): TimeRange => {
    const until = (end_date === undefined ? clock.now() : Date.parse(end_date) + DAY_MS - 1) + 1;
    if (start_date !== undefined && end_date !== undefined && start_date > end_date) {
      throw new RequestRefused('bad_request', 'end_date is before start_date', 'end_date');
    }
    return { from: start_date === undefined ? until - DAYS_DEFAULT * DAY_MS : Date.parse(start_date), until };
  };
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/analytics/alerts_by_day',
      tag,
      summary: 'Count alerts by day, with the seconds to acknowledge and to resolve them',
      role,
      query: range,
      answer: z.array(dayShape),
    },
    async ({ membership, query, store }) =>
      analytics.withStore(store).byDay(Number(membership.project.id), rangeOf(query)),
  );
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/analytics/noisiest_alerts',
      tag,
      summary: 'List the alerts with the most events',
      role,
      query: range.extend({ limit: most }),
      answer: z.array(noisyShape),
    },
    async ({ membership, query, store }) => {
      const project = Number(membership.project.id);
      return (await analytics.withStore(store).noisiest(project, rangeOf(query), query.limit)).map(noisyJson);
    },
  );
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/analytics/flapping_alerts',
      tag,
      summary: 'List the alerts that recur most often',
      role,
      query: range.extend({
        limit: most,
        least: z.coerce
          .number()
          .int()
          .min(2)
          .max(1000)
          .default(3)
          .describe('minimum number of alerts with the same fingerprint'),
      }),
      answer: z.array(noisyShape.extend({ median_seconds_open: number })),
    },
    async ({ membership, query, store }) => {
      const project = Number(membership.project.id);
      const found = await analytics
        .withStore(store)
        .flapping(project, rangeOf(query), query.least, query.limit);
      return found.map(noisyJson);
    },
  );
}
