import { table } from '../../infra/clickhouse/table.ts';

/** What consumers that copy metrics ask for: it has a row a slice, however often its rows change. */
export const metricChanges = table({
  name: 'metric_changes',
  doc: 'Per slice of a metric, the last change of its rows, their number and a digest of them.',
  columns: {
    metric: 'LowCardinality(String)',
    relay_chain: 'LowCardinality(String)',
    chain: 'LowCardinality(String)',
    slice: 'String',
    row_count: 'Int64',
    digest: 'UInt64',
    run: 'UInt64',
    sequence: 'UInt64',
  },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric', 'slice', 'relay_chain', 'chain'],
  indexes: ['INDEX by_sequence sequence TYPE minmax GRANULARITY 1'],
  // A round compares the last days of each metric, which are a few rows in as many places.
  settings: ['index_granularity = 256'],
});

/**
 * The last run of each lane: while it `is_open`, rows above the version `since` are not compared; when it has ended,
 * `since` is where it began. `scope` is the lane, or the table of a metric that was emptied and is not whole yet.
 */
export const changeRuns = table({
  name: 'change_runs',
  doc: 'Per lane, the version above which rows may not be compared yet; per emptied metric, whether it is whole again.',
  columns: {
    scope: 'LowCardinality(String)',
    since: 'UInt64',
    is_open: 'UInt8',
    version: 'UInt64',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['scope'],
});
