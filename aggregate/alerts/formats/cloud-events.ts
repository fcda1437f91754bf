import { type AlertItem, DEFAULT_TITLE } from '../model/alert.ts';
import { type GenericRules, readGeneric } from './generic.ts';
import { isObject, type JsonObject, lineOf, ownProperty, sha256, textOf, timeOf } from './values.ts';

/** Most events in one batch. */
export const CLOUD_EVENTS_MAX = 100;

const SPECIFICATION = '1.0';
const REQUIRED = ['id', 'source', 'type'] as const;
/** Attributes that become labels of the alert. */
const LABELS = ['source', 'subject', 'type'] as const;

interface ReadEvent {
  readonly item?: Omit<AlertItem, 'retryKey'>;
  /** Equal for an event and its retries. */
  readonly identity: string;
  readonly refused?: string;
}

/** Reads a CloudEvent. Its data is a generic payload. */
export function readCloudEvent(event: unknown, rules: Omit<GenericRules, 'envelope'>): ReadEvent {
  const payload = payloadOf(event);
  if (typeof payload === 'string') return { identity: '', refused: payload };
  const labels = LABELS.map((name): [string, unknown] => [name, ownProperty(event, name)]);
  const envelope = Object.fromEntries(labels.filter(([, value]) => textOf(value) !== ''));
  const read = readGeneric(payload, { ...rules, envelope });
  const hasTitle = read.title !== DEFAULT_TITLE;
  const item = {
    ...read,
    title: hasTitle ? read.title : lineOf(ownProperty(event, 'type'), rules.titleCharacters) || DEFAULT_TITLE,
    startedMs: read.startedMs || (timeOf(ownProperty(event, 'time')) ?? 0),
  };
  return { item, identity: identityOf(event as JsonObject) };
}

/** The data of an event, or the reason for refusing it. */
function payloadOf(event: unknown): JsonObject | string {
  if (!isObject(event)) return 'expected an object';
  if (ownProperty(event, 'specversion') !== SPECIFICATION) return `specversion: expected ${SPECIFICATION}`;
  const missing = REQUIRED.filter((name) => typeof event[name] !== 'string' || textOf(event[name]) === '');
  if (missing.length > 0) return `${missing.join(', ')}: required`;
  if (Object.hasOwn(event, 'data_base64')) return 'data_base64: send JSON in data';
  const data = ownProperty(event, 'data') ?? {};
  if (typeof data === 'string') return { description: data };
  return isObject(data) ? data : 'data: expected an object';
}

/** Includes the data, so that reusing an id by mistake drops no alert. */
const identityOf = (event: JsonObject): string =>
  sha256(JSON.stringify([event.source, event.id, ownProperty(event, 'data') ?? null]));
