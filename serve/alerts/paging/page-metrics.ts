import { Counter, Histogram } from 'prom-client';
import { DESTINATION_TYPES, type DestinationType } from '../messages/destination.ts';
import type { Advance, AlertPage } from './escalation.ts';
import type { PageNotification } from './page-reader.ts';
import type { PageStore } from './page-store.ts';

const RESULTS = ['accepted', 'failed', 'refused'] as const;
const UNREACHED_REASONS = ['nobody', 'refused', 'not_accepted'] as const;

/** Metrics of paging in this process. */
export const createPageMetrics = () => {
  const metrics = {
    pageNotifications: new Counter({
      name: 'chain_metrics_page_notifications_total',
      help: 'Attempts to notify of pages, by type of destination and result: accepted; failed, to be tried again; refused, or given up.',
      labelNames: ['channel', 'result'],
      registers: [],
    }),
    pageLateness: new Histogram({
      name: 'chain_metrics_page_lateness_seconds',
      help: 'Seconds from the time at which a notification was due to its acceptance, waits to be bundled included: of first steps, of later steps, and of status updates.',
      labelNames: ['kind'],
      buckets: [0.5, 1, 2, 5, 15, 60, 120, 300, 900, 3600, 14_400],
      registers: [],
    }),
    unreachedSteps: new Counter({
      name: 'chain_metrics_page_steps_unreached_total',
      help: 'Steps of pages that reached nobody: their targets gave nobody, every destination refused, or none accepted in time.',
      labelNames: ['reason'],
      registers: [],
    }),
    unroutedAlerts: new Counter({
      name: 'chain_metrics_alerts_unrouted_total',
      help: 'New alerts that page nobody, since no route gives a policy although their project has some.',
      registers: [],
    }),
  };
  for (const channel of DESTINATION_TYPES)
    for (const result of RESULTS) metrics.pageNotifications.inc({ channel, result }, 0);
  for (const reason of UNREACHED_REASONS) metrics.unreachedSteps.inc({ reason }, 0);
  for (const kind of ['first', 'step', 'status']) metrics.pageLateness.zero({ kind });
  return metrics;
};

export type PageMetrics = ReturnType<typeof createPageMetrics>;

/** Counts the results of an attempt. */
export function countAttempt(
  metrics: PageMetrics,
  channel: DestinationType,
  results: readonly PageNotification[],
): void {
  for (const one of results) {
    metrics.pageNotifications.inc({ channel, result: RESULT_OF[one.state] ?? 'failed' });
    if (one.state === 'sent')
      metrics.pageLateness.observe({ kind: kindOf(one) }, (one.sent_ms - one.due_ms) / 1000);
  }
}

const RESULT_OF: Readonly<Record<string, (typeof RESULTS)[number]>> = { sent: 'accepted', failed: 'refused' };

function kindOf({ kind, round, cycle, step }: PageNotification): string {
  if (kind !== 'triggered') return 'status';
  return round === 1 && cycle === 1 && step === 1 ? 'first' : 'step';
}

type Call = Awaited<ReturnType<PageStore['callsOf']>>[number];

/** Counts a step that the page leaves without having reached anybody. `PageSteps` counts steps without recipients. */
export function countUnreached(
  metrics: PageMetrics,
  page: AlertPage,
  { page: next }: Advance,
  calls: readonly Call[],
): void {
  const isOver = next.state !== page.state || next.step_ms !== page.step_ms;
  const own = calls.filter(
    ({ round, cycle, step }) => round === page.round && cycle === page.cycle && step === page.step,
  );
  if (page.state !== 'triggered' || !isOver || own.length === 0) return;
  if (own.some(({ state }) => state === 'sent')) return;
  const isRefused = own.every(({ state }) => state === 'failed');
  metrics.unreachedSteps.inc({ reason: isRefused ? 'refused' : 'not_accepted' });
}
