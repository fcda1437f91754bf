/**
 * ClickHouse SQL as a tagged template. What is interpolated decides how it is written: tables and other
 * fragments as they are, names through `ident`, everything else as an escaped literal, so a value can never
 * become syntax. The tables that a statement reads are collected on the way: dependencies are the SQL.
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

/** The database that owns every table; an Atomic one, since the engine's default database lacks features. */
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

/** A column or table name, written as it is; anything else is refused. */
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

/** SQL from another definition of this code base, never from input. */
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

/** A minus right behind another one would open a comment. */
const signed = (digits: string) => (digits.startsWith('-') ? `(${digits})` : digits);

function isTable(part: Sql | NamedTable | SqlValue): part is NamedTable {
  return typeof part === 'object' && part !== null && !Array.isArray(part) && 'name' in part;
}
