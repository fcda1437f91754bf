import { dependencies, type Metric, type MetricEndpoint } from '../../../aggregate/metric.ts';
import { materializedMetrics, metrics } from '../../../aggregate/metrics/index.ts';
import { contracts } from '../lists/contracts.ts';
import { coretime } from '../lists/coretime.ts';
import { extrinsics } from '../lists/explorer/explorer.ts';
import { governance } from '../lists/governance.ts';

/** A path of the API as a page shows it. */
export interface ShownMetric {
  /** The path without `/api/`, where `/` is `-`. */
  readonly id: string;
  readonly title: string;
  readonly metric: Metric;
  readonly endpoint: MetricEndpoint;
  /** The raw tables that it is computed from. */
  readonly sources: readonly string[];
  /** The page that lists its rows, if one exists. */
  readonly list?: string;
}

const tables = new Map(materializedMetrics.map((metric) => [metric.name, metric]));

const lists = new Map(
  [...governance.pages, ...coretime.pages, ...contracts.pages, extrinsics].map(
    ({ source, path }) => [source.endpoint.path, path] as const,
  ),
);

export const shownMetrics: readonly ShownMetric[] = metrics.flatMap((metric) =>
  metric.endpoints.map((endpoint) => {
    const list = lists.get(endpoint.path);
    return {
      id: endpoint.path.replace('/api/', '').replaceAll('/', '-'),
      title: endpoint.title ?? metric.title,
      metric,
      endpoint,
      sources: [...rawTablesOf(metric)].sort(),
      ...(list !== undefined && { list }),
    };
  }),
);

export const shownMetric = (id: string): ShownMetric | undefined => shownMetrics.find((one) => one.id === id);

/** The raw tables that a metric reads, directly or through other metrics. */
function rawTablesOf(metric: Metric): Set<string> {
  const direct =
    metric.materialized === false
      ? metric.select({ relay_chain: 'polkadot', chain: 'polkadot' }).tables
      : dependencies(metric);
  return new Set(
    [...direct].flatMap((name) => {
      const other = tables.get(name);
      return other === undefined ? [name] : other === metric ? [] : [...rawTablesOf(other)];
    }),
  );
}
