import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import {
  changesAfter,
  endOfOpenDay,
  firstOpenDay,
  metricsWithChanges,
} from '../../aggregate/changes/select-changes.ts';
import type { MaterializedMetric } from '../../aggregate/metric.ts';
import { chainName, wholeNumber } from '../../aggregate/metrics/shared/filters.ts';
import type { Aggregator } from '../../aggregate/runner/aggregator.ts';
import { slicingOf } from '../../aggregate/slices.ts';
import { timeOfSequence } from '../../infra/coordination/sequence.ts';
import type { Clock } from '../../infra/ports.ts';
import { join, type Sql, sql } from '../../infra/sql.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { invalidParameter } from '../http/errors.ts';
import type { Readers } from '../http/readers.ts';
import { callerResponses, problemResponse, validationResponse } from '../http/responses.ts';
import { route } from '../http/route.ts';
import {
  type ChangeCursor,
  type ChangeKey,
  encodeChangeCursor,
  lowerBound,
  parseChangeCursor,
  parseChangeTime,
} from './change-cursor.ts';
import { CURSOR_CHARS_MAX } from './cursor.ts';

/** Dependencies of /api/changes. */
interface ChangeSources {
  readonly readers: Readers;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly aggregator: Pick<Aggregator, 'changeProgress'>;
}

/** Changes per response. */
const LIMIT_DEFAULT = 1000;
const LIMIT_MAX = 10_000;

interface ChangeRow {
  readonly metric: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly slice: string;
  readonly now_rows: string;
  readonly last_version: string;
  readonly at: string;
}

/** Serves the changes of metric rows. New changes are always appended at the end. */
export async function serveChanges(app: FastifyInstance, sources: ChangeSources): Promise<void> {
  const { readers, clock, registry, aggregator } = sources;
  route(
    app,
    {
      method: 'GET',
      path: '/api/changes',
      tag: 'About the data',
      summary: 'List the days or keys of each metric that changed',
      description: DESCRIPTION,
      query: changesQuery,
      responses: {
        200: {
          description: 'A page of changes',
          content: { 'application/json': { schema: changesPage, example: EXAMPLE } },
        },
        ...callerResponses,
        422: validationResponse,
        503: problemResponse('The server is busy'),
      },
    },
    async ({ query, request, reply }) => {
      const from = startOf(query);
      const reader = await readers.open(request, reply);
      const { limit = LIMIT_DEFAULT } = query;
      // `visible` bounds the changes that may be listed. No later change gets a position up to `passed`.
      const { visible, passed } = await aggregator.changeProgress();
      // Positions may come from a faster clock of another process. The later time is used, so that no change is hidden.
      const now = Math.max(clock.now(), timeOfSequence(visible));
      const ended = endOfOpenDay(now) - 1n;
      const upTo = visible < ended ? visible : ended;
      const chain = query.chain === undefined ? undefined : (registry.find(query.chain)?.name ?? query.chain);
      const metric = metricOf(query.metric);
      const changes = changesAfter(metric ? [metric] : metricsWithChanges, {
        after: lowerBound(from),
        openDay: firstOpenDay(now),
      });
      const conditions = [
        sql`position <= ${upTo}`,
        ...afterKey(from),
        ...(query.relay_chain === undefined ? [] : [sql`relay_chain = ${query.relay_chain}`]),
        ...(chain === undefined ? [] : [sql`chain = ${chain}`]),
      ];
      const rows = await reader.store().rows<ChangeRow>(
        sql`SELECT metric, relay_chain, chain, slice, toString(now_rows) AS now_rows, toString(last_version) AS last_version,
            toString(position) AS at
          FROM (${changes}) WHERE ${join(conditions, ' AND ')}
          ORDER BY position, metric, relay_chain, chain, slice LIMIT ${limit + 1}`,
      );
      reply.header('cache-control', 'no-store');
      // The next cursor must not lie before the cursor of the request.
      const end = query.cursor !== undefined && from.position > passed ? from.position : passed;
      return pageOf(rows, limit, end);
    },
  );
}

function startOf({ since, cursor }: z.output<typeof changesQuery>): ChangeCursor {
  if (since !== undefined && cursor !== undefined)
    throw invalidParameter('since', 'cannot be combined with cursor', since);
  if (cursor !== undefined) return parseChangeCursor(cursor, 'cursor');
  return since === undefined ? { position: 0n } : parseChangeTime(since, 'since');
}

