import { type Column, displayOf } from '../../../aggregate/columns.ts';
import {
  isTimeSeries,
  type MaterializedMetric,
  type MetricEndpoint,
  seriesDimensions,
} from '../../../aggregate/metric.ts';
import { materializedMetrics } from '../../../aggregate/metrics/index.ts';
import type { ColumnDisplay, Unit } from '../../../aggregate/units.ts';
import { inSentence } from '../model/format.ts';

/** A metric path that can be charted over days or months. It has a line per chain, or per part of a chain. */
export interface ChartMetric {
  /** The path without `/api/`, as in URLs of pages. */
  readonly id: string;
  readonly metric: MaterializedMetric;
  readonly endpoint: MetricEndpoint;
  /** The column with the day of a row, or the last day of its month. */
  readonly dayColumn: string;
  readonly isMonthly: boolean;
  /** The key columns that distinguish several lines of a chain. */
  readonly parts: readonly string[];
  readonly columns: readonly ChartColumn[];
}

/** A column that can be charted. */
export interface ChartColumn {
  readonly name: string;
  readonly shown: ColumnDisplay & { readonly unit: Unit };
  readonly meaning: string;
}

export const chartMetrics: readonly ChartMetric[] = materializedMetrics
  .filter(isTimeSeries)
  .flatMap((metric) => metric.endpoints.flatMap((endpoint) => drawn(metric, endpoint)));

function drawn(metric: MaterializedMetric, endpoint: MetricEndpoint): ChartMetric[] {
  const dayColumn = endpoint.dates?.column;
  const columns = Object.entries(metric.columns).flatMap(([name, column]) => drawnColumn(name, column));
  if (!dayColumn || columns.length === 0) return [];
  const id = endpoint.path.replace('/api/', '');
  const isMonthly = metric.key.includes('month');
  return [{ id, metric, endpoint, dayColumn, isMonthly, parts: seriesDimensions(metric), columns }];
}

function drawnColumn(name: string, column: Column): ChartColumn[] {
  const { unit, ...shown } = displayOf(column);
  if (unit === null || !shown.isDrawn) return [];
  return [{ name, shown: { ...shown, unit }, meaning: column.description ?? '' }];
}

/** Finds a column by name; by default the main column, or the one with the title of the metric, or the first. */
export function chartColumnOf({ columns, metric }: ChartMetric, name: string | null): ChartColumn {
  const found =
    columns.find((column) => column.name === name) ??
    columns.find((column) => column.name === metric.mainColumn) ??
    columns.find(({ shown }) => shown.title === metric.title) ??
    columns[0];
  if (found === undefined) throw new Error(`${metric.name} has no column to chart`);
  return found;
}

const byId = new Map(chartMetrics.map((metric) => [metric.id, metric]));

export const chartMetric = (id: string): ChartMetric | undefined => byId.get(id);

/** A line of a chart: a column of a metric for a chain or a part of it. */
export interface Line {
  readonly metric: ChartMetric;
  readonly column: ChartColumn;
  readonly relay_chain: string;
  readonly chain: string;
  /** Values of the part columns. */
  readonly parts: readonly string[];
}

/** The titles of metric and column, or one of them if they are the same. */
export function fullTitle({
  metric: { metric },
  column: { shown },
}: Pick<Line, 'metric' | 'column'>): string {
  return metric.title === shown.title ? shown.title : `${metric.title}: ${inSentence(shown.title)}`;
}

/** `METRIC.COLUMN@RELAY/CHAIN`, and `:PART` if a chain has several lines. Parts are separated by `/`. */
export function lineId({ metric, column, relay_chain, chain, parts }: Line): string {
  const ofChain = `${metric.id}.${column.name}@${relay_chain}/${chain}`;
  return parts.length === 0 ? ofChain : `${ofChain}:${parts.map(encodeURIComponent).join('/')}`;
}

/** Maximum length of the id of a line. */
export const LINE_CHARS_MAX = 300;
const LINE = /^([a-z0-9-]+)\.([a-z0-9_]+)@([a-z]+)\/([a-z0-9_-]+)(?::(.+))?$/;

/** Parses the id of a line. Returns an error text for the caller if it is invalid. */
export function lineOf(id: string): Line | string {
  const [, metricId = '', columnName = '', relay_chain = '', chain = '', part] =
    LINE.exec(id.slice(0, LINE_CHARS_MAX + 1)) ?? [];
  if (metricId === '') return 'must have the form METRIC.COLUMN@RELAY/CHAIN';
  const metric = chartMetric(metricId);
  if (metric === undefined) return `no chart of ${metricId}; use one of ${[...byId.keys()].join(', ')}`;
  const column = metric.columns.find(({ name }) => name === columnName);
  if (column === undefined) {
    return `${metricId} has no chart of ${columnName}; use one of ${metric.columns.map(({ name }) => name).join(', ')}`;
  }
  if (!metric.endpoint.relays.some((relay) => relay === relay_chain)) {
    return `${metricId} covers only ${metric.endpoint.relays.join(', ')}`;
  }
  const parts = part?.split('/').map(decoded) ?? [];
  if (parts.length === metric.parts.length) return { metric, column, relay_chain, chain, parts };
  const form = ['METRIC.COLUMN@RELAY/CHAIN', metric.parts.join('/').toUpperCase()];
  return `must have the form ${form.filter((text) => text !== '').join(':')} for ${metricId}`;
}

/** Decodes percent-encoding; returns invalid text unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded.
    return text;
  }
}
