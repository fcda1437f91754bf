import { DATABASE, type NamedTable, type Sql } from './sql.ts';

/** A declared table: its definition is the only place that names its columns and types. */
export interface Table extends NamedTable {
  readonly columns: Readonly<Record<string, string>>;
  readonly engine: string;
  readonly orderBy: readonly string[];
  /** Extra clauses inside the parentheses, such as skip indexes. */
  readonly indexes: readonly string[];
  /** Settings of its own, beside those that every table gets. */
  readonly settings: readonly string[];
  /** When a row is forgotten: an expression that gives a time. */
  readonly ttl?: string;
  readonly doc: string;
  /** The name that earlier versions stored it under. */
  readonly renamedFrom?: string;
  /** Columns that earlier versions stored under another name, by their present one. */
  readonly renamedColumns?: Readonly<Record<string, string>>;
  /** What a derived table is computed by: when it changes, the table is made anew. */
  readonly recipe?: string;
}

export interface View extends NamedTable {
  readonly from: NamedTable;
  readonly to: Table;
  readonly select: Sql;
}

export function table<const C extends Record<string, string>>(definition: {
  name: string;
  doc: string;
  columns: C;
  engine: string;
  orderBy: readonly (keyof C & string)[];
  indexes?: readonly string[];
  settings?: readonly string[];
  ttl?: string;
  recipe?: string;
  renamedFrom?: string;
  renamedColumns?: Readonly<Record<string, string>>;
}): Table & { readonly columns: C } {
  return { indexes: [], settings: [], ...definition };
}

/** A table that keeps nothing: what is inserted flows through the views that read it. */
export function landingTable<const C extends Record<string, string>>(definition: {
  name: string;
  doc: string;
  columns: C;
}): Table & { readonly columns: C } {
  return { ...definition, engine: 'Null', orderBy: [], indexes: [], settings: [] };
}

/** A materialized view: every block that is inserted into `from` is turned into rows of `to`. */
export function view(name: string, from: NamedTable, to: Table, select: Sql): View {
  return { name, from, to, select };
}

export function createTable(table: Table, settings: readonly string[] = []): string {
  const body = [
    ...Object.entries(table.columns).map(([name, type]) => `  ${name} ${type}`),
    ...table.indexes.map((index) => `  ${index}`),
  ].join(',\n');
  const order = table.engine === 'Null' ? '' : `\nORDER BY (${table.orderBy.join(', ')})`;
  const ttl = table.ttl === undefined ? '' : `\nTTL ${table.ttl}`;
  const all = [...table.settings, ...settings];
  const tuned = all.length > 0 && table.engine !== 'Null' ? `\nSETTINGS ${all.join(', ')}` : '';
  return `CREATE TABLE IF NOT EXISTS ${DATABASE}.${table.name} (\n${body}\n) ENGINE = ${table.engine}${order}${ttl}${tuned}`;
}

export function createView(view: View): string {
  return `CREATE MATERIALIZED VIEW IF NOT EXISTS ${DATABASE}.${view.name} TO ${DATABASE}.${view.to.name} AS ${view.select.text}`;
}
