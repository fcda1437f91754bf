import { readFileSync, statSync } from 'node:fs';
import { type Document, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { didYouMean } from '../../infra/nearest-name.ts';

const FILE_BYTES_MAX = 1024 * 1024;
const ALIASES_MAX = 100;

type Place = readonly PropertyKey[];

/** A YAML or JSON file whose errors name the line. */
export class YamlFile {
  readonly #path: string;
  readonly #lines = new LineCounter();
  readonly #document: Document;

  /** Throws `usage` if the file cannot be read. */
  constructor(path: string) {
    this.#path = path;
    this.#document = parseDocument(textOf(path), { lineCounter: this.#lines });
    const [error] = this.#document.errors;
    if (error) {
      const [reason = ''] = reasonOf(error).split(' at line');
      throw this.#wrong(error.pos[0], `cannot be read: ${reason}`);
    }
  }

  /** Parses the content. The error for an unknown key suggests the nearest name in `keys`. */
  parse<T>(shape: z.ZodType<T>, keys: readonly string[]): T {
    // Aliases within aliases could make a small file very large.
    const content = this.atPath([], () => this.#document.toJS({ maxAliasCount: ALIASES_MAX }));
    const read = shape.safeParse(content);
    if (read.success) return read.data;
    const [issue] = read.error.issues as [z.core.$ZodIssue];
    const [key] = issue.code === 'unrecognized_keys' ? issue.keys : [];
    if (key === undefined) throw this.errorAt(issue.path, messageOf(issue));
    const near = didYouMean(
      key,
      keys.filter((known) => known !== key),
    );
    throw this.errorAt([...issue.path, key], `is an unknown key${near && `; ${near}`}`);
  }

  /** An error for a path in the file. */
  errorAt(place: Place, text: string): ProductError {
    return this.#wrong(this.#offsetOf(place), `${nameOf(place)}${text}`);
  }

  /** Calls `read`, and adds the path to an error that it throws. */
  atPath<T>(place: Place, read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw this.errorAt(place, reasonOf(error));
    }
  }

  #wrong(offset: number, text: string): ProductError {
    return new ProductError('usage', `${this.#path}:${this.#lines.linePos(offset).line || 1}: ${text}`);
  }

  /** Offset of the value, or of the nearest parent that exists. */
  #offsetOf(place: Place): number {
    for (let depth = place.length; depth > 0; depth--) {
      const node = this.#document.getIn(place.slice(0, depth), true) as { range?: number[] } | undefined;
      if (node?.range) return node.range[0] as number;
    }
    return 0;
  }
}

function textOf(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > FILE_BYTES_MAX) throw new Error(`it has more than ${FILE_BYTES_MAX} bytes`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ProductError('usage', `${path} cannot be read: ${reasonOf(error)}`);
  }
}

/** `chains[0].sources[1].url` */
function nameOf(place: Place): string {
  const parts = place.map((key, i) =>
    typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`,
  );
  return parts.length === 0 ? '' : `${parts.join('')}: `;
}

const messageOf = ({ message }: z.core.$ZodIssue): string =>
  message.endsWith('received undefined') ? 'is missing' : message;
