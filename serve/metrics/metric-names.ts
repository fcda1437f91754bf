import { type Ask, type KeptMetric, type Metric, snake } from '../../aggregate/metric.ts';
import { keptMetrics, metrics } from '../../aggregate/metrics/index.ts';
import { ProductError } from '../../infra/errors.ts';

/** Metrics by record name, snake case, kebab case or path; all that are kept when none is named. */
export function findMetrics(names: readonly string[]): readonly KeptMetric[] {
  return names.length === 0 ? keptMetrics : [...new Set(names.map(findMetric))];
}

function findMetric(name: string): KeptMetric {
  const found = metrics.find((metric) => isCalled(metric, name));
  if (!found) throw unknown(name, keptMetrics);
  if (found.kept === 'onRead') {
    throw new ProductError(
      'unknown_metric',
      `${name} is computed whenever it is read: there is nothing to rebuild`,
    );
  }
  return found;
}

/** A metric as readers get it: by a path what that path serves, by another name what its first path does. */
export function findServed(name: string): { metric: Metric; ask: Ask } {
  const served = metrics.filter(({ asks }) => asks.length > 0);
  const metric = served.find((metric) => isCalled(metric, name));
  const ask = metric?.asks.find(({ path }) => plain(path) === plain(name)) ?? metric?.asks[0];
  if (!metric || !ask) throw unknown(name, served);
  return { metric, ask };
}

function isCalled(metric: Metric, name: string): boolean {
  const wanted = plain(name);
  return plain(metric.record) === wanted || metric.asks.some((ask) => plain(ask.path) === wanted);
}

function unknown(name: string, among: readonly Metric[]): ProductError {
  const known = among.map((metric) => metric.name.replaceAll('_', '-')).join(', ');
  return new ProductError('unknown_metric', `no metric is called ${name}; there are ${known}`);
}

/** `DailyFees`, `daily-fees`, `/api/daily-fees` and `daily_fees` are one name. */
function plain(name: string): string {
  return snake(name.replace(/^\/?(api\/)?/, '').replaceAll(/[-/]/g, '_')).replaceAll(/_+/g, '_');
}
