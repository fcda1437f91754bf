import { alerts } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Store } from '../../../infra/ports.ts';
import { join, raw, sql } from '../../../infra/sql.ts';

export interface TimeRange {
  /** Milliseconds since the epoch; `until` is exclusive. */
  readonly from: number;
  readonly until: number;
}

export interface AlertDay {
  readonly date: string;
  readonly alerts: number;
  readonly events: number;
  readonly acknowledged: number;
  readonly resolved: number;
  /** Means and medians in seconds; null if there is none. */
  readonly mean_seconds_to_acknowledge: number | null;
  readonly median_seconds_to_acknowledge: number | null;
  readonly mean_seconds_to_resolve: number | null;
  readonly median_seconds_to_resolve: number | null;
}

export interface NoisyAlert {
  readonly title: string;
  readonly fingerprint: string;
  readonly alerts: number;
  readonly events: number;
  readonly last_seen_ms: number;
  readonly last_iid: number;
}

interface FlappingAlert extends NoisyAlert {
  /** Median time from the start of an alert to its end; null while none has ended. */
  readonly median_seconds_open: number | null;
}

/** Seconds from `created_ms` to a later time; never negative, although clocks of sources differ. */
const seconds = (later: string) => `greatest(0, (${later} - created_ms) / 1000)`;
const orNull = (aggregate: string, later: string) =>
  `if(countIf(${later} > 0) = 0, NULL, round(${aggregate}(${seconds(later)}, ${later} > 0), 3))`;

const within = (project: number, { from, until }: TimeRange) =>
  join([sql`project = ${project}`, sql`created_ms >= ${from}`, sql`created_ms < ${until}`], ' AND ');

/** Statistics of the alerts of a project. A time range selects alerts by when they were first seen. */
export class AlertAnalytics {
  readonly #store: Pick<Store, 'rows'>;
  readonly #pipeline: AlertPipeline;

  constructor({ store, pipeline }: { store: Pick<Store, 'rows'>; pipeline: AlertPipeline }) {
    this.#store = store;
    this.#pipeline = pipeline;
  }

  /** Runs the queries within the limits of a caller. */
  withStore(store: Pick<Store, 'rows'>): AlertAnalytics {
    return new AlertAnalytics({ store, pipeline: this.#pipeline });
  }

  /** Statistics by the UTC day on which the alerts were first seen; days without alerts are absent. */
  async byDay(project: number, range: TimeRange): Promise<AlertDay[]> {
    await this.#pipeline.waitUntilWritten();
    const columns = [
      'toString(toDate(fromUnixTimestamp64Milli(created_ms))) AS date',
      'count() AS alerts',
      'sum(alerts.events) AS events',
      'countIf(acknowledged_ms > 0) AS acknowledged',
      'countIf(ended_ms > 0) AS resolved',
      `${orNull('avgIf', 'acknowledged_ms')} AS mean_seconds_to_acknowledge`,
      `${orNull('medianExactIf', 'acknowledged_ms')} AS median_seconds_to_acknowledge`,
      `${orNull('avgIf', 'ended_ms')} AS mean_seconds_to_resolve`,
      `${orNull('medianExactIf', 'ended_ms')} AS median_seconds_to_resolve`,
    ].join(', ');
    return this.#store.rows<AlertDay>(
      sql`SELECT ${raw(columns)} FROM ${alerts} FINAL WHERE ${within(project, range)} GROUP BY date ORDER BY date`,
    );
  }

  /** The fingerprints with the most events. */
  async noisiest(project: number, range: TimeRange, limit: number): Promise<NoisyAlert[]> {
    await this.#pipeline.waitUntilWritten();
    return this.#store.rows<NoisyAlert>(
      sql`SELECT argMax(alerts.title, iid) AS title, fingerprint, count() AS alerts, sum(alerts.events) AS events,
          max(seen_ms) AS last_seen_ms, max(iid) AS last_iid
        FROM ${alerts} FINAL WHERE ${within(project, range)} AND fingerprint != ''
        GROUP BY fingerprint ORDER BY events DESC, last_iid LIMIT ${limit}`,
    );
  }

  /** The fingerprints with the most alerts, of those with at least `alertsMin`. */
  async flapping(
    project: number,
    range: TimeRange,
    alertsMin: number,
    limit: number,
  ): Promise<FlappingAlert[]> {
    await this.#pipeline.waitUntilWritten();
    return this.#store.rows<FlappingAlert>(
      sql`SELECT argMax(alerts.title, iid) AS title, fingerprint, count() AS alerts, sum(alerts.events) AS events,
          max(seen_ms) AS last_seen_ms, max(iid) AS last_iid,
          ${raw(orNull('medianExactIf', 'ended_ms'))} AS median_seconds_open
        FROM ${alerts} FINAL WHERE ${within(project, range)} AND fingerprint != ''
        GROUP BY fingerprint HAVING alerts >= ${alertsMin} ORDER BY alerts DESC, last_iid LIMIT ${limit}`,
    );
  }
}
