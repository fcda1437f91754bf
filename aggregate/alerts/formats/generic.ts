import { type AlertItem, DEFAULT_TITLE } from '../model/alert.ts';
import type { MappedField, Mapping } from '../model/mapping.ts';
import type { ParsingRules } from '../model/rules.ts';
import { TEXT_LIMITS } from './limits.ts';
import { valueAt } from './mapping.ts';
import { genericLabels } from './match-labels.ts';
import { genericSeverity } from './severity.ts';
import {
  canonical,
  cut,
  epochOf,
  get,
  isYearOne,
  type JsonObject,
  lineOf,
  sha256,
  textOf,
  textsOf,
  timeOf,
} from './values.ts';

export type PayloadLimits = Omit<ParsingRules, 'depth'>;

interface GenericRules extends PayloadLimits {
  readonly mapping: Mapping | null;
  /** Whether payloads without a fingerprint are grouped by their content. */
  readonly groupsByPayload: boolean;
}

/** Occurrences of one problem may differ in their times and hosts. */
const NOT_COMPARED = new Set(['start_time', 'end_time', 'hosts']);

/** Properties that the fields are read from when they are not mapped, or when the mapped value is blank. */
const NAMES: Readonly<Record<MappedField, string>> = {
  title: 'title',
  description: 'description',
  start_time: 'start_time',
  end_time: 'end_time',
  service: 'service',
  monitoring_tool: 'monitoring_tool',
  hosts: 'hosts',
  severity: 'severity',
  fingerprint: 'fingerprint',
  environment: 'platform_environment_name',
};

/** Reads a generic payload as an alert; every field has a default, so any object is one. */
export function readGeneric(payload: JsonObject, rules: GenericRules): Omit<AlertItem, 'retryKey'> {
  const { mapping } = rules;
  const field = (name: MappedField): unknown => {
    const path = mapping?.[name];
    const mapped = path === undefined ? undefined : valueAt(payload, path);
    return isBlank(mapped) ? get(payload, NAMES[name]) : mapped;
  };
  const start = field('start_time');
  const startedMs = timeOf(start) ?? (mapping?.start_time === undefined ? null : epochOf(start));
  const end = field('end_time');
  const endedMs = timeOf(end) ?? epochOf(end);
  const resolves = !isBlank(end) && !isYearOne(end);
  return {
    effect: resolves ? 'resolve' : 'fire',
    hasUnreadEnd: resolves && endedMs === null,
    fingerprint: fingerprintOf(payload, field('fingerprint'), rules),
    title: lineOf(field('title'), rules.titleCharacters) || DEFAULT_TITLE,
    description: cut(textOf(field('description')), rules.descriptionCharacters),
    severity: genericSeverity(field('severity')),
    service: lineOf(field('service'), TEXT_LIMITS.service),
    tool: lineOf(field('monitoring_tool'), TEXT_LIMITS.tool),
    hosts: hostsOf(field('hosts')),
    environment: lineOf(field('environment'), TEXT_LIMITS.environment),
    query: '',
    runbook: lineOf(get(payload, 'runbook'), TEXT_LIMITS.runbook),
    yLabel: '',
    incidentMarkdown: '',
    labels: [],
    ...genericLabels(payload),
    startedMs: startedMs ?? 0,
    endedMs: endedMs ?? 0,
  };
}

const isBlank = (value: unknown) => textsOf(value).length === 0;

/** The hosts that fit into the limit; the stored payload has all of them. */
function hostsOf(value: unknown): string[] {
  const hosts: string[] = [];
  let characters = 0;
  for (const text of textsOf(value)) {
    const left = TEXT_LIMITS.hosts - characters;
    if (left < 4) break;
    const host = lineOf(text, left);
    if (host === '') continue;
    hosts.push(host);
    characters += host.length + 2;
  }
  return hosts;
}

/** The given fingerprint, or else a hash of the payload without its times and hosts. */
function fingerprintOf(payload: JsonObject, given: unknown, rules: GenericRules): string {
  const texts = textsOf(given);
  // The separator keeps different lists from being joined to the same string.
  if (texts.length > 0) return sha256(`given\n${texts.join('\0')}`);
  if (!rules.groupsByPayload) return '';
  const paths = [rules.mapping?.start_time, rules.mapping?.end_time, rules.mapping?.hosts];
  const mapped = paths.filter((path) => path !== undefined && path.length > 0);
  const compared = mapped.reduce((rest: unknown, path) => without(rest, path as never), payload);
  return sha256(`payload\n${canonical(compared, NOT_COMPARED)}`);
}

/** A copy without the value at a path. */
function without(value: unknown, [step, ...rest]: readonly (string | number)[]): unknown {
  if (typeof value !== 'object' || value === null || step === undefined || !Object.hasOwn(value, step)) {
    return value;
  }
  const entries = Object.entries(value).flatMap(([name, item]): [string, unknown][] => {
    if (name !== String(step)) return [[name, item]];
    return rest.length === 0 ? [] : [[name, without(item, rest)]];
  });
  return Object.fromEntries(entries);
}
