import { CHARACTERS_MAX } from './memo.ts';
import { isObject, textOf } from './values.ts';

/** What a source says of an alert beside its times, and all else that it is read by. */
export interface Said {
  readonly scope: string;
  readonly status: unknown;
  readonly given: unknown;
  readonly url: string;
  readonly labels: unknown;
  readonly annotations: unknown;
}

interface Known<Value> {
  readonly said: Said;
  readonly value: Value;
}

/**
 * Caches what alerts say: a source says it again and again. They are compared as they were parsed, because to write
 * them as a text that is looked up costs more than to read them; so a fingerprint with a status has one entry, and
 * what is not of strings only is read each time. The cache is cleared when it is full.
 */
export class SaidMemo<Value> {
  readonly #known = new Map<string, Known<Value>>();
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  of(said: Said, compute: () => Value): Value {
    const { status, given, labels } = said;
    const key = `${textOf(status)}|${textOf(given) || JSON.stringify(labels)}`;
    const known = this.#known.get(key);
    if (known !== undefined && isSame(known.said, said)) return known.value;
    const value = compute();
    if (key.length + charactersOf(said) > CHARACTERS_MAX) return value;
    if (this.#known.size >= this.#sizeMax) this.#known.clear();
    this.#known.set(key, { said, value });
    return value;
  }
}

const isSame = (a: Said, b: Said): boolean =>
  a.given === b.given &&
  a.status === b.status &&
  a.url === b.url &&
  a.scope === b.scope &&
  hasSameTexts(a.labels, b.labels) &&
  hasSameTexts(a.annotations, b.annotations);

/** Whether both are objects of the same strings by the same names, in any order. */
function hasSameTexts(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === b;
  let names = 0;
  for (const name in a) {
    // No property that an object inherits is a string.
    if (typeof a[name] !== 'string' || a[name] !== b[name]) return false;
    names++;
  }
  for (const _ in b) names--;
  return names === 0;
}

const charactersOf = ({ scope, status, given, url, labels, annotations }: Said): number =>
  scope.length + JSON.stringify([status, given, url, labels, annotations]).length;
