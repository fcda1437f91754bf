import { z } from 'zod';
import type { MaterializedMetric, Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import { chainName, wholeNumber } from '../../aggregate/metrics/shared/filters.ts';
import { slicingOf, supportsChanges } from '../../aggregate/slices.ts';
import { clampDay, FIRST_DAY, LAST_DAY } from '../../infra/clickhouse/date-range.ts';
import type { Sql } from '../../infra/sql.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { invalidParameter } from '../http/errors.ts';
import type { HttpSettings } from '../http/settings.ts';
import { parseChangedSince } from './change-cursor.ts';
import { CURSOR_CHARS_MAX, directionOf, type OrderDirection, orderOf } from './cursor.ts';
import { exampleValue } from './record-examples.ts';
import { acceptedFormat, RESPONSE_FORMATS } from './response-formats.ts';

export interface Parameter {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly required: boolean;
  readonly doc: string;
  /** For a required parameter: a value that matches the example row. */
  readonly example?: unknown;
}

const NO_DAY = 'must be a date of the form YYYY-MM-DD';
/** A day from 0001-01-01 to 9999-12-31. */
export const date = z.iso.date(NO_DAY).refine((day) => day >= '0001', NO_DAY);

/** Throws if both days are set and the end precedes the start. */
export function requireDateOrder(start: string | undefined, end: string | undefined): void {
  if (start !== undefined && end !== undefined && start > end)
    throw invalidParameter('end_date', 'end_date is before start_date', end);
}

/** Row limits of a response. */
export type RowBounds = Pick<HttpSettings, 'LIST_ROWS_MAX' | 'SERIES_ROWS_MAX'>;

/** Row limit of a request without `limit`. */
export const rowsWithoutLimit = (endpoint: MetricEndpoint, bounds: RowBounds): number =>
  endpoint.isLimited ? bounds.LIST_ROWS_MAX : bounds.SERIES_ROWS_MAX;

/** The parameters of a path, for validation, the OpenAPI document and the catalogue. */
export function parametersOf(metric: Metric, endpoint: MetricEndpoint, bounds: RowBounds): Parameter[] {
  const takes: readonly string[] = endpoint.scopeParameters ?? ['relay_chain', 'chain'];
  const common: Parameter[] = [
    { name: 'relay_chain', schema: z.enum(endpoint.relays), required: false, doc: relayDoc(endpoint) },
    { name: 'chain', schema: chainName(), required: false, doc: chainDoc(endpoint) },
  ].filter(({ name }) => takes.includes(name));
  const dates: Parameter[] = endpoint.dates
    ? [
        {
          name: 'start_date',
          schema: date,
          required: endpoint.dates.required,
          doc: `first day, inclusive${actsOn(endpoint)}${endpoint.dates.floor ? `; data are served from ${endpoint.dates.floor}` : ''}`,
        },
        {
          name: 'end_date',
          schema: date,
          required: endpoint.dates.required,
          doc: `last day, inclusive${actsOn(endpoint)}`,
        },
      ]
    : [];
  const filters = Object.entries(endpoint.filters ?? {}).map(
    ([name, { schema, required = false }]): Parameter => ({
      name,
      schema,
      required,
      doc: schema.description ?? '',
    }),
  );
  const order = orderOf(metric, endpoint);
  const paging: Parameter[] = [
    {
      name: 'order',
      schema: z.enum(['asc', 'desc']),
      required: false,
      doc: `sort direction of \`${order[0]?.column}\`; the other sort columns reverse with it. Default: \`${directionOf(order)}\``,
    },
    {
      name: 'limit',
      schema: wholeNumber(1, bounds.LIST_ROWS_MAX),
      required: false,
      doc: `maximum number of rows, at most ${bounds.LIST_ROWS_MAX}; without it, up to ${rowsWithoutLimit(endpoint, bounds)}. Follow \`Link: rel="next"\` for the rest`,
    },
    {
      name: 'cursor',
      schema: z.string().min(1).max(CURSOR_CHARS_MAX),
      required: false,
      doc: 'cursor from the `Link` header of the previous page',
    },
    {
      name: 'format',
      schema: z.enum(Object.keys(RESPONSE_FORMATS) as [string, ...string[]]),
      required: false,
      doc: 'response format; overrides the `Accept` header',
    },
    {
      name: 'bom',
      schema: z.enum(['true', 'false']),
      required: false,
      doc: 'for CSV in spreadsheets: `true` adds a byte order mark, so that Excel reads UTF-8, and an apostrophe before text that would run as a formula. Default: `false`',
    },
  ];
  return [...common, ...dates, ...filters, ...changedSince(metric), ...paging].map((parameter) =>
    parameter.required ? { ...parameter, example: exampleValue(metric.record, parameter.name) } : parameter,
  );
}

function changedSince(metric: Metric): Parameter[] {
  if (!supportsChanges(metric)) return [];
  return [
    {
      name: 'changed_since',
      schema: z.string().min(1).max(CURSOR_CHARS_MAX),
      required: false,
      doc: `returns all rows of the ${slicesOf(metric)} that changed since this point: a cursor from \`/api/changes\` or an ISO 8601 time. Deleted rows appear only in \`/api/changes\``,
    },
  ];
}

/** The slices in which `/api/changes` lists the changes of a metric. */
function slicesOf(metric: MaterializedMetric): string {
  const { column, isByDay, isByChain } = slicingOf(metric);
  const of = isByChain ? 'chains' : 'relay chains';
  if (column === null) return of;
  return isByDay ? `days (by \`${column}\`) and ${of}` : `values of \`${column}\` and ${of}`;
}

function actsOn(endpoint: MetricEndpoint): string {
  return endpoint.dates?.column ? `, by \`${endpoint.dates.column}\`` : '; accepted and unused';
}

function relayDoc(endpoint: MetricEndpoint): string {
  return `relay chain; default: ${endpoint.defaults ? `that of the given chain, or \`${endpoint.defaults.relay_chain}\`` : 'all'}`;
}

function chainDoc(endpoint: MetricEndpoint): string {
  const omitted = endpoint.defaults?.chain ? `\`${endpoint.defaults.chain}\`` : 'all';
  return `name or alias of a chain; default: ${omitted}`;
}

