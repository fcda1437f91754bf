import { expect, test } from 'vitest';
import { seriesOf } from './promql.ts';

test('the series and labels of a query are told from its functions, words, durations and texts', () => {
  const { series, matched, grouped } = seriesOf(
    'histogram_quantile(0.99, sum by (le, job) (rate(a:seconds_bucket{route!~"/x{y}|b", status=~"5.."}[5m]))) > 1e3 ' +
      'unless on (job) up{job="c"} == bool 0 or max(d offset 10m) + time()',
  );
  expect([...series]).toEqual(['a:seconds_bucket', 'up', 'd']);
  expect([...(matched.get('a:seconds_bucket') ?? [])]).toEqual(['route', 'status']);
  expect([...(matched.get('up') ?? [])]).toEqual(['job']);
  expect([...grouped]).toEqual(['le', 'job']);
});
