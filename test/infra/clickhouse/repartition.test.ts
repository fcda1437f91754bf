import { beforeEach, expect, test } from 'vitest';
import { applySchema, type Schema } from '../../../infra/clickhouse/schema.ts';
import { DATABASE, sql } from '../../../infra/clickhouse/sql.ts';
import { landingTable, table, view } from '../../../infra/clickhouse/table.ts';
import type { Store } from '../../../infra/ports.ts';
import { useEmptyStore } from '../../support/empty-store.ts';
import { schemaDrift } from '../../support/schema-drift.ts';

// A table that an earlier version stored without partitions is rewritten at the start of one that declares them.

const source = landingTable({ name: 'facts_in', doc: 'Landing.', columns: { day: 'Date', n: 'UInt64' } });
const whole = table({
  name: 'facts',
  doc: 'Raw.',
  columns: { day: 'Date', n: 'UInt64' },
  engine: 'ReplacingMergeTree',
  orderBy: ['n'],
});
const byMonth = { ...whole, partitionBy: 'toYYYYMM(day)' };
const schemaOf = (facts: typeof whole): Schema => ({
  tables: [source, facts],
  derived: [],
  views: [view('in_to_facts', source, facts, sql`SELECT day, n FROM ${source}`)],
});
const enter = (day: string, n: number) =>
  store.run(`INSERT INTO ${DATABASE}.facts_in SETTINGS async_insert=0 VALUES ('${day}', ${n})`);
const rows = () => store.rows(sql`SELECT toString(day) AS day, n FROM ${whole} FINAL ORDER BY n`);
const tables = async () =>
  (
    await store.rows<{ name: string }>(
      sql`SELECT name FROM system.tables WHERE database = ${DATABASE} ORDER BY name`,
    )
  ).map(({ name }) => name);
const partitions = () =>
  store.rows(
    sql`SELECT partition_id AS id, sum(rows) AS rows FROM system.parts
      WHERE database = ${DATABASE} AND table = 'facts' AND active GROUP BY id ORDER BY id`,
  );
const version = () =>
  store.rows(sql`SELECT value FROM ${{ name: 'meta' }} FINAL WHERE name = 'schema_version'`);

const ROWS = [
  { day: '2023-12-31', n: 1 },
  { day: '2024-01-01', n: 2 },
  { day: '2024-01-31', n: 3 },
  { day: '2026-03-05', n: 4 },
];
const PARTITIONS = [
  { id: '202312', rows: 1 },
  { id: '202401', rows: 2 },
  { id: '202603', rows: 1 },
];

let store: Store;
useEmptyStore((opened) => {
  store = opened;
});
beforeEach(async () => {
  await applySchema(store, schemaOf(whole));
  for (const { day, n } of ROWS) await enter(day, n);
});

async function expectRewritten(): Promise<void> {
  expect(await rows()).toEqual(ROWS);
  expect(await partitions()).toEqual(PARTITIONS);
  expect(await tables()).toEqual(['facts', 'facts_in', 'in_to_facts', 'meta']);
  expect(await version()).toEqual([{ value: '3' }]);
  expect(await schemaDrift(store, schemaOf(byMonth))).toEqual([]);
  await enter('2026-03-06', 5);
  expect(await rows()).toEqual([...ROWS, { day: '2026-03-06', n: 5 }]);
}

test('its rows stand in the partition of their month, and its views fill it', async () => {
  const told: string[] = [];
  const prepared: string[] = [];
  const beforePartitions = async (_store: Store, { name }: { name: string }) => void prepared.push(name);
  const schema = { ...schemaOf(byMonth), beforePartitions };
  for (let start = 0; start < 2; start++) {
    await applySchema(store, schema, { mayRewrite: true, report: (text) => void told.push(text) });
  }
  expect(prepared).toEqual(['facts']);
  expect(told).toEqual([
    'facts: rewriting 202312, 1 of 3 partitions',
    'facts: rewriting 202401, 2 of 3 partitions',
    'facts: rewriting 202603, 3 of 3 partitions',
  ]);
  await expectRewritten();
});