export interface Query {
  readonly relay_chain: string | undefined;
  readonly chain: string | undefined;
  /** Whether the request has a first or last day. If not, `start` and `end` cover all days. */
  readonly isDated: boolean;
  readonly start: string;
  readonly end: string;
  readonly conditions: readonly Sql[];
  readonly order: OrderDirection | undefined;
  /** Position of `/api/changes` after which a slice must have changed. */
  readonly changedSince: bigint | undefined;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
  /** The UTC day that is not over yet. */
  readonly today: string;
  readonly format: string | undefined;
  /** Whether the rows are CSV for a spreadsheet. */
  readonly bom: boolean;
}

/** The schema of the query string of a path; it rejects unknown parameters. */
export function querySchema(parameters: readonly Parameter[]) {
  const names = parameters.map(({ name }) => name).join(', ');
  return z.strictObject(
    Object.fromEntries(
      parameters.map(({ name, schema, required, doc, example }) => {
        const value = schema instanceof z.ZodArray ? z.preprocess(listOf, schema) : schema;
        return [
          name,
          (required ? value : value.optional()).meta({
            description: doc,
            ...(example === undefined ? {} : { example }),
          }),
        ];
      }),
    ),
    {
      error: ({ code }) =>
        code === 'unrecognized_keys' ? `unknown parameter; use one of ${names}` : undefined,
    },
  );
}

/** The query of a request, from its validated parameters. */
export function queryOf(
  endpoint: MetricEndpoint,
  values: Readonly<Record<string, unknown>>,
  registry: Registry,
  today: string,
): Query {
  const { start_date, end_date } = values as Record<string, string | undefined>;
  requireDateOrder(start_date, end_date);
  const named = values.chain as string | undefined;
  const chain = named === undefined ? endpoint.defaults?.chain : (registry.find(named)?.name ?? named);
  const relay =
    (values.relay_chain as string | undefined) ??
    (endpoint.defaults === undefined
      ? undefined
      : named === undefined
        ? endpoint.defaults.relay_chain
        : registry.relayOf(named));
  return {
    relay_chain: relay,
    chain,
    isDated: start_date !== undefined || end_date !== undefined,
    start: clampDay(start_date ?? FIRST_DAY),
    end: clampDay(end_date ?? LAST_DAY),
    conditions: Object.entries(endpoint.filters ?? {}).flatMap(([name, { condition }]) =>
      values[name] === undefined ? [] : [condition(values[name] as never)],
    ),
    order: values.order as OrderDirection | undefined,
    changedSince:
      values.changed_since === undefined ? undefined : parseChangedSince(values.changed_since as string),
    limit: values.limit as number | undefined,
    cursor: values.cursor as string | undefined,
    format: values.format as string | undefined,
    bom: values.bom === 'true',
    today,
  };
}

/** The response format: `format`, or else the one that `Accept` selects. */
export function formatOf({ format, bom }: Query, accept: string | undefined): string {
  const chosen = format ?? acceptedFormat(accept);
  if (bom && chosen !== 'csv') throw invalidParameter('bom', 'applies to CSV only: add format=csv', 'true');
  return chosen;
}

/** Fastify parses a repeatable parameter that is sent once as a single value. */
const listOf = (value: unknown) => (value === undefined || Array.isArray(value) ? value : [value]);
