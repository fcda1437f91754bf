import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import { chainDay } from '../../aggregate/metrics/activity/chain-day.ts';
import type { Aggregator } from '../../aggregate/runner/aggregator.ts';
import { type Column, pointedAt, rendered } from '../../infra/clickhouse/columns.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/clickhouse/sql.ts';
import type { Format, Store } from '../../infra/ports.ts';
import type { HttpSettings } from '../http/settings.ts';
import { afterCursor, cursorOf, type OrderColumn, orderOf } from './cursor.ts';
import { cutPage, isCut, pointerTo } from './page-cut.ts';
import type { Query } from './parameters.ts';
import { RESPONSE_FORMATS } from './response-formats.ts';

/** A finished answer: its bytes, and the headers that do not depend on the time of the request. */
export interface Answer {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
  readonly version: string;
  /** Cursor of the next page; null when nothing follows. */
  readonly next: string | null;
  readonly query: Query;
}

/** Says with which computation a table was written last. */
export type TableVersions = Pick<Aggregator, 'version'>;

/** Answers metric queries from the store, and caches the finished bytes until their table changes. */
export class AnswerCache {
  readonly #store: Store;
  readonly #versions: TableVersions;
  readonly #listRowsMax: number;
  readonly #cache: LRUCache<string, Answer>;

  constructor({
    store,
    versions,
    settings,
  }: {
    store: Store;
    versions: TableVersions;
    settings: Pick<HttpSettings, 'CACHE_BYTES' | 'LIST_ROWS_MAX'>;
  }) {
    this.#store = store;
    this.#versions = versions;
    this.#listRowsMax = settings.LIST_ROWS_MAX;
    this.#cache = new LRUCache<string, Answer>({
      maxSize: Math.max(1, settings.CACHE_BYTES),
      sizeCalculation: (answer, key) => answer.body.length + key.length + 1024,
    });
  }

  /** The cached answer, unless its table has been written since. */
  cached(key: string, metric: Metric): Answer | undefined {
    const answer = this.#cache.get(key);
    return answer !== undefined && answer.version === this.version(metric) ? answer : undefined;
  }

  async render(
    key: string,
    metric: Metric,
    endpoint: MetricEndpoint,
    query: Query,
    format: string,
  ): Promise<Answer> {
    const version = this.version(metric);
    const order = orderOf(metric, endpoint);
    const after = query.cursor === undefined ? sql`1` : afterCursor(endpoint.path, order, query.cursor);
    const limit = query.limit ?? (endpoint.isLimited ? this.#listRowsMax : undefined);
    const chosen = sql`FROM ${rowsOf(metric, endpoint, query)} AS rows WHERE ${after}`;
    const { format: engineFormat, type } = RESPONSE_FORMATS[format] as (typeof RESPONSE_FORMATS)[string];
    const { body, next } = await this.#page({
      metric,
      path: endpoint.path,
      order,
      chosen,
      format: engineFormat,
      limit,
    });
    const answer: Answer = { body, type, version, next, query, etag: this.#etag(version, format, key) };
    this.#cache.set(key, answer);
    return answer;
  }

  /** Versions of the tables that an answer is read from; for a view, of the table of chain days. */
  version(metric: Metric): string {
    const tables =
      metric.materialized === false
        ? [chainDay.name]
        : [metric.name, ...(metric.served?.(undefined).tables ?? [])];
    return tables.map((table) => this.#versions.version(table)).join('-');
  }

  #etag(version: string, format: string, key: string): string {
    const hash = createHash('sha256')
      .update(`${version}\0${format}\0${key}`)
      .digest('base64url')
      .slice(0, 22);
    return `"${hash}"`;
  }

  async #page(of: PagedQuery): Promise<{ body: Buffer; next: string | null }> {
    const { metric, path, order, format, limit } = of;
    const served = order.flatMap(({ column }) => metric.columns[column] ?? []);
    if (limit !== undefined && isCut(format) && served.length === order.length) {
      const { body, last } = cutPage(await this.#rows(of, limit + 1), format, limit);
      const key = last && order.map(({ column }, i) => pointerTo(last[column], served[i] as Column));
      return { body, next: key && cursorOf(path, order, key) };
    }
    const body = await this.#rows(of, limit);
    const isLast = limit === undefined || hasFewerRows(body, format, limit);
    return { body, next: isLast ? null : await this.#nextCursor(of, limit) };
  }

  #rows({ metric, order, chosen, format }: PagedQuery, rowsMax: number | undefined): Promise<Buffer> {
    const limited = rowsMax === undefined ? raw('') : sql`LIMIT ${rowsMax}`;
    return this.#store.bytes(
      sql`SELECT ${columnsOf(metric, format)} ${chosen} ORDER BY ${orderByOf(order)} ${limited}`,
      format,
    );
  }

  /** The key of the last row of the page, when another row follows it. */
  async #nextCursor({ metric, path, order, chosen }: PagedQuery, limit: number): Promise<string | null> {
    const key = join(
      order.map(({ column }) => {
        const served = metric.columns[column];
        return served === undefined ? ident(column) : raw(pointedAt(column, served));
      }),
    );
    const found = await this.#store.rows<Record<string, unknown>>(
      sql`SELECT ${key} ${chosen} ORDER BY ${orderByOf(order)} LIMIT 2 OFFSET ${limit - 1}`,
    );
    const [last] = found;
    if (found.length < 2 || last === undefined) return null;
    return cursorOf(
      path,
      order,
      order.map(({ column }) => last[column]),
    );
  }
}

