import { createHash } from 'node:crypto';
import { type Column, clickhouseType } from '../../aggregate/columns.ts';
import type { Metric, MetricEndpoint, Ordering } from '../../aggregate/metric.ts';
import { FIRST_DAY, LAST_DAY } from '../../infra/clickhouse/date-range.ts';
import { ident, type Sql, sql } from '../../infra/sql.ts';
import { invalidParameter } from '../http/errors.ts';

// A cursor contains the sort key of the last row of a page. Cursors are untrusted input: a cursor
// reaches the store only if it was made for the same path and order, and if every value is valid for its column.

export interface OrderColumn {
  readonly column: string;
  readonly descending: boolean;
  /** ClickHouse type of the column. */
  readonly type: string;
}

/** Longer than the key of any row. */
export const CURSOR_CHARS_MAX = 4096;

/** Direction of the first sort column. */
export type OrderDirection = 'asc' | 'desc';

export const directionOf = ([first]: readonly OrderColumn[]): OrderDirection =>
  first?.descending ? 'desc' : 'asc';

/** The sort columns of a path; for the other direction, all of them are reversed. */
export function orderOf(metric: Metric, endpoint: MetricEndpoint, direction?: OrderDirection): OrderColumn[] {
  const own = (endpoint.order ?? metric.order ?? metric.key).map((entry: Ordering) => {
    const { column, descending } = typeof entry === 'string' ? { column: entry, descending: false } : entry;
    return { column, descending, type: typeOf(metric, column) };
  });
  if (direction === undefined || direction === directionOf(own)) return own;
  return own.map((one) => ({ ...one, descending: !one.descending }));
}

function typeOf(metric: Metric, column: string): string {
  const served: Column | undefined = metric.columns[column];
  return served === undefined ? (metric.internal?.[column] ?? '') : clickhouseType(served);
}

/** The cursor of the page after the row with this key. */
export function cursorOf(path: string, order: readonly OrderColumn[], key: readonly unknown[]): string {
  return encodeCursor([originOf(path, order), ...key]);
}

/** Condition for the rows after a cursor. Keyset paging neither skips nor repeats rows. */
export function afterCursor(path: string, order: readonly OrderColumn[], cursor: string): Sql {
  const [origin, ...key] = decodeCursor(cursor);
  const isOfPath = origin === originOf(path, order) && key.length === order.length;
  if (!isOfPath || !order.every(({ type }, i) => isValueOf(type, key[i]))) {
    throw invalidParameter('cursor', 'not a cursor of this path: use the one in the `Link` header', cursor);
  }
  return order.reduceRight<Sql>((rest, { column, descending }, i) => {
    const name = sql`rows.${ident(column)}`;
    const value = key[i] as string | number;
    const beyond = descending ? sql`${name} < ${value}` : sql`${name} > ${value}`;
    return sql`(${beyond} OR (${name} = ${value} AND ${rest}))`;
  }, sql`0`);
}

export const encodeCursor = (values: readonly unknown[]) =>
  Buffer.from(JSON.stringify(values)).toString('base64url');

/** Decodes a cursor; returns no values if the text is not exactly what `encodeCursor` returns. */
export function decodeCursor(cursor: string): unknown[] {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(values) && encodeCursor(values) === cursor ? values : [];
  } catch {
    // Callers reject a cursor without values.
    return [];
  }
}

/** Fingerprint of the path and of its sort columns with their types. */
function originOf(path: string, order: readonly OrderColumn[]): string {
  return createHash('sha256')
    .update(JSON.stringify([path, order]))
    .digest('base64url')
    .slice(0, 8);
}

function isValueOf(type: string, value: unknown): boolean {
  if (type === 'UInt64') return Number.isSafeInteger(value) && (value as number) >= 0;
  if (typeof value !== 'string') return false;
  if (type === 'String' || type === 'LowCardinality(String)') return value.isWellFormed();
  if (type === 'UInt256') return /^\d{1,78}$/.test(value) && BigInt(value) < 2n ** 256n;
  if (type === 'Date') return isDay(value);
  if (type.startsWith('DateTime64(3')) return MOMENT.test(value) && isDay(value.slice(0, 10));
  throw new Error(`no cursor can hold a ${type}`);
}

/** A time as `pointedAt` (SQL) and `cursorValue` (JSON) write it. */
const MOMENT = /^\d{4}-\d\d-\d\d (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}$/;

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text < FIRST_DAY || text > LAST_DAY) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