test('smaller granules are those of its new parts, and it keeps its rows', async () => {
  const finer = { ...byMonth, settings: ['index_granularity = 1024'] };
  const told: string[] = [];
  const options = { mayRewrite: true, report: (text: string) => void told.push(text) };
  await applySchema(store, schemaOf(byMonth), options);
  for (let start = 0; start < 2; start++) await applySchema(store, schemaOf(finer), options);
  expect(told).toHaveLength(PARTITIONS.length);
  expect(
    await store.rows(
      sql`SELECT extract(engine_full, 'index_granularity = [0-9]+') AS granules FROM system.tables WHERE name = 'facts'`,
    ),
  ).toEqual([{ granules: finer.settings[0] }]);
  await expectRewritten();
});

test('a table without partitions gets smaller granules too', async () => {
  const finer = { ...whole, settings: ['index_granularity = 256'] };
  for (let start = 0; start < 2; start++) await applySchema(store, schemaOf(finer), { mayRewrite: true });
  expect(
    await store.rows(sql`SELECT engine_full LIKE '%index_granularity = 256%' AS isFiner FROM system.tables
      WHERE database = ${DATABASE} AND name LIKE 'facts%' AND name != 'facts_in'`),
  ).toEqual([{ isFiner: 1 }]);
  expect(await rows()).toEqual(ROWS);
  await enter('2026-03-06', 5);
  expect(await rows()).toHaveLength(ROWS.length + 1);
});

test('it stays as it is, and open to the former version, where other processes may write', async () => {
  await applySchema(store, schemaOf(byMonth));
  expect(await rows()).toEqual(ROWS);
  expect(await partitions()).toEqual([{ id: 'all', rows: 4 }]);
  expect(await version()).toEqual([{ value: '2' }]);
});

test('rows of a derived table are kept, and the version stays where no key stands in two partitions', async () => {
  const derived = table({ ...whole, name: 'metric', orderBy: ['day', 'n'] });
  const forgotten: string[] = [];
  const withMetric = (metric: typeof derived): Schema => ({
    ...schemaOf(byMonth),
    derived: [metric],
    forget: async (_store, { name }) => void forgotten.push(name),
  });
  const inPartitions = () =>
    store.rows(
      sql`SELECT partition_id AS id, sum(rows) AS rows FROM system.parts
        WHERE database = ${DATABASE} AND table = 'metric' AND active GROUP BY id ORDER BY id`,
    );
  await applySchema(store, withMetric(derived), { mayRewrite: true });
  await store.insert(derived, ROWS);
  const partitioned = { ...derived, partitionBy: 'toYYYYMM(day)' };
  await applySchema(store, withMetric(partitioned));
  expect(await inPartitions()).toEqual([{ id: 'all', rows: 4 }]);
  expect(await version()).toEqual([{ value: '3' }]);
  await applySchema(store, withMetric(partitioned), { mayRewrite: true });
  expect(await inPartitions()).toEqual(PARTITIONS);
  expect(await version()).toEqual([{ value: '3' }]);
  expect(forgotten).toEqual([]);
});

/** A store that answers no more after so many statements, as after a kill. */
function killedAfter(statements: number): Store {
  let left = statements;
  return new Proxy(store, {
    get: (target, name: keyof Store) =>
      typeof target[name] !== 'function'
        ? target[name]
        : (...given: never[]) => {
            if (name === 'run' && left-- <= 0) throw new Error('killed');
            return (target[name] as (...all: never[]) => unknown)(...given);
          },
  });
}

test('a start that was killed at any statement begins anew at most the month that it was at', async () => {
  for (let statements = 1; ; statements++) {
    await store.run(`DROP TABLE IF EXISTS ${DATABASE}.facts SYNC`);
    await store.run(`DROP TABLE IF EXISTS ${DATABASE}.in_to_facts SYNC`);
    await applySchema(store, schemaOf(whole));
    for (const { day, n } of ROWS) await enter(day, n);
    const rewritten: string[] = [];
    const options = {
      mayRewrite: true,
      report: (text: string) => void (text.includes('rewriting') && rewritten.push(text)),
    };
    const ended = await applySchema(killedAfter(statements), schemaOf(byMonth), options).then(
      () => true,
      () => false,
    );
    expect(await rows()).toEqual(ROWS);
    await applySchema(store, schemaOf(byMonth), options);
    expect(rewritten.length).toBeLessThanOrEqual(PARTITIONS.length + 1);
    expect(await partitions()).toEqual(PARTITIONS);
    if (ended) break;
  }
  await expectRewritten();
});