const afterKey = ({ position, key }: ChangeCursor): Sql[] =>
  key === undefined
    ? []
    : [
        sql`(position > ${position} OR (toString(metric), toString(relay_chain), toString(chain), slice) > (${join(
          key.map((one) => sql`${one}`),
        )}))`,
      ];

const keyOf = ({ metric, relay_chain, chain, slice }: ChangeRow): ChangeKey => [
  metric,
  relay_chain,
  chain,
  slice,
];

/** A page of changes. The cursor of the last page is `end`, even if `since` is in the future. */
function pageOf(rows: readonly ChangeRow[], limit: number, end: bigint) {
  const hasMore = rows.length > limit;
  const page = hasMore ? rows.slice(0, limit) : rows;
  const last = page.at(-1);
  const next = hasMore && last ? { position: BigInt(last.at), key: keyOf(last) } : { position: end };
  return { changes: page.map(changeOf), cursor: encodeChangeCursor(next), has_more: hasMore };
}

function changeOf({ metric: name, relay_chain, chain, slice, now_rows, last_version, at }: ChangeRow) {
  const metric = metricOf(name) as MaterializedMetric;
  const { column: by, isByChain } = slicingOf(metric);
  // An empty slice means all rows of the relay chain.
  const column = slice === '' ? null : by;
  return {
    metric: name,
    paths: metric.endpoints.map(({ path }) => path),
    relay_chain,
    chain: isByChain && chain !== '' ? chain : null,
    column,
    value: column === null ? null : slice,
    rows: Number(now_rows),
    changed_at: new Date(timeOfSequence(BigInt(at))).toISOString(),
    run: last_version,
  };
}

const byName = new Map(metricsWithChanges.map((metric) => [metric.name, metric]));
const metricOf = (name: string | undefined) => (name === undefined ? undefined : byName.get(name));

const changesQuery = z.strictObject({
  metric: z
    .enum([...byName.keys()] as [string, ...string[]])
    .optional()
    .describe('name of a metric; default: all'),
  relay_chain: z.enum(RELAY_CHAINS).optional().describe('relay chain; default: all'),
  chain: chainName().optional().describe('name or alias of a chain; default: all'),
  since: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('ISO 8601 time to start from, by the clock of the server; default: the first change'),
  cursor: z
    .string()
    .min(1)
    .max(CURSOR_CHARS_MAX)
    .optional()
    .describe('resume from here: the `cursor` of an earlier response, of any age'),
  limit: wholeNumber(1, LIMIT_MAX)
    .optional()
    .describe(`maximum number of changes, at most ${LIMIT_MAX}; default ${LIMIT_DEFAULT}`),
});

const changesPage = z
  .object({
    changes: z.array(
      z.object({
        metric: z.string(),
        paths: z.array(z.string()).describe('where its rows are served'),
        relay_chain: z.string(),
        chain: z
          .string()
          .nullable()
          .describe('null if its rows have no chain, or if the change covers all rows'),
        column: z
          .string()
          .nullable()
          .describe(
            'the column whose value (or day, if it is a time) the rows share; null if the change covers all rows',
          ),
        value: z.string().nullable().describe('that value as text'),
        rows: z.int().describe('current number of rows; 0 if they are gone'),
        changed_at: z.iso.datetime().describe('when the rows were computed'),
        run: z.string().describe('number of the computation that changed them last; numbers grow with time'),
      }),
    ),
    cursor: z.string().describe('resume from here, now or later'),
    has_more: z.boolean().describe('true if more changes can be read now'),
  })
  .meta({ id: 'ChangesPage' });

const DESCRIPTION = `Changes are listed per slice: one day, or one value of the first key column, of one relay chain and (where rows have one) one chain. Each slice is listed once, at its last change. Recomputing without a difference does not count as a change. To keep a copy: read the list from your last cursor to its end, delete the rows it names, and insert the rows that the paths return with \`changed_since\` set to that same cursor. A change may be listed twice but is never left out. Changes are not recorded for metrics that are computed on request, nor for contract transactions and calls.`;

const EXAMPLE: z.output<typeof changesPage> = {
  changes: [
    {
      metric: 'daily_tps',
      paths: ['/api/daily-tps'],
      relay_chain: 'polkadot',
      chain: 'polkadot',
      column: 'date',
      value: '2025-07-14',
      rows: 1,
      changed_at: '2025-07-15T00:00:02.000Z',
      run: '1837847347200000000',
    },
  ],
  cursor: encodeChangeCursor({ position: 1_837_847_347_200_000_000n }),
  has_more: false,
};
