/**
 * A slow and simple reference of grouping that shares no code with the product. It supports the payloads that the
 * tests send: generic ones with a fingerprint, and bodies of the Prometheus format whose items have one.
 */

export interface ReferenceEvent {
  readonly at: number;
  readonly integration: string;
  readonly idempotencyKey: string;
  /** Text of the body; '' for an action. */
  readonly body: string;
  readonly action?: { readonly iid: number; readonly status: string };
}

export interface ReferenceAlert {
  iid: number;
  fingerprint: string;
  title: string;
  severity: string;
  match_labels: Readonly<Record<string, string>>;
  status: string;
  events: number;
  started_ms: number;
  /** As the source named it. */
  readonly source_started_ms: number;
  created_ms: number;
  seen_ms: number;
  ended_ms: number;
  acknowledged_ms: number;
}

export interface ReferenceWindows {
  readonly retryMs: number;
  readonly namedMs: number;
}

interface Occurrence {
  readonly fingerprint: string;
  readonly title: string;
  readonly severity: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly effect: string;
  /** 0 when the source names none. */
  readonly start: number;
  readonly end: number;
  readonly retryKey: string;
  readonly windowMs: number;
}

interface Item {
  readonly fingerprint: string;
  readonly status: string;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** As the rules of `STATE_RULES` read the field `state`. */
const EFFECTS: Readonly<Record<string, string>> = {
  ok: 'resolve',
  seen: 'acknowledge',
  starting: 'ignore',
  bad: 'fire',
};

const ORDER = ['critical', 'high', 'medium', 'low', 'info', 'unknown'];

export function replay(events: readonly ReferenceEvent[], windows: ReferenceWindows): ReferenceAlert[] {
  const alerts: ReferenceAlert[] = [];
  /** By retry key: when it was counted last, and whether that was a resolve without an alert. */
  const counted = new Map<string, { at: number; foundNone: boolean }>();
  for (const event of events) {
    if (event.action) {
      applyAction(alerts, event.action, event.at);
      continue;
    }
    for (const one of occurrencesOf(event, windows)) {
      if (one.effect === 'ignore') continue;
      const before = counted.get(one.retryKey);
      const comesAgain = before !== undefined && Math.abs(event.at - before.at) < one.windowMs;
      if (comesAgain && !(before.foundNone && beganAt(openOf(alerts, one.fingerprint), one.start))) continue;
      const isOfSome = applyOccurrence(alerts, one, event.at);
      if (one.retryKey === '') continue;
      counted.set(one.retryKey, { at: Math.max(event.at, before?.at ?? 0), foundNone: !isOfSome });
    }
  }
  return alerts;
}

const openOf = (alerts: readonly ReferenceAlert[], wanted: string) =>
  alerts.findLast(({ fingerprint, status }) => fingerprint === wanted && status !== 'resolved');

/** Whether an alert began at the time that a source names; a source that names none names no alert. */
const beganAt = (open: ReferenceAlert | undefined, start: number): boolean =>
  start !== 0 && open?.source_started_ms === start;

/** Whether there is an alert that it is of. */
function applyOccurrence(alerts: ReferenceAlert[], one: Occurrence, at: number): boolean {
  const open = openOf(alerts, one.fingerprint);
  if (one.effect === 'acknowledge') {
    if (open?.status === 'triggered')
      Object.assign(open, { status: 'acknowledged', acknowledged_ms: open.acknowledged_ms || at });
    return open !== undefined;
  }
  if (one.effect === 'resolve') {
    if (open) Object.assign(open, { status: 'resolved', ended_ms: Math.max(open.started_ms, one.end || at) });
    return open !== undefined;
  }
  if (open) {
    open.events += 1;
    open.title = one.title;
    open.match_labels = one.labels;
    open.seen_ms = Math.max(open.seen_ms, at);
    if (ORDER.indexOf(one.severity) < ORDER.indexOf(open.severity)) open.severity = one.severity;
    return true;
  }
  alerts.push({
    iid: alerts.length + 1,
    fingerprint: one.fingerprint,
    title: one.title,
    severity: one.severity,
    match_labels: one.labels,
    status: 'triggered',
    events: 1,
    source_started_ms: one.start,
    started_ms: one.start === 0 || one.start > at + 300_000 ? at : one.start,
    created_ms: at,
    seen_ms: at,
    ended_ms: 0,
    acknowledged_ms: 0,
  });
  return true;
}

function applyAction(
  alerts: ReferenceAlert[],
  { iid, status }: { iid: number; status: string },
  at: number,
): void {
  const alert = alerts.find((one) => one.iid === iid);
  if (!alert) return;
  const other = alerts.findLast(
    (one) => one.iid !== iid && one.fingerprint === alert.fingerprint && one.status !== 'resolved',
  );
  if (alert.status === 'resolved' && status !== 'resolved') {
    if (other) return;
    alert.ended_ms = 0;
  }
  if (alert.status !== 'resolved' && status === 'resolved') alert.ended_ms = Math.max(at, alert.started_ms);
  if (status === 'acknowledged' && alert.acknowledged_ms === 0) alert.acknowledged_ms = at;
  alert.status = status;
}

function occurrencesOf(event: ReferenceEvent, windows: ReferenceWindows): Occurrence[] {
  const body = JSON.parse(event.body);
  const named =
    event.idempotencyKey === '' ? '' : `${event.integration} ${event.idempotencyKey} ${event.body}`;
  if (!Array.isArray(body.alerts)) {
    return [
      {
        fingerprint: `generic ${body.fingerprint}`,
        title: body.title,
        severity: body.severity ?? 'critical',
        labels: body,
        effect: EFFECTS[body.state] ?? (body.end_time === undefined ? 'fire' : 'resolve'),
        start: 0,
        end: body.end_time === undefined ? 0 : Date.parse(body.end_time),
        retryKey: named,
        windowMs: windows.namedMs,
      },
    ];
  }
  const severities: Record<string, string> = { page: 'high', warning: 'low', s1: 'critical' };
  return body.alerts.map((item: Item, i: number): Occurrence => {
    const { fingerprint, status, startsAt, endsAt, labels } = item;
    return {
      fingerprint: `${event.integration} ${fingerprint}`,
      title: labels.alertname ?? '',
      severity: severities[labels.severity ?? ''] ?? 'critical',
      labels,
      effect: status === 'resolved' ? 'resolve' : 'fire',
      start: Date.parse(startsAt),
      end: status === 'resolved' && !endsAt.startsWith('0001') ? Date.parse(endsAt) : 0,
      retryKey:
        named === ''
          ? JSON.stringify([event.integration, body.groupKey, fingerprint, status, startsAt])
          : `${named} ${i}`,
      windowMs: named === '' ? windows.retryMs : windows.namedMs,
    };
  });
}
