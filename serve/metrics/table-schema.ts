import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Column, displayOf } from '../../aggregate/columns.ts';
import type { Metric } from '../../aggregate/metric.ts';
import { MERGES, UNITS } from '../../aggregate/units.ts';
import { callerResponses, noParameters, problemResponse, validationResponse } from '../http/responses.ts';
import { route } from '../http/route.ts';
import { findEndpoint } from './metric-names.ts';

const TYPES = [
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'datetime',
  'array',
  'object',
  'any',
] as const;

const shape = z
  .object({
    $schema: z.literal('https://datapackage.org/profiles/2.0/tableschema.json'),
    title: z.string(),
    description: z.string(),
    fields: z.array(
      z.object({
        name: z.string(),
        type: z.enum(TYPES),
        title: z.string(),
        description: z.string(),
        constraints: z.object({ required: z.boolean().describe('true if the value is never null') }),
        unit: z.enum(UNITS).nullable().describe('as `/api/metrics` explains it'),
        over_time: z.enum(MERGES),
        over_chains: z.enum(MERGES),
      }),
    ),
    primaryKey: z
      .array(z.string())
      .optional()
      .describe('absent if the key contains columns that are not served'),
  })
  .meta({ id: 'TableSchema' });

/** The columns of a metric as a Frictionless Table Schema: Parquet and Arrow files have no descriptions of columns. */
export function tableSchemaOf({ title, doc, columns, key }: Metric): z.output<typeof shape> {
  return {
    $schema: 'https://datapackage.org/profiles/2.0/tableschema.json',
    title,
    description: doc,
    fields: Object.entries(columns).map(([name, column]) => {
      const { title, unit, overTime, overChains } = displayOf(column);
      return {
        ...{ name, type: typeOf(column), title, description: column.description ?? '' },
        constraints: { required: !column.safeParse(null).success },
        ...{ unit, over_time: overTime, over_chains: overChains },
      };
    }),
    ...(key.every((name) => name in columns) && { primaryKey: [...key] }),
  };
}

/** The JSON type of a column, without null. */
function typeOf(column: Column): (typeof TYPES)[number] {
  const { anyOf, ...whole } = z.toJSONSchema(column);
  const { type, format } = anyOf?.find((one) => one.type !== 'null') ?? whole;
  if (format === 'date') return 'date';
  if (format === 'date-time') return 'datetime';
  return TYPES.find((one) => one === type) ?? 'any';
}

/** Serves the table schema of a metric by any of its names. */
export function serveTableSchemas(app: FastifyInstance): void {
  route(
    app,
    {
      method: 'GET',
      path: '/api/metrics/:metric/schema',
      tag: 'About the data',
      summary: 'Columns of a metric as a Frictionless Table Schema, for loading its files',
      params: z.object({
        metric: z.string().meta({ description: 'name or path of a metric', example: 'daily-fees' }),
      }),
      query: noParameters,
      responses: {
        200: {
          description: 'The same for every format',
          content: {
            'application/json': { schema: shape, example: tableSchemaOf(findEndpoint('daily-tps').metric) },
          },
        },
        ...callerResponses,
        404: problemResponse('No metric has this name'),
        422: validationResponse,
      },
    },
    ({ params: { metric } }) => tableSchemaOf(findEndpoint(metric).metric),
  );
}
