import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Engine } from '../aggregate/engine.ts';
import type { Ask, KeptMetric, Metric, ReadMetric } from '../aggregate/metric.ts';
import { chainDay } from '../aggregate/metrics/chain-day.ts';
import { rendered } from '../infra/kernel/columns.ts';
import { ident, join, raw, type Sql, sql } from '../infra/kernel/sql.ts';
import { afterCursor, cursorOf, FORMATS, orderOf, type Query } from './parameters.ts';

/** A finished answer: its bytes, and the headers that do not depend on who asks when. */
export interface Answer {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
  readonly version: string;
  /** Cursor of the next page; null when nothing follows. */
  readonly next: string | null;
  readonly query: Query;
}

/** Answers metric queries from the store, and keeps the finished bytes until their table changes. */
export class Answers {
  readonly #engine: Engine;
  readonly #cache: LRUCache<string, Answer>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#cache = new LRUCache<string, Answer>({
      maxSize: Math.max(1, engine.config.CACHE_BYTES),
      sizeCalculation: (answer) => answer.body.length + 1024,
    });
  }

  /** An answer that still is what the table says. */
  cached(key: string, metric: Metric): Answer | undefined {
    const answer = this.#cache.get(key);
    return answer !== undefined && answer.version === this.version(metric) ? answer : undefined;
  }

  async render(key: string, metric: Metric, ask: Ask, query: Query, format: string): Promise<Answer> {
    const version = this.version(metric);
    const rows = this.#rows(metric, ask, query);
    const order = orderOf(metric);
    const orderBy = join(
      order.map(({ column, descending }) => raw(`rows.${column}${descending ? ' DESC' : ''}`)),
    );
    const after = query.cursor === undefined ? sql`1` : afterCursor(order, query.cursor);
    const limit = query.limit ?? (ask.listed ? this.#engine.config.LIST_ROWS_MAX : undefined);
    const columns = join(Object.entries(metric.columns).map(([name, column]) => raw(rendered(name, column))));
    const chosen = sql`FROM ${rows} AS rows WHERE ${after}`;
    const { format: engineFormat, type } = FORMATS[format] as (typeof FORMATS)[string];
    const page = limit === undefined ? raw('') : sql`LIMIT ${limit}`;
    const [body, next] = await Promise.all([
      this.#engine.runtime.store.bytes(
        sql`SELECT ${columns} ${chosen} ORDER BY ${orderBy} ${page}`,
        engineFormat,
      ),
      limit === undefined ? null : this.#nextCursor(chosen, order, orderBy, limit),
    ]);
    const answer: Answer = { body, type, version, next, query, etag: this.#etag(version, format, key) };
    this.#cache.set(key, answer);
    return answer;
  }

  /** What the answer depends on: the metric's table, or for those made on reading the newest day of all chains. */
  version(metric: Metric): string {
    return this.#engine.aggregator.version(metric.kept === 'onRead' ? chainDay.name : metric.name);
  }

  #etag(version: string, format: string, key: string): string {
    const hash = createHash('sha256')
      .update(`${version}\0${format}\0${key}`)
      .digest('base64url')
      .slice(0, 22);
    return `"${hash}"`;
  }

  /** The key of the last row of the page, when another row follows it. */
  async #nextCursor(
    chosen: Sql,
    order: ReturnType<typeof orderOf>,
    orderBy: Sql,
    limit: number,
  ): Promise<string | null> {
    const key = join(order.map(({ column }) => ident(column)));
    const found = await this.#engine.runtime.store.rows<Record<string, unknown>>(
      sql`SELECT ${key} ${chosen} ORDER BY ${orderBy} LIMIT 2 OFFSET ${limit - 1}`,
    );
    const [last] = found;
    return found.length < 2 || last === undefined ? null : cursorOf(order.map(({ column }) => last[column]));
  }

  #rows(metric: Metric, ask: Ask, query: Query): Sql {
    return metric.kept === 'onRead' ? this.#readRows(metric, ask, query) : this.#keptRows(metric, ask, query);
  }

  #keptRows(metric: KeptMetric, ask: Ask, query: Query): Sql {
    const conditions = [
      sql`relay_chain IN ${query.relay_chain === undefined ? ask.relays : [query.relay_chain]}`,
      ...(query.chain === undefined ? [] : [sql`chain = ${query.chain}`]),
      ...dateConditions(ask, query),
      ...query.conditions,
    ];
    return sql`(SELECT * FROM ${metric.table} FINAL WHERE ${join(conditions, ' AND ')})`;
  }

  #readRows(metric: ReadMetric, ask: Ask, { relay_chain = '', chain = '', conditions }: Query): Sql {
    const served = ask.relays.some((relay) => relay === relay_chain);
    const all = [served ? sql`1` : sql`0`, ...conditions];
    return sql`(SELECT * FROM (${metric.select({ relay_chain, chain })}) WHERE ${join(all, ' AND ')})`;
  }
}

function dateConditions(ask: Ask, { start, end }: Query): Sql[] {
  if (!ask.dates) return [];
  const column = ident(ask.dates.column);
  const from = ask.dates.floor !== undefined && ask.dates.floor > start ? ask.dates.floor : start;
  return [sql`${column} >= ${from}`, sql`${column} <= ${end}`];
}
