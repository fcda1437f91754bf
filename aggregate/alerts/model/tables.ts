import { type Table, table } from '../../../infra/clickhouse/table.ts';

// Times are milliseconds since the epoch; 0 and '' mean none.

export const alertEvents = table({
  name: 'alert_events',
  doc: 'Every accepted delivery and action, in the order of acceptance, with what it did. The record of truth.',
  columns: {
    project: 'UInt64',
    /** Counted from 1 in each project. */
    position: 'UInt64',
    id: 'String',
    kind: 'LowCardinality(String)',
    at: 'Int64 CODEC(DoubleDelta, ZSTD)',
    /** What is known of it besides the body, as JSON. */
    head: 'String CODEC(ZSTD)',
    /** As it was sent. */
    body: 'String CODEC(ZSTD)',
    /** By item: what became of it, and the alert that it concerns, or 0. */
    outcomes: 'Array(LowCardinality(String))',
    iids: 'Array(UInt64)',
    retry_keys: 'Array(String)',
    /** Where the log had it. */
    log_partition: 'UInt32',
    log_offset: 'UInt64 CODEC(DoubleDelta, ZSTD)',
  },
  engine: 'ReplacingMergeTree',
  orderBy: ['project', 'position'],
});

export const alerts = table({
  name: 'alerts',
  doc: 'Alerts as they stand, made from the events; can be made again from them at any time.',
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
    started_ms: 'Int64',
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
    /** What a search looks through, in the case that it is compared in. */
    searched: "String MATERIALIZED lowerUTF8(concatWithSeparator('\\n', title, description, tool, service))",
  },
  engine: 'ReplacingMergeTree(position)',
  // By number: what is old changes seldom, so that the versions of an alert are mostly among the newest rows.
  orderBy: ['project', 'iid'],
  // Every delivery whose alert is not in memory asks for the open one of its fingerprint.
  indexes: ['INDEX by_fingerprint fingerprint TYPE bloom_filter(0.001) GRANULARITY 1'],
  // Rows are read a few at a time, from anywhere.
  settings: ['index_granularity = 1024'],
});

export const alertTables: readonly Table[] = [alertEvents, alerts];
