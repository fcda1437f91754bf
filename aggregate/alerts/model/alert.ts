/** From the most severe to the least. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info', 'unknown'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const ALERT_STATUSES = ['triggered', 'acknowledged', 'resolved', 'ignored'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** What a delivery did to one of its items, or an action to its alert. */
export const OUTCOMES = [
  'created',
  'grouped',
  'resolved',
  'retried',
  'unmatched',
  'changed',
  'refused',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One alert as a monitoring tool told it. Times are milliseconds since the epoch; 0 and '' mean none. */
export interface AlertItem {
  /** Whether it says that the trouble is over. */
  readonly recovers: boolean;
  /** What groups occurrences within a project; '' is never grouped. */
  readonly fingerprint: string;
  /** Equal for deliveries that may be the same one sent again; '' when that cannot be told. */
  readonly retryKey: string;
  readonly title: string;
  readonly description: string;
  readonly severity: Severity;
  readonly service: string;
  readonly tool: string;
  readonly hosts: readonly string[];
  readonly environment: string;
  readonly query: string;
  readonly runbook: string;
  readonly yLabel: string;
  readonly incidentMarkdown: string;
  /** 0: when it was accepted. */
  readonly startedMs: number;
  /** 0: when it was accepted, for an item that recovers. */
  readonly endedMs: number;
}

/** One alert of a project as it stands after the event at `position`; the columns of its table. */
export interface Alert {
  readonly project: number;
  /** Counted from 1 in each project. */
  readonly iid: number;
  readonly fingerprint: string;
  readonly integration: string;
  readonly title: string;
  readonly description: string;
  readonly severity: Severity;
  readonly status: AlertStatus;
  readonly service: string;
  readonly tool: string;
  readonly hosts: readonly string[];
  readonly environment: string;
  readonly query: string;
  readonly runbook: string;
  readonly y_label: string;
  readonly incident_markdown: string;
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly events: number;
  readonly created_ms: number;
  /** When the newest occurrence was accepted. */
  readonly seen_ms: number;
  readonly updated_ms: number;
  /** When it was first acknowledged. */
  readonly acknowledged_ms: number;
  readonly assignees: readonly string[];
  /** Number of the incident that was made from it; 0 = none. */
  readonly incident: number;
  /** Event of the project that created it, and which of its items. */
  readonly created_position: number;
  readonly created_item: number;
  /** Newest event of the project that changed it. */
  readonly position: number;
}

export const isOpen = (alert: Alert): boolean => alert.status !== 'resolved';

/** The more severe of two. */
export function worst(a: Severity, b: Severity): Severity {
  return SEVERITIES.indexOf(a) <= SEVERITIES.indexOf(b) ? a : b;
}
