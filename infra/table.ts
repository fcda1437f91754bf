import { DATABASE, type NamedTable, type Sql } from './sql.ts';

/** A table definition: the only place that names the columns and their types. */
export interface Table extends NamedTable {
  readonly columns: Readonly<Record<string, string>>;
  readonly engine: string;
  readonly orderBy: readonly string[];
  /** Partition key expression. */
  readonly partitionBy?: string;
  /** Clauses of the column list that are not columns, such as skip indexes. */
  readonly indexes: readonly string[];
  /** Settings of this table, beside those of all tables. */
  readonly settings: readonly string[];
  /** TTL expression, after which a row is deleted. */
  readonly ttl?: string;
  readonly doc: string;
  /** Text of the computation of a derived table. If it changes, the table is recreated. */
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
  partitionBy?: string;
  indexes?: readonly string[];
  settings?: readonly string[];
  ttl?: string;
  recipe?: string;
}): Table & { readonly columns: C } {
  return { indexes: [], settings: [], ...definition };
}

/** A landing table stores no rows; materialized views process the inserted rows. */
export function landingTable<const C extends Record<string, string>>(definition: {
  name: string;
  doc: string;
  columns: C;
}): Table & { readonly columns: C } {
  return { ...definition, engine: 'Null', orderBy: [], indexes: [], settings: [] };
}

/** A materialized view transforms rows that are inserted into `from` into rows of `to`. */
export function view(name: string, from: NamedTable, to: Table, select: Sql): View {
  return { name, from, to, select };
}

export function createTable(table: Table, settings: readonly string[] = []): string {
  const body = [
    ...Object.entries(table.columns).map(([name, type]) => `  ${name} ${type}`),
    ...table.indexes.map((index) => `  ${index}`),
  ].join(',\n');
  const order = table.engine === 'Null' ? '' : `\nORDER BY (${table.orderBy.join(', ')})`;
  const partition = table.partitionBy === undefined ? '' : `\nPARTITION BY ${table.partitionBy}`;
  const ttl = table.ttl === undefined ? '' : `\nTTL ${table.ttl}`;
  const all = [...table.settings, ...settings];
  const tuned = all.length > 0 && table.engine !== 'Null' ? `\nSETTINGS ${all.join(', ')}` : '';
  return `CREATE TABLE IF NOT EXISTS ${DATABASE}.${table.name} (\n${body}\n) ENGINE = ${table.engine}${partition}${order}${ttl}${tuned}`;
}

/** `SYNC` removes the data before it returns, so that a table of the same name can be created. */
export const dropTable = ({ name }: NamedTable): string => `DROP TABLE IF EXISTS ${DATABASE}.${name} SYNC`;

/** The definition of a view; schema fingerprints use it. */
export const createView = (view: View): string => createViewOf(view, '');

/** Lists the columns of the target table. Without them the engine analyses the SELECT, which takes twice the time. */
export function createViewWithColumns(view: View): string {
  const columns = Object.entries(view.to.columns).map(([name, type]) => `${name} ${bareType(type)}`);
  return createViewOf(view, ` (${columns.join(', ')})`);
}

const createViewOf = ({ name, to, select }: View, columns: string) =>
  `CREATE MATERIALIZED VIEW IF NOT EXISTS ${DATABASE}.${name} TO ${DATABASE}.${to.name}${columns} AS ${select.text}`;

/** The type without CODEC, DEFAULT and MATERIALIZED. */
export const bareType = (type: string): string => type.replace(/ (CODEC|DEFAULT|MATERIALIZED).*$/, '');
