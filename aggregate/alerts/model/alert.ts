/** From the most severe to the least. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info', 'unknown'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const ALERT_STATUSES = ['triggered', 'acknowledged', 'resolved', 'ignored'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/**
 * The result of an item of a delivery, or of an action. `raised`: a repeat raised the severity. `acknowledged`: an item
 * acknowledged a triggered alert. `heartbeat`: an item proves that its source works. `unmatched`: an item found no open
 * alert to resolve or acknowledge.
 */
export const OUTCOMES = [
  'created',
  'grouped',
  'raised',
  'resolved',
  'acknowledged',
  'ignored',
  'heartbeat',
  'retried',
  'unmatched',
  'changed',
  'unchanged',
  'refused',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The effect of an item on the open alert with its fingerprint. `ignore` and `heartbeat` leave the alert unchanged. */
export type ItemEffect = 'fire' | 'resolve' | 'acknowledge' | 'ignore' | 'heartbeat';

/** One alert of a delivery. Times are milliseconds since the epoch; 0 and '' mean none. */
export interface AlertItem {
  readonly effect: ItemEffect;
  /** Occurrences of a project with the same fingerprint are grouped. '' is never grouped. */
  readonly fingerprint: string;
  /** Equal for a delivery and its retries; '' if retries cannot be recognized. */
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
  /** As `name=value`, in the order of the names. */
  readonly labels: readonly string[];
  /** The sender's labels, unchanged, for matchers. A name may be `__proto__`: read own properties only. */
  readonly matchLabels: Readonly<Record<string, string>>;
  /** Whether labels are missing in `matchLabels`, because they exceed the limits. */
  readonly hasCutLabels: boolean;
  /** 0: the time of acceptance. */
  readonly startedMs: number;
  /** 0: the time of acceptance, for an item that resolves. */
  readonly endedMs: number;
  /** Whether the source sent an end that cannot be parsed. */
  readonly hasUnreadEnd?: boolean;
}

/** An alert of a project after the event at `position`: a row of the table `alerts`. */
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
  /** As `name=value`. */
  readonly labels: readonly string[];
  /** As in the newest delivery, see `AlertItem.matchLabels`. */
  readonly match_labels: Readonly<Record<string, string>>;
  readonly has_cut_labels: boolean;
  readonly started_ms: number;
  /** The start that the source sent, even far in the future; 0 if it sent none. */
  readonly source_started_ms: number;
  readonly ended_ms: number;
  readonly events: number;
  readonly created_ms: number;
  /** When the newest occurrence was accepted. */
  readonly seen_ms: number;
  readonly updated_ms: number;
  /** When it was first acknowledged. */
  readonly acknowledged_ms: number;
  readonly assignees: readonly string[];
  /** Number of its incident; 0 means none. */
  readonly incident: number;
  /** Position of the event that created it, and index of the item. */
  readonly created_position: number;
  readonly created_item: number;
  /** Position of the newest event that changed it. */
  readonly position: number;
}

/** Title of an alert without one. */
export const DEFAULT_TITLE = 'New: Alert';

export const isOpen = (alert: Alert): boolean => alert.status !== 'resolved';

/** The more severe of two. */
export function moreSevere(a: Severity, b: Severity): Severity {
  return SEVERITIES.indexOf(a) <= SEVERITIES.indexOf(b) ? a : b;
}

/** Size of an alert without its texts, in memory and as a row. */
const ALERT_BYTES = 1000;

/** Estimates the size of an alert. */
export function alertBytes(alert: Alert): number {
  const { title, description, service, tool, environment, query, runbook, y_label, incident_markdown } =
    alert;
  const texts = [title, description, service, tool, environment, query, runbook, y_label, incident_markdown];
  const lists = [
    alert.hosts,
    alert.labels,
    alert.assignees,
    Object.keys(alert.match_labels),
    Object.values(alert.match_labels),
  ];
  return (
    ALERT_BYTES +
    texts.reduce((sum, text) => sum + text.length, 0) +
    lists.reduce((sum, list) => sum + list.reduce((total, text) => total + text.length + 30, 0), 0)
  );
}

/**
 * Removes the texts of the sender, except the fingerprint. Sets `has_cut_labels`: otherwise a silence for alerts that lack
 * a label would match, although the sender had set the label.
 */
export const withoutTexts = (alert: Alert): Alert => ({
  ...alert,
  title: `Alert ${alert.iid}`,
  description: '',
  service: '',
  tool: '',
  hosts: [],
  environment: '',
  query: '',
  runbook: '',
  y_label: '',
  incident_markdown: '',
  labels: [],
  match_labels: {},
  has_cut_labels: true,
});
