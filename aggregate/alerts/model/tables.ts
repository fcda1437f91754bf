import { type Table, table } from '../../../infra/table.ts';

// Times are milliseconds since the epoch; 0 and '' mean none.

export const alertEvents = table({
  name: 'alert_events',
  doc: 'Accepted deliveries and actions in their order, with their outcomes. The source of truth.',
  columns: {
    project: 'UInt64',
    /** Counted from 1 in each project. */
    position: 'UInt64',
    id: 'String',
    kind: 'LowCardinality(String)',
    at: 'Int64 CODEC(DoubleDelta, ZSTD)',
    /** JSON of the event head, see `model/event.ts`. */
    head: 'String CODEC(ZSTD)',
    /** The request body, unchanged. */
    body: 'String CODEC(ZSTD)',
    /** Outcome of each item, and in `iids` the number of its alert or 0. */
    outcomes: 'Array(LowCardinality(String))',
    iids: 'Array(UInt64)',
    retry_keys: 'Array(String)',
    /** The highest alert number at the last replay, which may have removed that alert. 0 without a replay. */
    last_iid: 'UInt64',
    /** Partition and offset of the event in the log. */
    log_partition: 'UInt32',
    log_offset: 'UInt64 CODEC(DoubleDelta, ZSTD)',
  },
  engine: 'ReplacingMergeTree',
  orderBy: ['project', 'position'],
});

export const alerts = table({
  name: 'alerts',
  doc: 'The current state of each alert, which a replay can rebuild from the events.',
  columns: {
    project: 'UInt64',
    iid: 'UInt64',
    fingerprint: 'String',
    integration: 'String',
    title: 'String',
    description: 'String',
    severity: 'LowCardinality(String)',
    status: 'LowCardinality(String)',
    service: 'String',
    tool: 'LowCardinality(String)',
    hosts: 'Array(String)',
    environment: 'LowCardinality(String)',
    query: 'String',
    runbook: 'String',
    y_label: 'String',
    incident_markdown: 'String',
    labels: 'Array(String)',
    match_labels: 'Map(String, String)',
    has_cut_labels: 'Bool',
    started_ms: 'Int64',
    source_started_ms: 'Int64 DEFAULT started_ms',
    ended_ms: 'Int64',
    events: 'UInt64',
    created_ms: 'Int64',
    seen_ms: 'Int64',
    updated_ms: 'Int64',
    acknowledged_ms: 'Int64',
    assignees: 'Array(String)',
    incident: 'UInt64',
    created_position: 'UInt64',
    created_item: 'UInt32',
    position: 'UInt64',
    /** The text that searches match, in lower case. */
    searched: "String MATERIALIZED lowerUTF8(concatWithSeparator('\\n', title, description, tool, service))",
  },
  engine: 'ReplacingMergeTree(position)',
  // Old alerts rarely change, so the versions of an alert are mostly among the newest rows.
  orderBy: ['project', 'iid'],
  // Serves deliveries whose open alert is not in memory.
  indexes: ['INDEX by_fingerprint fingerprint TYPE bloom_filter(0.001) GRANULARITY 1'],
  // Queries read few rows, scattered over the table.
  settings: ['index_granularity = 1024'],
});

export const deletedEvents = table({
  name: 'alert_events_deleted',
  doc: 'Time by project before which events may be deleted. If the log delivers such an event again, it is dropped.',
  columns: {
    project: 'UInt64',
    before_ms: 'Int64',
  },
  engine: 'ReplacingMergeTree(before_ms)',
  orderBy: ['project'],
});

export const alertTables: readonly Table[] = [alertEvents, alerts, deletedEvents];
