import { type KeptMetric, snake } from '../../aggregate/metric.ts';
import { keptMetrics, metrics } from '../../aggregate/metrics/index.ts';
import { ProductError } from '../../infra/errors.ts';

/** Metrics by record name, snake case, kebab case or path; all that are kept when none is named. */
export function findMetrics(names: readonly string[]): readonly KeptMetric[] {
  return names.length === 0 ? keptMetrics : [...new Set(names.map(findMetric))];
}

function findMetric(name: string): KeptMetric {
  const wanted = plain(name);
  const found = metrics.find(
    (metric) => plain(metric.record) === wanted || metric.asks.some((ask) => plain(ask.path) === wanted),
  );
  if (!found) {
    const known = keptMetrics.map((metric) => metric.name.replaceAll('_', '-')).join(', ');
    throw new ProductError('unknown_metric', `no metric is called ${name}; there are ${known}`);
  }
  if (found.kept === 'onRead') {
    throw new ProductError(
      'unknown_metric',
      `${name} is computed whenever it is read: there is nothing to rebuild`,
    );
  }
  return found;
}

/** `DailyFees`, `daily-fees`, `/api/daily-fees` and `daily_fees` are one name. */
function plain(name: string): string {
  return snake(name.replace(/^\/?(api\/)?/, '').replaceAll(/[-/]/g, '_')).replaceAll(/_+/g, '_');
}
