import { z } from 'zod';
import { type ColumnDisplay, DISPLAY_BY_UNIT, type Unit } from './units.ts';

/**
 * A column is a zod schema of the served value, plus its ClickHouse type, rendering and display. A registry holds these,
 * so that type and rendering do not appear in OpenAPI.
 */
interface ColumnFacts {
  readonly clickhouse: string;
  /** SQL that converts the stored value to the served one; the column name when absent. */
  readonly render?: (name: string) => string;
  /** SQL of the value in Parquet and Arrow, if these formats lack the type. */
  readonly columnar?: (name: string) => string;
  /** ClickHouse type of a value that is stored as JSON text. */
  readonly nested?: string;
  /** Undefined for columns that only other metrics read. */
  readonly shown: ColumnDisplay | undefined;
  readonly total: string | undefined;
}

/**
 * How a format represents a nested value: as JSON, as typed columns, or as JSON text. `spreadsheet` also escapes text
 * that a spreadsheet would run as a formula.
 */
export type Shape = 'json' | 'columnar' | 'text' | 'spreadsheet';

const columnFacts = z.registry<ColumnFacts>();

export type Column = z.ZodType;
export type Columns = Record<string, Column>;

interface Options {
  readonly nullable?: boolean;
  /** Required for served columns. */
  readonly title?: string;
}
interface Values {
  /** Set if the column has no other values. */
  readonly values?: readonly string[];
}
interface Names extends Omit<Options, 'nullable'>, Values {
  /** The name of the row that adds up all others. */
  readonly total?: string;
}
/** Overrides of the defaults of the unit. */
export type NumberOptions = Options & Partial<Pick<ColumnDisplay, 'overTime' | 'overChains' | 'isDrawn'>>;
interface Measured<U extends Unit> {
  readonly unit: U;
}

interface Kind extends Pick<ColumnFacts, 'render' | 'columnar' | 'nested'> {
  readonly type: string;
  readonly unit: Unit | null;
  readonly total?: string | undefined;
}

function column(schema: z.ZodType, doc: string, options: NumberOptions, kind: Kind): Column {
  const { type, unit, total, ...facts } = kind;
  const { nullable = false } = options;
  const shown = shownAs(unit, options);
  const described = (nullable ? schema.nullable() : schema).meta({
    description: doc,
    ...(shown && publicMeta(shown)),
  });
  columnFacts.add(described, { ...facts, clickhouse: nullable ? `Nullable(${type})` : type, shown, total });
  return described;
}

function shownAs(unit: Unit | null, { title, ...own }: NumberOptions): ColumnDisplay | undefined {
  if (title === undefined) return undefined;
  const { overTime, overChains, isDrawn } =
    unit === null ? NOT_A_NUMBER : { ...DISPLAY_BY_UNIT[unit], ...own };
  return { title, unit, overTime, overChains, isDrawn };
}

const NOT_A_NUMBER = { overTime: 'none', overChains: 'none', isDrawn: false } as const;

/** The display of a column in the OpenAPI document. */
const publicMeta = ({ title, unit, overTime, overChains }: ColumnDisplay) => ({
  title,
  ...(unit !== null && { 'x-unit': unit, 'x-over-time': overTime, 'x-over-chains': overChains }),
});

const textOf = ({ values }: Values) => (values === undefined ? z.string() : z.enum(values));

/** A name with few distinct values, such as a chain. */
export const name = (doc: string, options: Names = {}) =>
  column(textOf(options), doc, options, { type: NAME, unit: null, total: options.total });
const NAME = 'LowCardinality(String)';
/** A UTC calendar day, `YYYY-MM-DD`. */
export const day = (doc: string, options: Options = {}) =>
  column(z.iso.date(), doc, options, { type: 'Date', unit: null });
/** A point in time, ISO 8601 in UTC with milliseconds. */
export const timestamp = (doc: string, options: Options = {}) =>
  column(z.iso.datetime(), doc, options, { type: "DateTime64(3, 'UTC')", unit: null });
/** A count, or another whole number of the given unit. */
export const count = (doc: string, options: NumberOptions & Partial<Measured<WholeUnit>> = {}) =>
  column(z.int().min(0), doc, options, { type: 'UInt64', unit: options.unit ?? 'count' });
