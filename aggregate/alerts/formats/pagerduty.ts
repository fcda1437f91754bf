import { type AlertItem, DEFAULT_TITLE, type Severity } from '../model/alert.ts';
import type { PayloadLimits } from './generic.ts';
import { TEXT_LIMITS } from './limits.ts';
import { genericLabels } from './sender-labels.ts';
import { prometheusSeverity } from './severity.ts';
import {
  isObject,
  type JsonObject,
  lineOf,
  ownProperty,
  sha256,
  textOf,
  timeOf,
  truncate,
} from './values.ts';

const DEDUP_KEY_CHARACTERS_MAX = 255;
const REQUIRED = ['summary', 'source', 'severity'] as const;

const EFFECTS = new Map<string, AlertItem['effect']>([
  ['trigger', 'fire'],
  ['acknowledge', 'acknowledge'],
  ['resolve', 'resolve'],
]);

/** Severities whose meaning differs from Prometheus's. */
const SEVERITIES = new Map<string, Severity>([
  ['error', 'high'],
  ['warning', 'medium'],
]);

/** Reads an event of PagerDuty's Events API v2, or returns the reason for refusing it. */
export function readPagerduty(
  event: JsonObject,
  integration: string,
  limits: PayloadLimits,
): { readonly item: Omit<AlertItem, 'retryKey'> } | { readonly refused: string } {
  const effect = EFFECTS.get(textOf(ownProperty(event, 'event_action')));
  const dedupKey = textOf(ownProperty(event, 'dedup_key'));
  const sent = ownProperty(event, 'payload');
  const payload = isObject(sent) ? sent : {};
  const refused = faultOf(effect, dedupKey, payload);
  if (effect === undefined || refused !== null) return { refused: refused ?? '' };
  const details = ownProperty(payload, 'custom_details');
  const atMs = timeOf(ownProperty(payload, 'timestamp')) ?? 0;
  return {
    item: {
      effect,
      fingerprint: dedupKey === '' ? '' : sha256(`pagerduty\n${integration}\n${dedupKey}`),
      title: lineOf(ownProperty(payload, 'summary'), limits.titleCharacters) || DEFAULT_TITLE,
      description: truncate(
        textOf(isObject(details) ? ownProperty(details, 'description') : details),
        limits.descriptionCharacters,
      ),
      severity: severityOf(ownProperty(payload, 'severity')),
      service: lineOf(ownProperty(payload, 'component'), TEXT_LIMITS.service),
      tool: lineOf(ownProperty(event, 'client'), TEXT_LIMITS.tool),
      hosts: [lineOf(ownProperty(payload, 'source'), TEXT_LIMITS.hosts)].filter((host) => host !== ''),
      environment: '',
      query: '',
      runbook: '',
      yLabel: '',
      incidentMarkdown: '',
      labels: [],
      ...genericLabels(payload, isObject(details) ? details : {}),
      startedMs: effect === 'resolve' ? 0 : atMs,
      endedMs: effect === 'resolve' ? atMs : 0,
    },
  };
}

function faultOf(effect: AlertItem['effect'] | undefined, dedupKey: string, payload: unknown): string | null {
  if (effect === undefined) return 'event_action: expected trigger, acknowledge or resolve';
  if (dedupKey.length > DEDUP_KEY_CHARACTERS_MAX)
    return `dedup_key: expected at most ${DEDUP_KEY_CHARACTERS_MAX} characters`;
  if (effect !== 'fire') return dedupKey === '' ? `dedup_key: required to ${effect}` : null;
  const missing = REQUIRED.filter((name) => textOf(ownProperty(payload, name)) === '');
  return missing.length === 0 ? null : `${missing.map((name) => `payload.${name}`).join(', ')}: required`;
}

function severityOf(value: unknown): Severity {
  return SEVERITIES.get(textOf(value).trim().toLowerCase()) ?? prometheusSeverity(value);
}

/**
 * Removes the secret `routing_key`. Adds a `dedup_key` to a trigger without one: the answer contains this key, and a
 * replay must use the same one.
 */
export function storedEvent({ routing_key: _, ...event }: JsonObject, newDedupKey: () => string) {
  const sent = textOf(ownProperty(event, 'dedup_key'));
  const dedupKey = sent === '' && ownProperty(event, 'event_action') === 'trigger' ? newDedupKey() : sent;
  return { dedupKey, body: Buffer.from(JSON.stringify({ ...event, dedup_key: dedupKey })) };
}
