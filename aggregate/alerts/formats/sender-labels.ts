import { isObject, type JsonObject, ownProperty } from './values.ts';

const LABELS_MAX = 64;
const NAME_CHARACTERS_MAX = 128;
const VALUE_CHARACTERS_MAX = 1024;
/** Limit of all names and values together. */
const BYTES_MAX = 16 * 1024;
/** Most bytes that a UTF-16 code unit takes in UTF-8. */
const UNIT_BYTES_MAX = 3;

type Candidates = readonly (readonly [name: string, value: unknown])[];

interface SenderLabels {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly hasCutLabels: boolean;
}

/**
 * The labels of a generic payload: those of the rules, those in the object `labels` or `tags`, and all other strings,
 * numbers and booleans.
 */
export function genericLabels(payload: JsonObject, ruled: JsonObject): SenderLabels {
  const [list = {}] = [ownProperty(payload, 'labels'), ownProperty(payload, 'tags')].filter(isObject);
  const others = Object.entries(payload).filter(([, value]) => typeof value !== 'object');
  return limitLabels([Object.entries(ruled), Object.entries(list), others]);
}

/** The labels of an item of the Prometheus format. */
export const prometheusLabels = (labels: unknown): SenderLabels =>
  limitLabels([isObject(labels) ? Object.entries(labels) : []]);

/** Takes the first candidate of each name. Labels beyond the limits are rare, so they take a slower path. */
function limitLabels(groups: readonly Candidates[]): SenderLabels {
  const taken = new Map<string, string>();
  let units = 0;
  for (const group of groups) {
    for (const [name, value] of group) {
      const text = labelValue(value);
      if (text === '' || taken.has(name)) continue;
      if (name.length > NAME_CHARACTERS_MAX || text.length > VALUE_CHARACTERS_MAX) return cutLabels(groups);
      taken.set(name.toWellFormed(), text);
      units += name.length + text.length;
    }
  }
  if (taken.size > LABELS_MAX || units * UNIT_BYTES_MAX > BYTES_MAX) return cutLabels(groups);
  // `Object.fromEntries` makes own properties, even for the name `__proto__`.
  return { matchLabels: Object.fromEntries(taken), hasCutLabels: false };
}

/**
 * Takes candidates within the limits, sorted by name, so that the order in a payload does not matter. Drops a label that
 * is too long, because a truncated value would be another value.
 */
function cutLabels(groups: readonly Candidates[]): SenderLabels {
  const taken = new Map<string, string>();
  let bytes = 0;
  let hasCutLabels = false;
  for (const [name, value] of groups.flatMap((group) => group.toSorted(byName))) {
    const text = labelValue(value);
    if (text === '' || taken.has(name)) continue;
    const size = Buffer.byteLength(name) + Buffer.byteLength(text);
    const isShort = isWithin(name, NAME_CHARACTERS_MAX) && isWithin(text, VALUE_CHARACTERS_MAX);
    if (!isShort || taken.size === LABELS_MAX || bytes + size > BYTES_MAX) {
      hasCutLabels = true;
      continue;
    }
    taken.set(name.toWellFormed(), text);
    bytes += size;
  }
  return { matchLabels: Object.fromEntries(taken), hasCutLabels };
}

const byName = ([a]: Candidates[number], [b]: Candidates[number]): number => (a < b ? -1 : 1);

/** Texts stay unchanged, other values become JSON. A missing value is '', like an absent label. */
function labelValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);
}

/** A character has one or two UTF-16 code units. */
const isWithin = (text: string, charactersMax: number): boolean =>
  text.length <= charactersMax ||
  (text.length <= 2 * charactersMax && Array.from(text).length <= charactersMax);
