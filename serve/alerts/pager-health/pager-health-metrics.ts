import { Gauge } from 'prom-client';
import { OPEN_PAGE_STATES, UNEXPIRED_SILENCE_STATES } from './page-figures.ts';
import { COVERAGES } from './schedule-figures.ts';

/** Metrics of the pager: stored state of all projects, and the mail server as this process sees it. */
export const createPagerHealthMetrics = () => {
  const metrics = {
    pages: new Gauge({
      name: 'chain_metrics_pages',
      help: 'Open pages of all projects, by state.',
      labelNames: ['state'],
      registers: [],
    }),
    oldestDue: new Gauge({
      name: 'chain_metrics_page_oldest_due_seconds',
      help: 'Seconds since the oldest overdue step or message became due; 0 if none is due. Excludes messages that wait for bundling or for a failing destination.',
      registers: [],
    }),
    oncallSchedules: new Gauge({
      name: 'chain_metrics_oncall_schedules',
      help: 'Schedules that an escalation policy uses, by coverage: covered for a day, with a gap within a day, or with nobody on call now.',
      labelNames: ['coverage'],
      registers: [],
    }),
    silences: new Gauge({
      name: 'chain_metrics_silences',
      help: 'Silences of all projects that have not expired, by state.',
      labelNames: ['state'],
      registers: [],
    }),
    smtpUp: new Gauge({
      name: 'chain_metrics_smtp_up',
      help: '1 if the mail server accepted the connection and sign-in at the last check, else 0. Absent without SMTP_URL.',
      registers: [],
    }),
    timeZones: new Gauge({
      name: 'chain_metrics_time_zone_database_info',
      help: 'Version of the time zone database that this process computes shifts with; the value is 1.',
      labelNames: ['version'],
      registers: [],
    }),
  };
  for (const state of OPEN_PAGE_STATES) metrics.pages.set({ state }, 0);
  for (const state of UNEXPIRED_SILENCE_STATES) metrics.silences.set({ state }, 0);
  for (const coverage of COVERAGES) metrics.oncallSchedules.set({ coverage }, 0);
  metrics.smtpUp.remove();
  metrics.timeZones.set({ version: process.versions.tz ?? 'unknown' }, 1);
  return metrics;
};

export type PagerHealthMetrics = ReturnType<typeof createPagerHealthMetrics>;
