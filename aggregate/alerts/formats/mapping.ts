import type { Path } from '../model/mapping.ts';
import { isObject } from './values.ts';

/** The value at a path; undefined if the payload has none. */
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
  /** As the page shows it: `a/b[0]/c`. */
  readonly label: string;
  readonly type: 'string' | 'datetime' | 'array' | 'number';
}

const FIELDS_MAX = 500;

/** The fields of a sample payload that can be mapped: strings, numbers, lists, and those that are null in it. */
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
  // Another payload may have a string there.
  if (value === null) return 'string';
  if (typeof value !== 'string') return null;
  return /^\d{4}-\d{2}-\d{2}/.test(value) ? 'datetime' : 'string';
}

export function labelOf(path: Path): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `/${step}`))
    .join('');
}
