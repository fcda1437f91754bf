import { type AlertItem, DEFAULT_TITLE } from '../model/alert.ts';
import type { MappedField, Mapping } from '../model/mapping.ts';
import type { ParsingRules } from '../model/rules.ts';
import type { SenderRules } from '../model/sender-rules.ts';
import { TEXT_LIMITS } from './limits.ts';
import { valueAt } from './mapping.ts';
import { genericLabels } from './sender-labels.ts';
import {
  effectByRule,
  fieldByRule,
  fingerprintByRule,
  labelsByRule,
  severityByRule,
  varyingPaths,
} from './sender-rules.ts';
import { genericSeverity } from './severity.ts';
import { shownLabels } from './shown-labels.ts';
import {
  canonicalJson,
  epochOf,
  firstText,
  isYearOne,
  type JsonObject,
  lineOf,
  ownProperty,
  sha256,
  textOf,
  textsOf,
  timeOf,
  truncate,
} from './values.ts';

export type PayloadLimits = Omit<ParsingRules, 'depth'>;

export interface GenericRules extends PayloadLimits {
  readonly mapping: Mapping | null;
  readonly senderRules: SenderRules;
  readonly integration: string;
  /** CloudEvents attributes. They become labels and part of the fingerprint of the content. */
  readonly envelope: JsonObject;
  /** Whether payloads without a fingerprint are grouped by their content. */
  readonly groupsByPayload: boolean;
}

/** Properties outside the fingerprint, because they differ between occurrences of one problem. */
const NOT_COMPARED = new Set(['start_time', 'end_time', 'hosts']);

/** Property that each field is read from if the field is not mapped or its mapped value is blank. */
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

/** Reads a generic payload. Every field has a default, so any object is an alert. */
export function readGeneric(payload: JsonObject, rules: GenericRules): Omit<AlertItem, 'retryKey'> {
  const { mapping, senderRules } = rules;
  const field = (name: MappedField): unknown => {
    const path = mapping?.[name];
    const mapped = path === undefined ? undefined : valueAt(payload, path);
    if (!isBlank(mapped)) return mapped;
    const ruled =
      name === 'severity' || name === 'fingerprint' ? undefined : fieldByRule(payload, senderRules, name);
    return ruled ?? ownProperty(payload, NAMES[name]);
  };
  const start = field('start_time');
  const end = field('end_time');
  const endedMs = timeOf(end) ?? epochOf(end);
  const hasEnd = !isBlank(end) && !isYearOne(end);
  const effect = effectByRule(payload, senderRules) ?? (hasEnd ? 'resolve' : 'fire');
  const labels = { ...rules.envelope, ...labelsByRule(payload, senderRules) };
  return {
    effect,
    hasUnreadEnd: effect === 'resolve' && hasEnd && endedMs === null,
    fingerprint: fingerprintOf(payload, field('fingerprint'), rules),
    title: lineOf(field('title'), rules.titleCharacters) || DEFAULT_TITLE,
    description: truncate(textOf(field('description')), rules.descriptionCharacters),
    severity: severityByRule(payload, senderRules) ?? genericSeverity(field('severity')),
    service: lineOf(field('service'), TEXT_LIMITS.service),
    tool: lineOf(firstText(field('monitoring_tool'), senderRules.tool), TEXT_LIMITS.tool),
    hosts: hostsOf(field('hosts')),
    environment: lineOf(field('environment'), TEXT_LIMITS.environment),
    query: '',
    runbook: lineOf(ownProperty(payload, 'runbook'), TEXT_LIMITS.runbook),
    yLabel: '',
    incidentMarkdown: '',
    labels: shownLabels(labels),
    ...genericLabels(payload, labels),
    startedMs: timeOf(start) ?? epochOf(start) ?? 0,
    endedMs: endedMs ?? 0,
  };
}

const isBlank = (value: unknown) => textsOf(value).length === 0;

/** The hosts within the limit. The stored payload has all of them. */
function hostsOf(value: unknown): string[] {
  const hosts: string[] = [];
  let characters = 0;
  for (const text of textsOf(value)) {
    const room = TEXT_LIMITS.hosts - characters;
    if (room < 4) break;
    const host = lineOf(text, room);
    if (host === '') continue;
    hosts.push(host);
    characters += host.length + 2;
  }
  return hosts;
}

/** Reads the fingerprint by the rules, else from the payload, else hashes the payload without the fields that vary. */
function fingerprintOf(payload: JsonObject, value: unknown, rules: GenericRules): string {
  const ruled = fingerprintByRule(payload, rules.senderRules);
  // Two servers of the same tool may use the same ids.
  if (ruled.length > 0) return sha256(`ruled\n${rules.integration}\n${JSON.stringify(ruled)}`);
  const texts = textsOf(value);
  // With the separator, different lists give different strings.
  if (texts.length > 0) return sha256(`given\n${texts.join('\0')}`);
  if (!rules.groupsByPayload) return '';
  const { start_time, end_time, hosts } = rules.mapping ?? {};
  const paths = [start_time, end_time, hosts, ...varyingPaths(rules.senderRules)];
  const mapped = paths.filter((path) => path !== undefined && path.length > 0);
  const compared = mapped.reduce((rest: unknown, path) => without(rest, path as never), payload);
  const envelope = Object.keys(rules.envelope).length === 0 ? '' : canonicalJson(rules.envelope);
  return sha256(`payload\n${envelope}${canonicalJson(compared, NOT_COMPARED)}`);
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
