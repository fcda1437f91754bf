import { chunkBySize } from './chunk.ts';

/**
 * ClickHouse SQL as a tagged template. Tables and fragments are interpolated unchanged, names through `ident`, and all
 * other values as escaped literals, so that a value never becomes syntax. A statement collects the tables that it
 * reads: they are the dependencies of a metric.
 */
export class Sql {
  readonly text: string;
  readonly tables: ReadonlySet<string>;

  constructor(text: string, tables: Iterable<string> = []) {
    this.text = text;
    this.tables = new Set(tables);
  }
}

export type SqlValue = string | number | bigint | boolean | null | readonly SqlValue[];
export interface NamedTable {
  readonly name: string;
}

/**
 * The database name in all statements; the distributed store replaces it with CLICKHOUSE_DATABASE. Its engine is Atomic,
 * since the default database of chDB lacks features.
 */
export const DATABASE = 'chain_metrics';

export function sql(strings: TemplateStringsArray, ...parts: (Sql | NamedTable | SqlValue)[]): Sql {
  const tables = new Set<string>();
  let text = strings[0] ?? '';
  parts.forEach((part, i) => {
    if (part instanceof Sql) {
      for (const table of part.tables) tables.add(table);
      text += part.text;
    } else if (isTable(part)) {
      tables.add(part.name);
      text += `${DATABASE}.${ident(part.name).text}`;
    } else {
      text += literal(part);
    }
    text += strings[i + 1] ?? '';
  });
  return new Sql(text, tables);
}

/** A column or table name, written unchanged; other text throws. */
export function ident(name: string): Sql {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`not a name: ${name}`);
  return new Sql(name);
}

export function join(parts: readonly Sql[], separator = ', '): Sql {
  return new Sql(
    parts.map((part) => part.text).join(separator),
    parts.flatMap((part) => [...part.tables]),
  );
}

/** SQL from this code base, never from input. */
export function raw(text: string): Sql {
  return new Sql(text);
}

export function literal(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'bigint') return signed(value.toString());
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Error('only finite numbers can be written as SQL');
    return signed(String(value));
  }
  if (typeof value === 'string') {
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')}'`;
  }
  return `[${value.map(literal).join(', ')}]`;
}

/** Half of the 256 KiB that a statement may have in ClickHouse (`max_query_size`). */
const LIST_BYTES_MAX = 2 ** 17;

/** Splits a list into chunks that are short enough for the `IN` of one statement. */
export const chunkForIn = <Value extends SqlValue>(values: Iterable<Value>): Generator<Value[]> =>
  chunkBySize(values, LIST_BYTES_MAX, (value) => Buffer.byteLength(literal(value)) + 2);

/** Two minus signs in a row would start a comment. */
const signed = (digits: string) => (digits.startsWith('-') ? `(${digits})` : digits);

function isTable(part: Sql | NamedTable | SqlValue): part is NamedTable {
  return typeof part === 'object' && part !== null && !Array.isArray(part) && 'name' in part;
}
