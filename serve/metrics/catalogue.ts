import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { metrics } from '../../aggregate/metrics/index.ts';
import { readCoverage, readStatus, type SystemStatus } from '../../aggregate/status/status.ts';
import type { Clock, Store } from '../../infra/ports.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { ParameterError } from '../http/errors.ts';
import type { HttpSettings } from '../http/settings.ts';
import { orderOf, parametersOf } from './parameters.ts';

/** What the endpoints about the data read. */
export interface CatalogueSources {
  readonly store: Store;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly aggregator: Parameters<typeof readStatus>[1];
  readonly settings: Pick<HttpSettings, 'LIST_ROWS_MAX'>;
}

/** Serves what is there to query, and how fresh and complete it is. */
export async function serveCatalogue(
  app: FastifyInstance,
  { store, clock, registry, aggregator, settings }: CatalogueSources,
): Promise<void> {
  const catalogue = metrics.flatMap((metric) =>
    metric.endpoints.map((endpoint) => ({
      path: endpoint.path,
      record: metric.record,
      definition: metric.doc,
      kept: metric.materialized === false ? 'onRead' : metric.materialized,
      relay_chains: endpoint.relays,
      ...(endpoint.dates?.floor === undefined ? {} : { served_from: endpoint.dates.floor }),
      order: orderOf(metric, endpoint).map(({ column, descending }) =>
        descending ? `${column} descending` : column,
      ),
      parameters: parametersOf(endpoint, settings.LIST_ROWS_MAX).map(({ name, required, doc }) => ({
        name,
        required,
        meaning: doc,
      })),
      fields: Object.entries(metric.columns).map(([name, column]) => ({
        name,
        meaning: column.description ?? '',
        nullable: column.safeParse(null).success,
      })),
    })),
  );
  app.get(
    '/api/metrics',
    { schema: about('Every metric with its definition, fields, units and parameters') },
    async () => catalogue,
  );
  app.get(
    '/api/status',
    { schema: about('Heights, holes and lag of every chain; what waits and what failed') },
    async () => publicStatus(await readStatus({ store, clock }, aggregator)),
  );
  app.get(
    '/api/coverage',
    {
      schema: {
        ...about('Missing heights, missing days and days without a price'),
        querystring: {
          type: 'object',
          properties: {
            relay_chain: { type: 'string', description: 'relay chain; all when omitted' },
            chain: { type: 'string', description: 'chain by its name or an alias; all when omitted' },
          },
        },
      },
    },
    async (request) => {
      const read = coverageQuery.safeParse(request.query);
      if (!read.success) {
        throw new ParameterError(
          read.error.issues.map((issue) => ({
            type: issue.code === 'unrecognized_keys' ? 'extra_forbidden' : 'value_error',
            loc: ['query', ...(issue.code === 'unrecognized_keys' ? issue.keys : issue.path.map(String))],
            msg: issue.message,
          })),
        );
      }
      const { relay_chain, chain } = read.data;
      return readCoverage(store, registry, {
        ...(relay_chain === undefined ? {} : { relay_chain }),
        ...(chain === undefined ? {} : { chain: registry.find(chain)?.name ?? chain }),
      });
    },
  );
}

/** Why a computation failed may hold the engine's own words: those are for the operator's command line. */
function publicStatus(status: SystemStatus): SystemStatus {
  const failed = status.computing.failed.map((job) => ({ ...job, reason: 'the operator’s log says why' }));
  return { ...status, computing: { ...status.computing, failed } };
}

const coverageQuery = z.strictObject({
  relay_chain: z.enum(['polkadot', 'kusama', 'westend', 'solo']).optional(),
  chain: z.string().min(1).optional(),
});

function about(summary: string): object {
  return { summary, tags: ['About the data'] };
}
