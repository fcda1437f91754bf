import { type AlertItem, DEFAULT_TITLE } from '../model/alert.ts';
import type { PayloadLimits } from './generic.ts';
import { TEXT_LIMITS } from './limits.ts';
import { prometheusLabels } from './sender-labels.ts';
import { prometheusSeverity } from './severity.ts';
import { shownLabels } from './shown-labels.ts';
import {
  canonicalJson,
  epochOf,
  firstText,
  isObject,
  isYearOne,
  type JsonObject,
  lineOf,
  ownProperty,
  sha256,
  textOf,
  timeOf,
  truncate,
  visible,
} from './values.ts';

const REQUIRED = [
  'alerts',
  'commonAnnotations',
  'commonLabels',
  'externalURL',
  'groupKey',
  'groupLabels',
  'receiver',
  'status',
  'version',
] as const;

/** Tools by the version of the format that they send. */
const TOOLS: Readonly<Record<string, string>> = { '4': 'Prometheus', '1': 'Grafana' };

/** Required attributes that a body lacks; empty if it is in the Prometheus format. */
export function missingAttributes(body: JsonObject): string[] {
  const missing: string[] = REQUIRED.filter((name) => !Object.hasOwn(body, name));
  if (!missing.includes('alerts') && !Array.isArray(body.alerts)) missing.push('alerts (a list)');
  if (!missing.includes('version') && !Object.hasOwn(TOOLS, String(body.version))) {
    missing.push('version (4 or 1)');
  }
  return missing;
}

interface ReadItem {
  readonly item?: AlertItem;
  readonly refused?: string;
}

/**
 * Reads the items of a body in the Prometheus format. An item without a required field does not affect the others.
 * `retryKeyOf` returns the retry key of an item by its index and the key that is derived from its content.
 */
export function readPrometheus(
  body: JsonObject,
  integration: string,
  limits: PayloadLimits,
  retryKeyOf: (index: number, derived: string) => string,
): ReadItem[] {
  const tool = TOOLS[String(body.version)] ?? '';
  const group = sha256(textOf(body.groupKey)).slice(0, 16);
  const delivery = { tool, group, integration, limits, retryKeyOf };
  return (body.alerts as unknown[]).map((item, index) => readItem(item, index, delivery));
}

interface DeliveryContext {
  readonly tool: string;
  readonly group: string;
  readonly integration: string;
  readonly limits: PayloadLimits;
  readonly retryKeyOf: (index: number, derived: string) => string;
}

/** An item without its times. */
type Content = Omit<AlertItem, 'retryKey' | 'startedMs' | 'endedMs' | 'hasUnreadEnd'>;

const NO_TITLE = 'title: annotations/title, annotations/summary or labels/alertname is required';

function readItem(item: unknown, index: number, delivery: DeliveryContext): ReadItem {
  if (!isObject(item)) return { refused: 'expected an object' };
  const content = contentOf(item, delivery);
  if (content === null) return { refused: NO_TITLE };
  const starts = ownProperty(item, 'startsAt');
  const startedMs = timeOf(starts);
  if (typeof starts !== 'string' || (startedMs === null && !/^0001-/.test(starts))) {
    return { refused: 'startsAt: a date-time is required' };
  }
  const { fingerprint } = content;
  const resolves = content.effect === 'resolve';
  const ends = ownProperty(item, 'endsAt');
  const endedMs = resolves ? (timeOf(ends) ?? epochOf(ends)) : null;
  // With a template literal V8 would keep all four parts in memory until the retry window ends.
  const derived = [delivery.group, fingerprint, resolves ? 'resolved' : 'firing', startedMs ?? 0].join('|');
  return {
    item: {
      ...content,
      retryKey: delivery.retryKeyOf(index, derived),
      startedMs: startedMs ?? 0,
      endedMs: endedMs ?? 0,
      hasUnreadEnd: resolves && endedMs === null && textOf(ends) !== '' && !isYearOne(ends),
    },
  };
}

/** Reads an item without its times; null if it has no title. */
function contentOf(item: JsonObject, { tool, integration, limits }: DeliveryContext): Content | null {
  const annotations = ownProperty(item, 'annotations');
  const labels = ownProperty(item, 'labels');
  const title = firstText(
    ownProperty(annotations, 'title'),
    ownProperty(annotations, 'summary'),
    ownProperty(labels, 'alertname'),
  );
  if (title === '') return null;
  return {
    effect: textOf(ownProperty(item, 'status')).toLowerCase() === 'resolved' ? 'resolve' : 'fire',
    fingerprint: fingerprintOf(textOf(ownProperty(item, 'fingerprint')), labels, title, integration),
    title: lineOf(title, limits.titleCharacters) || DEFAULT_TITLE,
    description: truncate(textOf(ownProperty(annotations, 'description')), limits.descriptionCharacters),
    severity: prometheusSeverity(ownProperty(labels, 'severity')),
    service: '',
    tool,
    hosts: [],
    environment: lineOf(ownProperty(labels, 'platform_environment_name'), TEXT_LIMITS.environment),
    query: queryOf(firstText(ownProperty(item, 'generatorURL'), ownProperty(item, 'generatorUrl'))),
    runbook: lineOf(
      firstText(ownProperty(annotations, 'runbook'), ownProperty(annotations, 'runbook_url')),
      TEXT_LIMITS.runbook,
    ),
    yLabel: lineOf(firstText(ownProperty(annotations, 'platform_y_label'), title), limits.titleCharacters),
    incidentMarkdown: truncate(
      textOf(ownProperty(annotations, 'platform_incident_markdown')),
      limits.markdownCharacters,
    ),
    labels: labelsOf(labels),
    ...prometheusLabels(labels),
  };
}

/** The labels that are not fields of the alert. */
function labelsOf(labels: unknown): string[] {
  if (!isObject(labels)) return [];
  const { severity: _severity, platform_environment_name: _environment, ...others } = labels;
  return shownLabels(others);
}

const SHORT_HASH = /^[0-9a-f]{16}$/;

/** Includes the integration, because targets of two Prometheus servers may have the same labels. */
function fingerprintOf(sent: string, labels: unknown, title: string, integration: string): string {
  if (SHORT_HASH.test(sent)) return `${integration}:${sent}`;
  if (sent !== '') return sha256(`prometheus\n${integration}\n${sent}`);
  const named =
    isObject(labels) && Object.keys(labels).length > 0 ? canonicalJson(labels) : `title\n${title}`;
  return sha256(`labels\n${integration}\n${named}`);
}

const queryOf = (url: string): string =>
  truncate(visible(URL.parse(url)?.searchParams.get('g0.expr') ?? ''), TEXT_LIMITS.query);
