import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { onCluster } from '../../../infra/clickhouse/cluster.ts';
import { inDatabase } from '../../../infra/clickhouse/database.ts';
import { sql } from '../../../infra/sql.ts';
import { createTable, createView } from '../../../infra/table.ts';
import { schema } from '../../../serve/application/compose/stored-schema.ts';

describe('definitions on a cluster', () => {
  const statements = [
    ...[...schema.tables, ...schema.derived].map((table) => createTable(table)),
    ...schema.views.map(createView),
  ].map((statement) => onCluster(statement, 'metrics'));

  test('are created on every replica', () => {
    expect(
      statements.filter(
        (text) => !/^CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS \S+ ON CLUSTER metrics /.test(text),
      ),
    ).toEqual([]);
  });

  test('replicate every table that stores rows, and only those', () => {
    const pipelines = statements.flatMap((text) => /ENGINE = (\w+)/.exec(text)?.[1] ?? []);
    expect(new Set(pipelines)).toEqual(
      new Set([
        'ReplicatedAggregatingMergeTree',
        'ReplicatedReplacingMergeTree',
        'ReplicatedMergeTree',
        'Null',
      ]),
    );
  });

  test.each([
    [
      'DROP TABLE IF EXISTS chain_metrics.blocks SYNC',
      'DROP TABLE IF EXISTS chain_metrics.blocks ON CLUSTER c SYNC',
    ],
    ['CREATE DATABASE IF NOT EXISTS metrics', 'CREATE DATABASE IF NOT EXISTS metrics ON CLUSTER c'],
    [
      'ALTER TABLE chain_metrics.watermarks DELETE WHERE 1',
      'ALTER TABLE chain_metrics.watermarks ON CLUSTER c DELETE WHERE 1',
    ],
    [
      'RENAME TABLE IF EXISTS chain_metrics.touched TO chain_metrics.dirty_days',
      'RENAME TABLE IF EXISTS chain_metrics.touched TO chain_metrics.dirty_days ON CLUSTER c',
    ],
    [
      'ALTER TABLE chain_metrics.dead_letters RENAME COLUMN IF EXISTS place TO log_offset',
      'ALTER TABLE chain_metrics.dead_letters ON CLUSTER c RENAME COLUMN IF EXISTS place TO log_offset',
    ],
    [
      "ALTER TABLE chain_metrics.events REPLACE PARTITION ID '202401' FROM chain_metrics.events_kept",
      "ALTER TABLE chain_metrics.events REPLACE PARTITION ID '202401' FROM chain_metrics.events_kept",
    ],
    ["INSERT INTO t SELECT 'DROP TABLE x'", "INSERT INTO t SELECT 'DROP TABLE x'"],
    ['SELECT 1', 'SELECT 1'],
  ])('%s', (statement, expected) => {
    expect(onCluster(statement, 'c')).toBe(expected);
  });
});

describe('statements in another database', () => {
  const { text } =
    sql`SELECT 'chain_metrics.a', "chain_metrics.b" /* of chain_metrics.c */, 'it\'s ''\'' AS x -- chain_metrics.d
    FROM ${{ name: 'blocks' }}, my_chain_metrics.e WHERE database = ${'chain_metrics'} AND name = ${'chain_metrics'}`;

  test('name its tables, and no text, quoted name or comment changes', () => {
    expect(inDatabase(text, 'other')).toBe(
      text
        .replace('FROM chain_metrics.blocks', 'FROM other.blocks')
        .replace("database = 'chain_metrics'", "database = 'other'"),
    );
  });

  test('are the same in the one that they name', () => {
    expect(inDatabase(text, 'chain_metrics')).toBe(text);
  });

  test('define no table or view elsewhere', () => {
    const definitions = [
      ...[...schema.tables, ...schema.derived].map((table) => createTable(table)),
      ...schema.views.map(createView),
    ];
    expect(
      definitions.map((one) => inDatabase(one, 'other')).filter((one) => one.includes('chain_metrics')),
    ).toEqual([]);
  });

  test('are long lists as well', () => {
    const long = `SELECT ${Array.from({ length: 20_000 }, (_, i) => `'it''s \\ ${i} ${'x'.repeat(50)}'`).join(', ')} FROM chain_metrics.rows`;
    expect(inDatabase(long, 'other').endsWith('FROM other.rows')).toBe(true);
  });
});

describe('the compose file', () => {
  const compose = readFileSync(new URL('../../../infra/compose.yaml', import.meta.url), 'utf8');

  test('contains no password: each is required', () => {
    const secrets = compose.match(/\$\{[A-Z_]*(?:PASSWORD|KEY)[^}]*\}/g) ?? [];
    expect(secrets.length).toBeGreaterThan(5);
    expect(secrets.filter((secret) => !secret.includes(':?'))).toEqual([]);
  });

  test('publishes only the API, by default only to its own machine, and the monitoring to that alone', () => {
    expect(compose.match(/ports:.*/g)).toEqual([
      `ports: ["$\{BIND:-127.0.0.1}:$\{PORT:-3000}:3000"]`,
      `ports: ["127.0.0.1:$\{PROMETHEUS_PORT:-9090}:9090"]`,
      `ports: ["127.0.0.1:$\{GRAFANA_PORT:-3001}:3000"]`,
    ]);
  });
});
