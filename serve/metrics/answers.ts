import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { firstOpenDay, hasChanged } from '../../aggregate/changes/select-changes.ts';
import { type Column, cursorValueSql, renderColumn, type Shape } from '../../aggregate/columns.ts';
import type { Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import type { Aggregator } from '../../aggregate/runner/aggregator.ts';
import { supportsChanges } from '../../aggregate/slices.ts';
import { SharedWork } from '../../infra/coordination/shared-work.ts';
import { DAY_MS } from '../../infra/days.ts';
import type { Clock, Format } from '../../infra/ports.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/sql.ts';
import { type ContentCoding, codingOf, compress } from '../http/content-codings.ts';
import { type QueryStore, type Reader, splitCost } from '../http/readers.ts';
import type { HttpSettings } from '../http/settings.ts';
import { type AnswerCacheMetrics, createAnswerCacheMetrics } from './answer-cache-metrics.ts';
import type { AnswerKey } from './answer-key.ts';
import { AnswersInFlight } from './answers-in-flight.ts';
import { afterCursor, cursorOf, type OrderColumn, orderOf } from './cursor.ts';
import { daysOfPage } from './page-bound.ts';
import { cursorValue, cutPage, hasRowPerLine } from './page-cut.ts';
import { type Query, type RowBounds, rowsWithoutLimit } from './parameters.ts';
import { RESPONSE_FORMATS, withByteOrderMark } from './response-formats.ts';
import { sourceTables } from './source-tables.ts';

/** A rendered response: its bytes, and the headers that do not depend on the time of the request. */
export interface Answer {
  readonly body: Buffer;
  readonly type: string;
  readonly coding: ContentCoding;
  readonly etag: string;
  readonly version: string;
  /** Cursor of the next page; null when nothing follows. */
  readonly next: string | null;
  readonly query: Query;
}

/** Returns the version of the latest computation that wrote a table. */
type Versions = Pick<Aggregator, 'version'>;

export type AnswerSettings = RowBounds & Pick<HttpSettings, 'CACHE_BYTES' | 'ANSWER_BYTES_MAX'>;

/** A request for an answer. */
interface AnswerRequest {
  readonly key: AnswerKey;
  readonly metric: Metric;
  readonly endpoint: MetricEndpoint;
  readonly query: Query;
  readonly format: string;
}

/** Answers metric queries from the store, and caches the response bytes until their tables change. */
export class AnswerCache {
  readonly #clock: Clock;
  readonly #versions: Versions;
  readonly #settings: AnswerSettings;
  readonly #cache: LRUCache<string, Answer>;
  readonly #inFlight: AnswersInFlight<Answer>;
  readonly #rendering = new SharedWork<Answer, Reader>();
  readonly #compressing = new SharedWork<Answer, Reader>();
  readonly #cacheMetrics: AnswerCacheMetrics;

  constructor({
    clock,
    versions,
    settings,
    cacheMetrics = createAnswerCacheMetrics(),
  }: {
    clock: Clock;
    versions: Versions;
    settings: AnswerSettings;
    cacheMetrics?: AnswerCacheMetrics;
  }) {
    this.#clock = clock;
    this.#cacheMetrics = cacheMetrics;
    this.#versions = versions;
    this.#settings = settings;
    this.#inFlight = new AnswersInFlight(settings.ANSWER_BYTES_MAX);
    this.#cache = new LRUCache<string, Answer>({
      maxSize: Math.max(1, settings.CACHE_BYTES),
      sizeCalculation: (answer, key) => answer.body.length + key.length + 1024,
    });
  }

  /** The cached answer, or one that is being sent; it may be outdated. */
  find(key: string): Answer | undefined {
    return this.#cache.get(key) ?? this.#inFlight.find(key);
  }

  /** The answer that `find` returns, if its tables have not changed since it was rendered. */
  cached(key: string, metric: Metric): Answer | undefined {
    const answer = this.find(key);
    return answer !== undefined && answer.version === this.version(metric, answer.query) ? answer : undefined;
  }

  /** Counts a cache hit of a caller that does not call `render`. */
  countHit(): void {
    this.#cacheMetrics.lookups.inc({ result: 'hit' });
  }

  /** Counts an answer as in flight until it is sent or its reader disconnects. */
  hold(key: string, answer: Answer, caller: string, response: ServerResponse): void {
    this.#inFlight.hold(key, answer, caller, response);
  }

  /** Renders and compresses an answer. Concurrent requests for the same answer share the work. */
  async render(request: AnswerRequest, reader: Reader): Promise<Answer> {
    const { metric, key, format } = request;
    const known = this.cached(key.rendered, metric);
    this.#cacheMetrics.lookups.inc({ result: known ? 'hit' : 'miss' });
    const rendered = known ?? (await this.#renderShared(request, reader));
    const coding = codingOf(key.coding, format, rendered.body);
    if (coding === 'identity') {
      if (key.coded !== key.rendered) this.#keep(key.coded, rendered);
      return rendered;
    }
    return this.#compressing.run(`${rendered.etag}\0${coding}`, reader, async (_, readers) => {
      const started = performance.now();
      const body = await compress(rendered.body, coding);
      await splitCost(readers, performance.now() - started);
      const answer = { ...rendered, body, coding, etag: etagOf(rendered.etag, coding) };
      this.#keep(key.coded, answer);
      return answer;
    });
  }

  #keep(key: string, answer: Answer): void {
    this.#cache.set(key, answer);
    this.#cacheMetrics.bytes.set(this.#cache.calculatedSize);
  }

  #renderShared(request: AnswerRequest, reader: Reader): Promise<Answer> {
    const { metric, format, query } = request;
    const version = this.version(metric, query);
    const key = `${version}\0${format}\0${request.key.rendered}`;
    const mayQuery = (callers: Iterable<string>) => this.#inFlight.requireCallerShare(callers, query.limit);
    const rendered = this.#rendering.run(key, reader, (signal, readers) =>
      this.#render(request, version, reader.storeFor(readers, signal, mayQuery)),
    );
    reader.joined();
    return rendered;
  }

  async #render(request: AnswerRequest, version: string, store: QueryStore): Promise<Answer> {
    const { key, metric, endpoint, query, format } = request;
    const order = orderOf(metric, endpoint, query.order);
    const after = query.cursor === undefined ? sql`1` : afterCursor(endpoint.path, order, query.cursor);
    const limit = query.limit ?? rowsWithoutLimit(endpoint, this.#settings);
    const changed = this.#changedRows(metric, query);
    const chosenOf = (chosen: Query) =>
      sql`FROM ${rowsOf(metric, endpoint, chosen, changed)} AS rows WHERE ${after}`;
    const page = { metric, endpoint, query, order, chosen: chosenOf(query), limit };
    const days = await daysOfPage(store, page);
    const chosen = days === null ? page.chosen : chosenOf({ ...query, conditions: [days] });
    const { format: engineFormat, type } = RESPONSE_FORMATS[format] as (typeof RESPONSE_FORMATS)[string];
    const { body: rows, next } = await pageOf(store, {
      metric,
      path: endpoint.path,
      order,
      chosen,
      format: engineFormat,
      shape: query.bom ? 'spreadsheet' : SHAPES[engineFormat],
      limit,
    });
    const body = query.bom ? withByteOrderMark(rows) : rows;
    const etag = etagOf(version, format, key.rendered);
    const answer: Answer = { body, type, coding: 'identity', version, next, query, etag };
    this.#inFlight.requireRoom(answer);
    this.#keep(key.rendered, answer);
    return answer;
  }

  #changedRows(metric: Metric, { changedSince: after }: Query): readonly Sql[] {
    if (after === undefined || !supportsChanges(metric)) return [];
    return [hasChanged(metric, { after, openDay: firstOpenDay(this.#clock.now()) })];
  }

  /**
   * Versions of the tables that an answer is read from. Some answers also depend on the current day, whose end changes
   * no table.
   */
  version(metric: Metric, { changedSince }: Pick<Query, 'changedSince'>): string {
    const versions = sourceTables(metric).map((table) => this.#versions.version(table));
    if (changedSince !== undefined) versions.push(firstOpenDay(this.#clock.now()));
    if (metric.provisionalColumns) versions.push(`day ${Math.floor(this.#clock.now() / DAY_MS)}`);
    return versions.join('-');
  }
}

const etagOf = (...parts: readonly string[]) =>
  `"${createHash('sha256').update(parts.join('\0')).digest('base64url').slice(0, 22)}"`;

/** A query whose answer is one page. */
interface PagedQuery {
  readonly metric: Metric;
  readonly path: string;
  readonly order: readonly OrderColumn[];
  /** The FROM and WHERE clauses. */
  readonly chosen: Sql;
  readonly format: Format;
  readonly shape: Shape;
  readonly limit: number;
}

/** The rows of a page, and the cursor of the next one. */
async function pageOf(store: QueryStore, page: PagedQuery): Promise<{ body: Buffer; next: string | null }> {
  const { metric, path, order, format, limit } = page;
  const served = order.flatMap(({ column }) => metric.columns[column] ?? []);
  if (hasRowPerLine(format) && served.length === order.length) {
    const { body, last } = cutPage(await bytesOf(store, page, limit + 1), format, limit);
    const key = last && order.map(({ column }, i) => cursorValue(last[column], served[i] as Column));
    return { body, next: key && cursorOf(path, order, key) };
  }
  const body = await bytesOf(store, page, limit);
  const isLast = hasFewerRows(body, format, limit);
  return { body, next: isLast ? null : await nextCursor(store, page) };
}

function bytesOf(store: QueryStore, { metric, order, chosen, format, shape }: PagedQuery, rowsMax: number) {
  return store.bytes(
    sql`SELECT ${columnsOf(metric, shape)} ${chosen} ORDER BY ${orderByOf(order)} LIMIT ${rowsMax}`,
    format,
  );
}

/** The cursor of the next page; null if no row follows. */
async function nextCursor(
  store: QueryStore,
  { metric, path, order, chosen, limit }: PagedQuery,
): Promise<string | null> {
  const key = join(
    order.map(({ column }) => {
      const served = metric.columns[column];
      return served === undefined ? ident(column) : raw(cursorValueSql(column, served));
    }),
  );
  const found = await store.rows<Record<string, unknown>>(
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

const NEWLINE = 0x0a;

/** Whether a page has fewer rows than the limit. In text formats each row ends with a line break, so rows ≤ lines. */
function hasFewerRows(body: Buffer, format: Format, limit: number): boolean {
  if (format === 'Parquet' || format === 'Arrow') return false;
  let lines = 0;
  for (let at = body.indexOf(NEWLINE); at >= 0; at = body.indexOf(NEWLINE, at + 1)) {
    if (++lines >= limit) return false;
  }
  return true;
}

/** The statement for all rows of a path, in its order, without paging. */
export function allRowsStatement(
  metric: Metric,
  endpoint: MetricEndpoint,
  query: Query,
  format: Format,
): Sql {
  const orderBy = orderByOf(orderOf(metric, endpoint));
  return sql`SELECT ${columnsOf(metric, SHAPES[format])} FROM ${rowsOf(metric, endpoint, query)} AS rows ORDER BY ${orderBy}`;
}

const SHAPES: Readonly<Record<Format, Shape>> = {
  JSON: 'json',
  NDJSON: 'json',
  CSV: 'text',
  Parquet: 'columnar',
  Arrow: 'columnar',
};

function columnsOf(metric: Metric, shape: Shape): Sql {
  return join(Object.entries(metric.columns).map(([name, column]) => raw(renderColumn(name, column, shape))));
}

function orderByOf(order: readonly OrderColumn[]): Sql {
  return join(order.map(({ column, descending }) => raw(`rows.${column}${descending ? ' DESC' : ''}`)));
}

function rowsOf(
  metric: Metric,
  endpoint: MetricEndpoint,
  query: Query,
  conditions: readonly Sql[] = [],
): Sql {
  const { relay_chain = '', chain = '' } = query;
  const from =
    metric.materialized === false
      ? sql`(${metric.select({ relay_chain, chain })})`
      : sql`${metric.table} FINAL`;
  return sql`(SELECT *${whileDayRuns(metric, query.today)} FROM ${from} WHERE ${join([...conditionsOf(metric, endpoint, query), ...conditions], ' AND ')})`;
}

/** Replaces columns of today's rows by their values for an incomplete day. */
function whileDayRuns(metric: Metric, today: string): Sql {
  if (metric.materialized === false || metric.period === null || !metric.provisionalColumns) return raw('');
  const isToday = sql`toDate(${ident(metric.period)}) = ${today}`;
  const columns = Object.entries(metric.provisionalColumns).map(
    ([column, value]) => sql`if(${isToday}, ${raw(value)}, ${ident(column)}) AS ${ident(column)}`,
  );
  return sql` REPLACE (${join(columns)})`;
}

function conditionsOf(metric: Metric, endpoint: MetricEndpoint, query: Query): Sql[] {
  // An unknown chain, or a chain of another relay chain, has no rows.
  const relays = endpoint.relays.filter(
    (relay) => query.relay_chain === undefined || relay === query.relay_chain,
  );
  return [
    relays.length === 0 ? sql`0` : sql`relay_chain IN ${relays}`,
    ...(query.chain === undefined ? [] : [sql`chain = ${query.chain}`]),
    ...(metric.servedRows === undefined ? [] : [metric.servedRows(query.chain)]),
    ...dateConditions(endpoint, query),
    ...query.conditions,
  ];
}

/**
 * Both ends are inclusive, and rows before the `floor` of the path are never served. A row without a date is served only
 * if the request has no dates.
 */
function dateConditions(endpoint: MetricEndpoint, { isDated, start, end }: Query): Sql[] {
  if (!endpoint.dates?.column) return [];
  const day = sql`toDate(${ident(endpoint.dates.column)})`;
  const { floor } = endpoint.dates;
  const aboveFloor = floor === undefined ? [] : [sql`(isNull(${day}) OR ${day} >= ${floor})`];
  return isDated ? [...aboveFloor, sql`${day} >= ${start}`, sql`${day} <= ${end}`] : aboveFloor;
}
