import { z } from 'zod';
import type { Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import { metrics } from '../../aggregate/metrics/index.ts';
import { callerResponses, NOT_MODIFIED, problemResponse, validationResponse } from '../http/responses.ts';
import type { MediaType, RouteDefinition } from '../http/route.ts';
import { exampleRow } from './record-examples.ts';

const records = new Map(
  metrics.map((metric) => {
    const { name, record, doc } = metric;
    return [name, z.object(servedColumns(metric)).meta({ id: record, title: record, description: doc })];
  }),
);

/** The columns of a metric; `relay_chain` becomes an enumeration of the relay chains of its paths. */
function servedColumns({ columns, endpoints }: Metric): Record<string, z.ZodType> {
  const relays = [...new Set(endpoints.flatMap((endpoint) => endpoint.relays))];
  const { relay_chain } = columns;
  if (relay_chain === undefined || relays.length === 0) return columns;
  return { ...columns, relay_chain: z.enum(relays).meta(relay_chain.meta() ?? {}) };
}

/** The OpenAPI description of an endpoint, except its parameters. */
export function describeEndpoint(
  metric: Metric,
  endpoint: MetricEndpoint,
): RouteDefinition<z.ZodType, z.ZodType, z.ZodType> {
  return {
    method: 'GET',
    path: endpoint.path,
    operationId: endpoint.path.replace(/^\/api\//, '').replaceAll('/', '-'),
    tag: 'Metrics',
    summary: endpoint.summary,
    description: metric.doc,
    responses: {
      200: {
        description: `Array of ${metric.record}`,
        headers: ANSWER_HEADERS,
        content: contentOf(metric),
      },
      304: NOT_MODIFIED,
      ...callerResponses,
      422: validationResponse,
      429: problemResponse('Rate limit of anonymous callers, or query time budget of the caller, exceeded'),
      500: problemResponse('The server failed'),
      503: problemResponse('The server is busy'),
    },
  };
}

/** The media types of the response, with the same example row in each text format. */
function contentOf(metric: Metric): Record<string, MediaType> {
  const row = exampleRow(metric.record);
  const record = records.get(metric.name) as z.ZodType;
  return {
    'application/json': { schema: z.array(record), example: [row] },
    'text/csv': { schema: z.string(), example: csvOf(row) },
    'application/x-ndjson': { schema: z.string(), example: `${JSON.stringify(row)}\n` },
    'application/vnd.apache.parquet': { schema: FILE },
    'application/vnd.apache.arrow.stream': { schema: FILE },
  };
}

const FILE = z.string().meta({ format: 'binary' });

function csvOf(row: Readonly<Record<string, unknown>>): string {
  const cell = (value: unknown) =>
    value === null ? '' : typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value);
  const line = (values: readonly unknown[]) => `${values.map(cell).join(',')}\n`;
  return line(Object.keys(row)) + line(Object.values(row));
}

const ANSWER_HEADERS = {
  ETag: 'changes if the rows may have changed',
  Link: 'URL of the next page, if the response is partial',
  'X-Truncated': 'true when the response is partial',
  'X-Unknown-Chain': 'set if the requested chain is unknown; suggests the closest name',
  'X-Data-As-Of': 'time of the newest block that the rows include',
  'X-Data-Lag-Seconds': 'seconds since `X-Data-As-Of`',
  'X-Coverage': 'complete; or partial if blocks are missing in the range, or rows of past days are pending',
  'X-Pending-From': 'earliest loaded day that the rows do not include yet; absent if they include all',
  'X-Pending-Reason':
    'why the rows do not include these days yet: loaded (waits for the next computation), never_computed, recipe_changed or failed',
  'X-Provisional-From': 'first day that is not over; its rows still change',
};