/** A query whose answer is one page. */
interface PagedQuery {
  readonly metric: Metric;
  readonly path: string;
  readonly order: readonly OrderColumn[];
  /** From where and on which conditions. */
  readonly chosen: Sql;
  readonly format: Format;
  readonly limit: number | undefined;
}

const NEWLINE = 0x0a;

/** Whether a page has fewer rows than the limit. Each row of a text format ends with a line break, so a body has at most as many rows as lines. */
function hasFewerRows(body: Buffer, format: Format, limit: number): boolean {
  if (format === 'Parquet' || format === 'Arrow') return false;
  let lines = 0;
  for (let at = body.indexOf(NEWLINE); at >= 0; at = body.indexOf(NEWLINE, at + 1)) {
    if (++lines >= limit) return false;
  }
  return true;
}

/** The statement of all rows of a path, in its order and without pages. */
export function wholeAnswer(metric: Metric, endpoint: MetricEndpoint, query: Query, format: Format): Sql {
  const orderBy = orderByOf(orderOf(metric, endpoint));
  return sql`SELECT ${columnsOf(metric, format)} FROM ${rowsOf(metric, endpoint, query)} AS rows ORDER BY ${orderBy}`;
}

function columnsOf(metric: Metric, format: Format): Sql {
  const isJson = format === 'JSON' || format === 'NDJSON';
  return join(Object.entries(metric.columns).map(([name, column]) => raw(rendered(name, column, isJson))));
}

function orderByOf(order: readonly OrderColumn[]): Sql {
  return join(order.map(({ column, descending }) => raw(`rows.${column}${descending ? ' DESC' : ''}`)));
}

function rowsOf(metric: Metric, endpoint: MetricEndpoint, query: Query): Sql {
  const { relay_chain = '', chain = '' } = query;
  const from =
    metric.materialized === false
      ? sql`(${metric.select({ relay_chain, chain })})`
      : sql`${metric.table} FINAL`;
  return sql`(SELECT * FROM ${from} WHERE ${join(conditionsOf(metric, endpoint, query), ' AND ')})`;
}

function conditionsOf(metric: Metric, endpoint: MetricEndpoint, query: Query): Sql[] {
  // An unknown chain, or one of another relay chain than the requested one, has no rows.
  const relays = endpoint.relays.filter(
    (relay) => query.relay_chain === undefined || relay === query.relay_chain,
  );
  return [
    relays.length === 0 ? sql`0` : sql`relay_chain IN ${relays}`,
    ...(query.chain === undefined ? [] : [sql`chain = ${query.chain}`]),
    ...(metric.served === undefined ? [] : [metric.served(query.chain)]),
    ...dateConditions(endpoint, query),
    ...query.conditions,
  ];
}

/**
 * Both ends are inclusive and the earliest date of the path is a floor under every answer. A row without a date
 * passes the floor, and is left out as soon as the request has a date.
 */
function dateConditions(endpoint: MetricEndpoint, { isDated, start, end }: Query): Sql[] {
  if (!endpoint.dates?.column) return [];
  const day = sql`toDate(${ident(endpoint.dates.column)})`;
  const { floor } = endpoint.dates;
  const aboveFloor = floor === undefined ? [] : [sql`(isNull(${day}) OR ${day} >= ${floor})`];
  return isDated ? [...aboveFloor, sql`${day} >= ${start}`, sql`${day} <= ${end}`] : aboveFloor;
}