/** A whole number of up to 256 bits: exact in JSON and CSV, text in Parquet and Arrow, which lack such a type. */
export const wideCount = (doc: string, options: NumberOptions & Measured<WholeUnit>) =>
  column(z.number().min(0).meta({ type: 'integer' }), doc, options, {
    type: 'UInt256',
    unit: options.unit,
    columnar: asText,
  });
type WholeUnit = 'count' | 'bytes' | 'height' | 'identifier' | 'weight' | 'number';
/** A number that may have decimals. */
export const real = (doc: string, options: NumberOptions & Measured<Exclude<Unit, 'planck'>>) =>
  column(z.number(), doc, options, { type: 'Float64', unit: options.unit });
/** An exact amount in planck, served as a decimal string. */
export const planck = (doc: string, options: NumberOptions = {}) =>
  column(PLANCK, doc, options, { type: 'UInt128', unit: 'planck', render: asText });
/** An exact amount in planck that 128 bits may not hold, such as a sum or a product, served as a decimal string. */
export const widePlanck = (doc: string, options: NumberOptions = {}) =>
  column(PLANCK, doc, options, { type: 'UInt256', unit: 'planck', render: asText });
const PLANCK = z.string().regex(/^\d+$/);
const asText = (column: string) => `toString(${column})`;
export const text = (doc: string, options: Options & Values = {}) =>
  column(textOf(options), doc, options, { type: 'String', unit: null });
export const flag = (doc: string, options: Options = {}) =>
  column(z.boolean(), doc, options, { type: 'Bool', unit: null });
/** A list or object, stored as JSON text: nested in JSON, Parquet and Arrow, JSON text in CSV. */
export const nested = (
  schema: z.ZodType,
  { type: nested, ...more }: { readonly type: string } & Pick<ColumnFacts, 'columnar'>,
  doc: string,
  options: Options = {},
) => column(schema, doc, options, { type: 'String', unit: null, nested, ...more });

export function displayOf(column: Column): ColumnDisplay {
  const { shown } = factsOf(column);
  if (!shown) throw new Error(`a served column needs a title: add one to the column "${column.description}"`);
  return shown;
}

/** For a column in native tokens, the name of the column with the same amounts in USD. */
export function usdColumnOf(columns: Columns, name: string): string | undefined {
  const twin = `${name}_usd`;
  const [native, usd] = [columns[name], columns[twin]];
  const isPair = native && usd && displayOf(native).unit === 'native' && displayOf(usd).unit === 'usd';
  return isPair ? twin : undefined;
}

/** True for a column with few distinct values, such as chains. */
export const isName = (column: Column | undefined): boolean =>
  column !== undefined && clickhouseType(column) === NAME;

/** The name of the row that adds up all others, if the column has one. */
export const totalOf = (column: Column): string | undefined => factsOf(column).total;

export function clickhouseType(column: Column): string {
  return factsOf(column).clickhouse;
}

/** SQL that renders a stored column as the served value, under its own name. */
export function renderColumn(name: string, column: Column, shape: Shape = 'json'): string {
  const { clickhouse, render, columnar, nested } = factsOf(column);
  if (columnar && shape === 'columnar') return `${columnar(name)} AS ${name}`;
  if (nested && (shape === 'json' || shape === 'columnar')) {
    return `JSONExtract(ifNull(${name}, 'null'), '${nested}') AS ${name}`;
  }
  if (shape === 'spreadsheet' && clickhouse.includes('String')) return `${withoutFormula(name)} AS ${name}`;
  return render ? `${render(name)} AS ${name}` : name;
}

/** Spreadsheets run text that begins with one of these characters as a formula; some locales accept the full-width forms. */
const FORMULA = '^[-=+@\\t\\r\\n＝＋－＠]';
/** A leading apostrophe makes a spreadsheet show the value as text. */
const withoutFormula = (text: string) => `if(match(${text}, '${FORMULA}'), concat('\\'', ${text}), ${text})`;

/** SQL that writes a stored value into a cursor. Parsing the text gives exactly the stored value. */
export function cursorValueSql(name: string, column: Column): string {
  return /UInt128|UInt256|DateTime64/.test(clickhouseType(column)) ? `toString(${name}) AS ${name}` : name;
}

function factsOf(column: Column): ColumnFacts {
  const facts = columnFacts.get(column);
  if (!facts) throw new Error('not a column: make it with one of the functions of columns.ts');
  return facts;
}
