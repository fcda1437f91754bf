import { z } from 'zod';

/**
 * A column is a zod schema of the served value, plus its ClickHouse type and its rendering. The latter two are in a
 * registry, so that they do not appear in OpenAPI.
 */
interface StoreFacts {
  readonly clickhouse: string;
  /** SQL that turns the stored value into the served one; the name itself when absent. */
  readonly render?: (name: string) => string;
  /** Of a value that is stored as JSON text. */
  readonly nested?: NestedTypes;
}

export interface NestedTypes {
  /** ClickHouse type of the value in JSON. */
  readonly type: string;
  /** SQL of the value in Parquet and Arrow, where those cannot hold the type. */
  readonly columnar?: (name: string) => string;
}

/** How a format holds a nested value: as JSON, as columns of a type, or as JSON text in a cell. */
export type Shape = 'json' | 'columnar' | 'text';

const storeFacts = z.registry<StoreFacts>();

export type Column = z.ZodType;
export type Columns = Record<string, Column>;

function column<T extends z.ZodType>(schema: T, doc: string, facts: StoreFacts): T {
  const described = schema.describe(doc);
  storeFacts.add(described, facts);
  return described;
}

const nullableType = (type: string, nullable: boolean) => (nullable ? `Nullable(${type})` : type);

function optional<T extends z.ZodType>(schema: T, nullable: boolean): z.ZodType {
  return nullable ? schema.nullable() : schema;
}

interface Options {
  readonly nullable?: boolean;
}

/** A name with few distinct values, such as a chain; `values` lists them where there are no others. */
export const name = (doc: string, { values }: { readonly values?: readonly string[] } = {}) =>
  column(values === undefined ? z.string() : z.enum(values), doc, { clickhouse: 'LowCardinality(String)' });
/** A UTC calendar day, `YYYY-MM-DD`. */
export const day = (doc: string, { nullable = false }: Options = {}) =>
  column(optional(z.iso.date(), nullable), doc, { clickhouse: nullableType('Date', nullable) });
/** A point in time, ISO 8601 in UTC with milliseconds. */
export const timestamp = (doc: string, { nullable = false }: Options = {}) =>
  column(optional(z.iso.datetime(), nullable), doc, {
    clickhouse: nullableType("DateTime64(3, 'UTC')", nullable),
  });
/** A count or an index. */
export const count = (doc: string, { nullable = false }: Options = {}) =>
  column(optional(z.int().min(0), nullable), doc, { clickhouse: nullableType('UInt64', nullable) });
/** A number that is not a count: native tokens, USD, seconds, fractions. Its description names the unit. */
export const real = (doc: string, { nullable = false }: Options = {}) =>
  column(optional(z.number(), nullable), doc, { clickhouse: nullableType('Float64', nullable) });
/** An exact amount in planck, served as a decimal string. */
export const planck = (doc: string, { nullable = false }: Options = {}) =>
  column(optional(z.string().regex(/^\d+$/), nullable), doc, {
    clickhouse: nullableType('UInt128', nullable),
    render: (column) => `toString(${column})`,
  });
/** An exact amount in planck that 128 bits may not hold, such as a sum or a product, served as a decimal string. */
export const widePlanck = (doc: string, { nullable = false }: Options = {}) =>
  column(optional(z.string().regex(/^\d+$/), nullable), doc, {
    clickhouse: nullableType('UInt256', nullable),
    render: (column) => `toString(${column})`,
  });
export const text = (
  doc: string,
  { nullable = false, values }: Options & { readonly values?: readonly string[] } = {},
) =>
  column(optional(values === undefined ? z.string() : z.enum(values), nullable), doc, {
    clickhouse: nullableType('String', nullable),
  });
export const flag = (doc: string, { nullable = false }: Options = {}) =>
  column(optional(z.boolean(), nullable), doc, { clickhouse: nullableType('Bool', nullable) });
/** A list or an object, stored as JSON text: a value in JSON, Parquet and Arrow, and that text in CSV. */
export const nested = (
  schema: z.ZodType,
  types: NestedTypes,
  doc: string,
  { nullable = false }: Options = {},
) => column(optional(schema, nullable), doc, { clickhouse: nullableType('String', nullable), nested: types });

/** The ClickHouse type of a column. */
export function clickhouseType(column: Column): string {
  return factsOf(column).clickhouse;
}

/** SQL that renders a stored column as the served value, under its own name. */
export function rendered(name: string, column: Column, shape: Shape = 'json'): string {
  const { render, nested } = factsOf(column);
  if (nested && shape === 'columnar' && nested.columnar) return `${nested.columnar(name)} AS ${name}`;
  if (nested && shape !== 'text') {
    return `JSONExtract(ifNull(${name}, 'null'), '${nested.type}') AS ${name}`;
  }
  return render ? `${render(name)} AS ${name}` : name;
}

/** SQL that renders a stored column for a cursor: exact, and equal to the stored value when it is parsed. */
export function pointedAt(name: string, column: Column): string {
  return /UInt128|UInt256|DateTime64/.test(clickhouseType(column)) ? `toString(${name}) AS ${name}` : name;
}

function factsOf(column: Column): StoreFacts {
  const facts = storeFacts.get(column);
  if (!facts) throw new Error('not a column: make it with one of the functions of columns.ts');
  return facts;
}
