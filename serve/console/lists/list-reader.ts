import { isoDay } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { Sql } from '../../../infra/sql.ts';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Reader } from '../../http/readers.ts';
import type { AnswerCache } from '../../metrics/answers.ts';
import type { OrderDirection } from '../../metrics/cursor.ts';
import { type Query, queryOf } from '../../metrics/parameters.ts';
import type { ListRow, ListSource } from './list-page.ts';

/** Rows per page. */
const PAGE_ROWS = 50;

/** Additional conditions of a detail page, for which the API has no parameter. */
interface RowScope {
  readonly relay_chain?: string;
  readonly chain?: string;
  readonly condition?: Sql;
}

export interface RowsWanted {
  /** Parameters of the API. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly scope?: RowScope;
  readonly order?: OrderDirection | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

export interface ListRows {
  readonly rows: readonly ListRow[];
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
  readonly query: Query;
}

/** Reads records for pages through the response cache of the API: same rows, order and cursors. */
export class ListReader {
  readonly #answers: AnswerCache;
  readonly #registry: Registry;
  readonly #clock: Clock;

  constructor({ answers, registry, clock }: { answers: AnswerCache; registry: Registry; clock: Clock }) {
    this.#answers = answers;
    this.#registry = registry;
    this.#clock = clock;
  }

  /** Throws a `ParameterError` for a cursor that is not of this list. */
  async read(source: ListSource, wanted: RowsWanted, reader: Reader): Promise<ListRows> {
    const { metric, endpoint, schema } = source;
    const { values = {}, scope = {}, order, cursor, limit = PAGE_ROWS } = wanted;
    const asked = queryOf(endpoint, schema.parse(values), this.#registry, isoDay(this.#clock.now()));
    const query = {
      ...asked,
      relay_chain: scope.relay_chain ?? asked.relay_chain,
      chain: scope.chain ?? asked.chain,
      conditions: scope.condition === undefined ? asked.conditions : [...asked.conditions, scope.condition],
      ...{ order, cursor, limit, format: 'json' },
    };
    const key = JSON.stringify([
      endpoint.path,
      ...[values, scope.relay_chain, scope.chain, scope.condition?.text, order, cursor, limit],
    ]);
    const cached = this.#answers.cached(key, metric);
    const coding = 'identity' as const;
    const answer =
      cached ??
      (await this.#answers.render(
        { key: { rendered: key, coded: key, coding }, metric, endpoint, query, format: 'json' },
        reader,
      ));
    return { rows: JSON.parse(answer.body.toString('utf8')) as ListRow[], next: answer.next, query };
  }
}
