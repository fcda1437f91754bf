import { get, isObject, type JsonObject } from './values.ts';

const LABELS_MAX = 64;
const NAME_CHARACTERS_MAX = 128;
const VALUE_CHARACTERS_MAX = 1024;
/** Of all names and values together. */
const BYTES_MAX = 16 * 1024;

type Candidates = Iterable<readonly [name: string, value: unknown]>;

interface MatchedLabels {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly hasCutLabels: boolean;
}

/**
 * The labels of a generic payload: those of its rules, those of the object `labels` or `tags`, and its other texts,
 * numbers and booleans.
 */
export function genericLabels(payload: JsonObject, ruled: JsonObject): MatchedLabels {
  const [list] = [get(payload, 'labels'), get(payload, 'tags')].filter(isObject);
  const others = sorted(payload).filter(([, value]) => typeof value !== 'object');
  return matchLabels([...sorted(ruled), ...sorted(list), ...others]);
}

/** The labels of an item of the Prometheus format. */
export const prometheusLabels = (labels: unknown): MatchedLabels => matchLabels(sorted(labels));

/** In the order of the names, so that the same labels fit however a sender orders them. */
function sorted(object: unknown): [string, unknown][] {
  if (!isObject(object)) return [];
  return Object.keys(object)
    .sort()
    .map((name) => [name, object[name]]);
}

/** The candidates within the limits, the first of a name. One that is too long is left out: a part of it is another value. */
function matchLabels(candidates: Candidates): MatchedLabels {
  const taken = new Map<string, string>();
  let bytes = 0;
  let hasCutLabels = false;
  for (const [name, value] of candidates) {
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
  // Defines own properties, also for the name `__proto__`.
  return { matchLabels: Object.fromEntries(taken), hasCutLabels };
}

/** A text unchanged, another value as JSON; '' for a missing one, which a matcher takes for an absent label. */
function labelValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);
}

/** A character has one or two units. */
const isWithin = (text: string, charactersMax: number): boolean =>
  text.length <= charactersMax ||
  (text.length <= 2 * charactersMax && Array.from(text).length <= charactersMax);
