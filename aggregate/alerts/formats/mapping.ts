import { isObject } from './values.ts';

/** Fields of an alert that a custom mapping can take from anywhere in a payload. */
export const MAPPED_FIELDS = [
  'title',
  'description',
  'start_time',
  'end_time',
  'service',
  'monitoring_tool',
  'hosts',
  'severity',
  'fingerprint',
  'environment',
] as const;
export type MappedField = (typeof MAPPED_FIELDS)[number];

/** Steps into a payload: names of objects and places in lists. */
export type Path = readonly (string | number)[];
export type Mapping = Readonly<Partial<Record<MappedField, Path>>>;

/** What a path leads to; undefined when it leads nowhere. */
export function valueAt(payload: unknown, path: Path): unknown {
  let value = payload;
  for (const step of path) {
    if (typeof step === 'number') value = Array.isArray(value) ? value[step] : undefined;
    else value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

export interface SampleField {
  readonly path: Path;
  /** As people read it: `a/b[0]/c`. */
  readonly label: string;
  readonly type: 'string' | 'datetime' | 'array' | 'number';
}

const FIELDS_MAX = 500;

/** What of a sample payload can be mapped: its texts, numbers and lists. */
export function fieldsOf(sample: unknown): SampleField[] {
  const found: SampleField[] = [];
  const walk = (value: unknown, path: Path): void => {
    if (found.length >= FIELDS_MAX) return;
    const type = typeOf(value);
    if (type !== null && path.length > 0) found.push({ path, label: labelOf(path), type });
    if (Array.isArray(value)) for (const [i, item] of value.slice(0, 10).entries()) walk(item, [...path, i]);
    else if (isObject(value)) for (const [name, item] of Object.entries(value)) walk(item, [...path, name]);
  };
  walk(sample, []);
  return found;
}

function typeOf(value: unknown): SampleField['type'] | null {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return 'number';
  if (typeof value !== 'string') return null;
  return /^\d{4}-\d{2}-\d{2}/.test(value) ? 'datetime' : 'string';
}

export function labelOf(path: Path): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `/${step}`))
    .join('');
}
