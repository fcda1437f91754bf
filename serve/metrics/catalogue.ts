import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Column, displayOf } from '../../aggregate/columns.ts';
import { isTimeSeries, type Metric, type WindowSize } from '../../aggregate/metric.ts';
import { metrics } from '../../aggregate/metrics/index.ts';
import { chainName } from '../../aggregate/metrics/shared/filters.ts';
import type { ChainCoverage, SystemStatus } from '../../aggregate/status/status.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { PUBLIC_CACHE_CONTROL } from '../http/caching.ts';
import { constantJson } from '../http/constant-answer.ts';
import {
  callerResponses,
  NOT_MODIFIED,
  noParameters,
  problemResponse,
  validationResponse,
} from '../http/responses.ts';
import { route } from '../http/route.ts';
import {
  COVERAGE_EXAMPLE,
  catalogueEntry,
  coverageSchema,
  STATUS_EXAMPLE,
  statusSchema,
} from './catalogue-shapes.ts';
import { orderOf } from './cursor.ts';
import { parametersOf, type RowBounds } from './parameters.ts';

/** Dependencies of the endpoints about the data. */
interface CatalogueSources {
  readonly status: () => Promise<SystemStatus>;
  readonly coverage: () => Promise<readonly ChainCoverage[]>;
  readonly registry: Registry;
  readonly settings: RowBounds;
}

/** Values of `kept` by window size. The catalogue does not expose that some daily rows are computed hour by hour. */
const KEPT = {
  onRead: 'onRead',
  hourly: 'daily',
  daily: 'daily',
  monthly: 'monthly',
  whole: 'whole',
} as const satisfies Record<WindowSize | 'onRead', string>;

/** Serves the list of metrics, the status of the data, and their coverage. */
export async function serveCatalogue(
  app: FastifyInstance,
  { status, coverage, registry, settings }: CatalogueSources,
): Promise<void> {
  const catalogue = metrics.flatMap((metric) =>
    metric.endpoints.map((endpoint) => ({
      path: endpoint.path,
      record: metric.record,
      title: endpoint.title ?? metric.title,
      domain: metric.domain,
      definition: metric.doc,
      kept: KEPT[metric.materialized || 'onRead'],
      relay_chains: endpoint.relays,
      ...(endpoint.dates?.floor === undefined ? {} : { served_from: endpoint.dates.floor }),
      order: orderOf(metric, endpoint).map(({ column, descending }) =>
        descending ? `${column} descending` : column,
      ),
      parameters: parametersOf(metric, endpoint, settings).map(({ name, required, doc }) => ({
        name,
        required,
        meaning: doc,
      })),
      fields: Object.entries(metric.columns).map(([name, column]) => fieldOf(metric, name, column)),
    })),
  );
  const answer = constantJson(() => catalogue);
  route(
    app,
    {
      method: 'GET',
      path: '/api/metrics',
      tag: TAG,
      summary: 'Every metric with its definition, fields, units and parameters',
      query: noParameters,
      responses: { ...responsesOf(z.array(catalogueEntry), [catalogue[0]]), 304: NOT_MODIFIED },
    },
    ({ request, reply }) => answer.send(request, reply),
  );
  route(
    app,
    {
      method: 'GET',
      path: '/api/status',
      tag: TAG,
      summary: 'Heights, gaps and lag of every chain; pending and failed computations',
      query: noParameters,
      responses: responsesOf(statusSchema, STATUS_EXAMPLE),
    },
    async ({ reply }) => {
      reply.header('cache-control', PUBLIC_CACHE_CONTROL);
      return publicStatus(await status());
    },
  );
  route(
    app,
    {
      method: 'GET',
      path: '/api/coverage',
      tag: TAG,
      summary: 'Missing heights, missing days and days without a price',
      query: coverageQuery,
      responses: responsesOf(z.array(coverageSchema), [COVERAGE_EXAMPLE]),
    },
    async ({ query: { relay_chain, chain }, reply }) => {
      reply.header('cache-control', PUBLIC_CACHE_CONTROL);
      const name = chain === undefined ? undefined : (registry.find(chain)?.name ?? chain);
      const isWanted = (one: ChainCoverage) =>
        (relay_chain === undefined || one.relay_chain === relay_chain) &&
        (name === undefined || one.chain === name);
      return (await coverage()).filter(isWanted).map(publicCoverage);
    },
  );
}

function fieldOf(metric: Metric, name: string, column: Column) {
  const { title, unit, overTime, overChains, isDrawn } = displayOf(column);
  return {
    name,
    title,
    meaning: column.description ?? '',
    nullable: column.safeParse(null).success,
    unit,
    over_time: overTime,
    over_chains: overChains,
    drawn: isDrawn && isTimeSeries(metric),
  };
}

/** Removes the reasons of failed computations: they may contain ClickHouse messages, which only operators may read. */
function publicStatus(status: SystemStatus): SystemStatus {
  const failed = status.computing.failed.map((job) => ({ ...job, reason: 'see the log of the server' }));
  return { ...status, computing: { ...status.computing, failed } };
}

/** Removes the reasons of skipped heights: they contain the address of the source. */
function publicCoverage({ skipped_heights: { total, heights }, ...coverage }: ChainCoverage) {
  return {
    ...coverage,
    skipped_heights: { total, heights: heights.map(({ reason: _reason, ...height }) => height) },
  };
}

const coverageQuery = z.strictObject({
  relay_chain: z.enum(RELAY_CHAINS).optional().describe('relay chain; default: all'),
  chain: chainName().optional().describe('name or alias of a chain; default: all'),
});

const TAG = 'About the data';

const responsesOf = (schema: z.ZodType, example: unknown) => ({
  200: { description: 'Current state', content: { 'application/json': { schema, example } } },
  ...callerResponses,
  422: validationResponse,
  503: problemResponse('The server is busy'),
});
