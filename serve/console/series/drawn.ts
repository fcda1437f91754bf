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

/** A path of a metric with lines over days or months: one for each chain, or one for each part of it. */
export interface DrawnMetric {
  /** The path without `/api/`, which names the metric in addresses. */
  readonly id: string;
  readonly metric: MaterializedMetric;
  readonly endpoint: MetricEndpoint;
  /** The column with the day of a row, or the last day of its month. */
  readonly dayColumn: string;
  readonly isMonthly: boolean;
  /** The columns that tell the lines of a chain apart. */
  readonly parts: readonly string[];
  readonly columns: readonly DrawnColumn[];
}

/** A column that says something on a chart. */
export interface DrawnColumn {
  readonly name: string;
  readonly shown: ColumnDisplay & { readonly unit: Unit };
  readonly meaning: string;
}

export const drawnMetrics: readonly DrawnMetric[] = materializedMetrics
  .filter(isTimeSeries)
  .flatMap((metric) => metric.endpoints.flatMap((endpoint) => drawn(metric, endpoint)));

function drawn(metric: MaterializedMetric, endpoint: MetricEndpoint): DrawnMetric[] {
  const dayColumn = endpoint.dates?.column;
  const columns = Object.entries(metric.columns).flatMap(([name, column]) => drawnColumn(name, column));
  if (!dayColumn || columns.length === 0) return [];
  const id = endpoint.path.replace('/api/', '');
  const isMonthly = metric.key.includes('month');
  return [{ id, metric, endpoint, dayColumn, isMonthly, parts: seriesDimensions(metric), columns }];
}

function drawnColumn(name: string, column: Column): DrawnColumn[] {
  const { unit, ...shown } = displayOf(column);
  if (unit === null || !shown.isDrawn) return [];
  return [{ name, shown: { ...shown, unit }, meaning: column.description ?? '' }];
}

/** The column of a metric by its name; by default the main one, which may be the one that the metric is called after. */
export function drawnColumnOf({ columns, metric }: DrawnMetric, name: string | null): DrawnColumn {
  const found =
    columns.find((column) => column.name === name) ??
    columns.find((column) => column.name === metric.mainColumn) ??
    columns.find(({ shown }) => shown.title === metric.title) ??
    columns[0];
  if (found === undefined) throw new Error('a metric without a column to draw');
  return found;
}

const byId = new Map(drawnMetrics.map((metric) => [metric.id, metric]));

export const drawnMetric = (id: string): DrawnMetric | undefined => byId.get(id);

/** One line of a chart: a column of a metric for one chain, or for a part of it. */
export interface Line {
  readonly metric: DrawnMetric;
  readonly column: DrawnColumn;
  readonly relay_chain: string;
  readonly chain: string;
  /** The values of the columns that tell the lines of the chain apart. */
  readonly parts: readonly string[];
}

/** The title of a column after that of its metric, where they differ. */
export function fullTitle({
  metric: { metric },
  column: { shown },
}: Pick<Line, 'metric' | 'column'>): string {
  return metric.title === shown.title ? shown.title : `${metric.title}: ${inSentence(shown.title)}`;
}

/** `METRIC.COLUMN@RELAY/CHAIN`, and `:PART` where a chain has several lines; further parts follow after `/`. */
export function lineId({ metric, column, relay_chain, chain, parts }: Line): string {
  const ofChain = `${metric.id}.${column.name}@${relay_chain}/${chain}`;
  return parts.length === 0 ? ofChain : `${ofChain}:${parts.map(encodeURIComponent).join('/')}`;
}

/** Longest text that can name a line. */
export const LINE_CHARS_MAX = 300;
const LINE = /^([a-z0-9-]+)\.([a-z0-9_]+)@([a-z]+)\/([a-z0-9_-]+)(?::(.+))?$/;

/** The line of an id; or what is wrong with it, in words for the caller. */
export function lineOf(id: string): Line | string {
  const [, metricId = '', columnName = '', relay_chain = '', chain = '', part] =
    LINE.exec(id.slice(0, LINE_CHARS_MAX + 1)) ?? [];
  if (metricId === '') return 'not of the form METRIC.COLUMN@RELAY/CHAIN';
  const metric = drawnMetric(metricId);
  if (metric === undefined) return `no chart of ${metricId}; there are ${[...byId.keys()].join(', ')}`;
  const column = metric.columns.find(({ name }) => name === columnName);
  if (column === undefined) {
    return `${metricId} has no chart of ${columnName}; it has ${metric.columns.map(({ name }) => name).join(', ')}`;
  }
  if (!metric.endpoint.relays.some((relay) => relay === relay_chain)) {
    return `${metricId} is of ${metric.endpoint.relays.join(', ')}`;
  }
  const parts = part?.split('/').map(decoded) ?? [];
  if (parts.length === metric.parts.length) return { metric, column, relay_chain, chain, parts };
  const form = ['METRIC.COLUMN@RELAY/CHAIN', metric.parts.join('/').toUpperCase()];
  return `not of the form ${form.filter((text) => text !== '').join(':')}, as the lines of ${metricId}`;
}

/** What is not encoded as in an address stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Text that is not encoded stands for itself.
    return text;
  }
}
