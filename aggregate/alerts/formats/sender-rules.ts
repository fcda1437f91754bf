import type { ItemEffect, Severity } from '../model/alert.ts';
import type { Path } from '../model/mapping.ts';
import type { RuledField, SenderRules } from '../model/sender-rules.ts';
import { valueAt } from './mapping.ts';
import { type JsonObject, textOf, textsOf } from './values.ts';

// Applies the rules of an integration to a payload. No function throws.

/** Normalizes a value for rules. Numbers and booleans are as in JSON. */
const wordOf = (value: unknown): string => textOf(value).trim().toLowerCase();

const isAmong = (word: string, words: readonly string[]): boolean =>
  words.some((other) => wordOf(other) === word);

/** The effect of a payload. Null if the payload has no status; then its end time decides. */
export function effectByRule(payload: JsonObject, { status }: SenderRules): ItemEffect | null {
  const word = status === undefined ? '' : wordOf(valueAt(payload, status.path));
  if (status === undefined || word === '') return null;
  if (isAmong(word, status.resolved)) return 'resolve';
  if (isAmong(word, status.acknowledged)) return 'acknowledge';
  return isAmong(word, status.ignored) ? 'ignore' : 'fire';
}

/** The values of the first alternative that has no blank value; [] if there is none. */
export function fingerprintByRule(payload: JsonObject, { fingerprint = [] }: SenderRules): string[][] {
  for (const paths of fingerprint) {
    const texts = paths.map((path) => textsOf(valueAt(payload, path)));
    if (texts.every((list) => list.length > 0)) return texts;
  }
  return [];
}

/** Null if there is no rule for the severity. */
export function severityByRule(payload: JsonObject, { severity }: SenderRules): Severity | null {
  if (severity === undefined) return null;
  const word = wordOf(valueAt(payload, severity.path));
  const found = Object.entries(severity.words).find(([name]) => wordOf(name) === word);
  return found?.[1] ?? severity.otherwise;
}

/** The first value of a field that is not blank. */
export const fieldByRule = (payload: JsonObject, { fields = {} }: SenderRules, name: RuledField): unknown =>
  (fields[name] ?? []).map((path) => valueAt(payload, path)).find((value) => textsOf(value).length > 0);

export const labelsByRule = (payload: JsonObject, { labels = {} }: SenderRules): JsonObject =>
  Object.fromEntries(Object.entries(labels).map(([name, path]) => [name, valueAt(payload, path)]));

/** Paths to values that differ between occurrences of one problem. */
export const varyingPaths = ({ status, fields = {} }: SenderRules): Path[] => [
  ...(status === undefined ? [] : [status.path]),
  ...(fields.start_time ?? []),
  ...(fields.end_time ?? []),
  ...(fields.hosts ?? []),
];
