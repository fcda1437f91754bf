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
      help: 'Attempts to send page notifications, by type of destination and result: accepted, failed (to be retried), refused (or given up).',
      labelNames: ['channel', 'result'],
      registers: [],
    }),
    pageLateness: new Histogram({
      name: 'chain_metrics_page_lateness_seconds',
      help: 'Seconds from the due time of a notification to its acceptance, including waits for bundling. Kinds: first step, later step, status update.',
      labelNames: ['kind'],
      buckets: [0.5, 1, 2, 5, 15, 60, 120, 300, 900, 3600, 14_400],
      registers: [],
    }),
    unreachedSteps: new Counter({
      name: 'chain_metrics_page_steps_unreached_total',
      help: 'Steps of pages that reached nobody, by reason: no recipients, refused by every destination, or not accepted in time.',
      labelNames: ['reason'],
      registers: [],
    }),
    unroutedAlerts: new Counter({
      name: 'chain_metrics_alerts_unrouted_total',
      help: 'New alerts that page nobody because no route chooses a policy, in projects with policies.',
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
  for (const notification of results) {
    metrics.pageNotifications.inc({ channel, result: RESULTS_BY_STATE[notification.state] ?? 'failed' });
    if (notification.state === 'sent')
      metrics.pageLateness.observe(
        { kind: kindOf(notification) },
        (notification.sent_ms - notification.due_ms) / 1000,
      );
  }
}

/** A notification in state `failed` was refused or given up. After a failed attempt it is `pending` again. */
const RESULTS_BY_STATE: Readonly<Record<string, (typeof RESULTS)[number]>> = {
  sent: 'accepted',
  failed: 'refused',
};

function kindOf({ kind, round, cycle, step }: PageNotification): string {
  if (kind !== 'triggered') return 'status';
  return round === 1 && cycle === 1 && step === 1 ? 'first' : 'step';
}

/** A page notification of kind `triggered`. */
type Call = Awaited<ReturnType<PageStore['callsOf']>>[number];

/** Counts a finished step that reached nobody. `PageSteps` counts steps without recipients. */
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
