import type { MaterializedMetric, Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import { toKebabCase, toSnakeCase } from '../../aggregate/metric-name.ts';
import { materializedMetrics, metrics } from '../../aggregate/metrics/index.ts';
import { ProductError } from '../../infra/errors.ts';
import { didYouMean } from '../../infra/nearest-name.ts';

/** Metrics by record name, snake case, kebab case or path; without names, all materialized ones. */
export function findMetrics(names: readonly string[]): readonly MaterializedMetric[] {
  return names.length === 0 ? materializedMetrics : [...new Set(names.map(findMetric))];
}

function findMetric(name: string): MaterializedMetric {
  const found = metrics.find((metric) => isCalled(metric, name));
  if (!found) throw unknown(name, materializedMetrics);
  if (found.materialized === false) {
    throw new ProductError(
      'unknown_metric',
      `${name} is computed on each request: there is nothing to rebuild`,
    );
  }
  return found;
}

/** Finds a metric and its endpoint with this path; for any other name, its first endpoint. */
export function findEndpoint(name: string): { metric: Metric; endpoint: MetricEndpoint } {
  const served = metrics.filter(({ endpoints }) => endpoints.length > 0);
  const metric = served.find((metric) => isCalled(metric, name));
  const endpoint = metric?.endpoints.find(({ path }) => plain(path) === plain(name)) ?? metric?.endpoints[0];
  if (!metric || !endpoint) throw unknown(name, served);
  return { metric, endpoint };
}

function isCalled(metric: Metric, name: string): boolean {
  const wanted = plain(name);
  return (
    plain(metric.record) === wanted || metric.endpoints.some((endpoint) => plain(endpoint.path) === wanted)
  );
}

function unknown(name: string, among: readonly Metric[]): ProductError {
  const known = among.map((metric) => toKebabCase(metric.name));
  const near = didYouMean(toKebabCase(plain(name)), known);
  const others = near ? `: ${near}` : `; use one of ${known.join(', ')}`;
  return new ProductError('unknown_metric', `no metric is called ${name}${others}`);
}

/** `DailyFees`, `daily-fees`, `/api/daily-fees` and `daily_fees` are one name. */
function plain(name: string): string {
  return toSnakeCase(name.replace(/^\/?(api\/)?/, '').replaceAll(/[-/]/g, '_')).replaceAll(/_+/g, '_');
}
