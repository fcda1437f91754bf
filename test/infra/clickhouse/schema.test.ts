import { describe, expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../../infra/clickhouse/migrations.ts';
import { applySchema, type Schema } from '../../../infra/clickhouse/schema.ts';
import type { Store } from '../../../infra/ports.ts';
import { DATABASE, sql } from '../../../infra/sql.ts';
import {
  createTable,
  createView,
  createViewWithColumns,
  landingTable,
  type Table,
  table,
  view,
} from '../../../infra/table.ts';
import { schema as product } from '../../../serve/application/compose/stored-schema.ts';
import { useEmptyStore } from '../../support/empty-store.ts';
import { schemaDrift } from '../../support/schema-drift.ts';

/** Columns that migrations added to tables of the first version. */
const ADDED = [
  ['alerts', 'source_started_ms'],
  ['blocks', 'unclear_extrinsics'],
  ['extrinsics', 'outcome'],
  ['extrinsics', 'general'],
  ['extrinsics', 'fee_bearing'],
  ['alert_integrations', 'sealed_key'],
  ['alert_integrations', 'old_sealed_key'],
] as const;

describe('DDL', () => {
  const fees = table({
    name: 'fees',
    doc: 'Fees.',
    columns: { day: 'Date', chain: 'LowCardinality(String)', fee: 'UInt128 CODEC(ZSTD)' },
    engine: 'ReplacingMergeTree',
    orderBy: ['chain', 'day'],
    indexes: ['INDEX by_day day TYPE minmax GRANULARITY 1'],
  });
  const feesIn = landingTable({ name: 'fees_in', doc: 'Landing table of fees.', columns: { day: 'Date' } });

  test('creates a table as defined', () => {
    expect(createTable(fees, ['fsync_after_insert = 1'])).toBe(
      `CREATE TABLE IF NOT EXISTS ${DATABASE}.fees (
  day Date,
  chain LowCardinality(String),
  fee UInt128 CODEC(ZSTD),
  INDEX by_day day TYPE minmax GRANULARITY 1
) ENGINE = ReplacingMergeTree
ORDER BY (chain, day)
SETTINGS fsync_after_insert = 1`,
    );
  });

  test('a landing table stores nothing, so it has neither order nor settings', () => {
    expect(createTable(feesIn, ['fsync_after_insert = 1'])).toBe(
      `CREATE TABLE IF NOT EXISTS ${DATABASE}.fees_in (\n  day Date\n) ENGINE = Null`,
    );
  });

  test('a view inserts its SELECT into its table', () => {
    const rows = view('fees_rows', feesIn, fees, sql`SELECT day FROM ${feesIn}`);
    const [head, select] = [
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${DATABASE}.fees_rows TO ${DATABASE}.fees`,
      `AS SELECT day FROM ${DATABASE}.fees_in`,
    ];
    expect(createView(rows)).toBe(`${head} ${select}`);
    expect(createViewWithColumns(rows)).toBe(
      `${head} (day Date, chain LowCardinality(String), fee UInt128) ${select}`,
    );
  });
});

describe('a schema on a store', () => {
  let store: Store;
  useEmptyStore((opened) => {
    store = opened;
  });

  const source = (more: Record<string, string> = {}) =>
    landingTable({ name: 'numbers_in', doc: 'Enter.', columns: { n: 'UInt64', ...more } });
  const kept = table({
    name: 'kept',
    doc: 'Raw.',
    columns: { n: 'UInt64' },
    engine: 'MergeTree',
    orderBy: ['n'],
  });
  const squares = (columns: Record<string, string>): Table =>
    table({ name: 'squares', doc: 'Derived.', columns, engine: 'MergeTree', orderBy: ['n'] });
  const first: Schema = {
    tables: [source(), kept],
    derived: [squares({ n: 'UInt64' })],
    views: [view('in_to_kept', source(), kept, sql`SELECT n FROM ${source()}`)],
  };
  const enter = (n: number) =>
    store.run(`INSERT INTO ${DATABASE}.numbers_in (n) SETTINGS async_insert=0 VALUES (${n})`);
  const keptNumbers = () => store.rows<{ n: number }>(sql`SELECT n FROM ${kept} ORDER BY n`);

  test('creates what is declared', async () => {
    await applySchema(store, first);
    expect(await schemaDrift(store, first)).toEqual([]);
    await enter(1);
    expect(await keptNumbers()).toEqual([{ n: 1 }]);
  });

  test('the schema of the product is live as declared, also with writes synced to the disk', async () => {
    await applySchema(store, product, {
      tableSettings: ['fsync_after_insert = 1', 'fsync_part_directory = 1'],
    });
    expect(await schemaDrift(store, product)).toEqual([]);
    const live = await store.rows<{ name: string }>(
      sql`SELECT name FROM system.tables WHERE database = ${DATABASE} AND name NOT LIKE '.inner%' ORDER BY name`,
    );
    const declared = [...product.tables, ...product.derived, ...product.views].map(({ name }) => name);
    expect(live.map(({ name }) => name)).toEqual([...declared, 'meta'].sort());
  });

  test('applying it again changes nothing', async () => {
    await applySchema(store, first);
    await enter(1);
    const created = () =>
      store.rows(
        sql`SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = ${DATABASE} ORDER BY name`,
      );
    const before = await created();
    await applySchema(store, first);
    expect(await created()).toEqual(before);
    expect(await keptNumbers()).toEqual([{ n: 1 }]);
  });

  test('a start creates only what is not there, on a cluster all of it for the sake of new replicas', async () => {
    const created: string[] = [];
    const counted = Object.assign(Object.create(store) as Store, {
      run: async (statement: string) => {
        created.push(...(/^CREATE .*? chain_metrics\.(\w+)/.exec(statement) ?? []).slice(1));
        await store.run(statement);
      },
      rows: store.rows.bind(store),
      insert: store.insert.bind(store),
    });
    const all = ['meta', 'numbers_in', 'kept', 'squares', 'in_to_kept'];
    for (const [isCluster, expected] of [
      [false, all],
      [false, ['meta']],
      [true, all],
    ] as const) {
      created.length = 0;
      await applySchema(counted, first, { isCluster });
      expect(created).toEqual(expected);
    }
    await store.run(`DROP TABLE ${DATABASE}.squares SYNC`);
    created.length = 0;
    await applySchema(counted, first);
    expect(created).toEqual(['meta', 'squares']);
  });

  test('drift names the table, the declared and the live columns', async () => {
    await applySchema(store, first);
    await store.run(`ALTER TABLE ${DATABASE}.kept ADD COLUMN extra String`);
    expect(await schemaDrift(store, first)).toEqual(['kept: declared n UInt64; live n UInt64, extra String']);
    await store.run(`DROP TABLE ${DATABASE}.squares SYNC`);
    expect(await schemaDrift(store, first)).toHaveLength(2);
  });

  test('a derived table whose definition changed is created again and reported; the raw ones stay', async () => {
    const forgotten: string[] = [];
    const forget = async (_store: Store, { name }: Table) => void forgotten.push(name);
    await applySchema(store, { ...first, forget });
    await enter(7);
    await store.run(`INSERT INTO ${DATABASE}.squares VALUES (49)`);
    const second: Schema = { ...first, forget, derived: [squares({ n: 'UInt64', root: 'UInt64' })] };
    await applySchema(store, second);
    expect(forgotten).toEqual(['squares']);
    expect(await store.rows(sql`SELECT count() AS n FROM ${{ name: 'squares' }}`)).toEqual([{ n: 0 }]);
    expect(await schemaDrift(store, second)).toEqual([]);
    expect(await keptNumbers()).toEqual([{ n: 7 }]);
    await applySchema(store, second);
    expect(forgotten).toEqual(['squares']);
  });

  test('a view whose statement changed uses the new one', async () => {
    await applySchema(store, first);
    await enter(1);
    await applySchema(store, {
      ...first,
      views: [view('in_to_kept', source(), kept, sql`SELECT n + 100 AS n FROM ${source()}`)],
    });
    await enter(2);
    expect(await keptNumbers()).toEqual([{ n: 1 }, { n: 102 }]);
  });

  test('a view that there is no more does not go on filling its table', async () => {
    await applySchema(store, first);
    await enter(1);
    const named = (name: string): Schema => ({ ...first, views: first.views.map((v) => ({ ...v, name })) });
    await applySchema(store, named('in_to_numbers'));
    await enter(2);
    await applySchema(store, named('in_to_kept'));
    await enter(3);
    expect(await keptNumbers()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test('a landing table with a new column is created again with its views, and loaded rows stay', async () => {
    await applySchema(store, first);
    await enter(1);
    const wider = source({ plus: 'UInt64' });
    const second: Schema = {
      ...first,
      tables: [wider, kept],
      views: [view('in_to_kept', wider, kept, sql`SELECT n + plus AS n FROM ${wider}`)],
    };
    await applySchema(store, second);
    expect(await schemaDrift(store, second)).toEqual([]);
    await store.run(`INSERT INTO ${DATABASE}.numbers_in (n, plus) SETTINGS async_insert=0 VALUES (2, 40)`);
    expect(await keptNumbers()).toEqual([{ n: 1 }, { n: 42 }]);
  });

  test('a derived table that there is no more is dropped', async () => {
    await applySchema(store, first);
    await applySchema(store, { ...first, derived: [] });
    expect(await schemaDrift(store, { ...first, derived: [] })).toEqual([]);
    const [found] = await store.rows(
      sql`SELECT count() AS tables FROM system.tables WHERE database = ${DATABASE} AND name = 'squares'`,
    );
    expect(found).toEqual({ tables: 0 });
    await applySchema(store, first);
    expect(await schemaDrift(store, first)).toEqual([]);
  });

  test('migrations that a store lacks run once, in their order', async () => {
    const ran: string[] = [];
    const adds = (column: string) => async (migrated: Store) => {
      ran.push(column);
      await migrated.run(`ALTER TABLE ${DATABASE}.kept ADD COLUMN IF NOT EXISTS ${column} UInt64`);
    };
    await applySchema(store, first, { migrations: [] });
    await enter(1);
    const wider = { ...kept, columns: { ...kept.columns, a: 'UInt64', b: 'UInt64' } };
    const second: Schema = { ...first, tables: [source(), wider] };
    const migrations = [adds('a'), adds('b')];
    await applySchema(store, second, { migrations });
    await applySchema(store, second, { migrations });
    expect(ran).toEqual(['a', 'b']);
    expect(await schemaDrift(store, second)).toEqual([]);
    expect(await keptNumbers()).toEqual([{ n: 1 }]);
    await expect(applySchema(store, first, { migrations: [adds('a')] })).rejects.toMatchObject({
      code: 'store_newer',
    });
  });

  test('a migration that was interrupted runs again, those before it do not', async () => {
    const ran: string[] = [];
    const notes = (name: string) => async () => void ran.push(name);
    await applySchema(store, first, { migrations: [] });
    const fails = async () => {
      throw new Error('killed');
    };
    await expect(applySchema(store, first, { migrations: [notes('a'), fails] })).rejects.toThrow('killed');
    await applySchema(store, first, { migrations: [notes('a'), notes('b')] });
    expect(ran).toEqual(['a', 'b']);
  });

  test('a store of the first version gets what was added since, and keeps its rows', async () => {
    await applySchema(store, product);
    for (const [name, column] of ADDED)
      await store.run(`ALTER TABLE ${DATABASE}.${name} DROP COLUMN ${column}`);
    const insert = (into: string, values: string) =>
      store.run(`INSERT INTO ${DATABASE}.${into} SETTINGS async_insert=0 VALUES ${values}`);
    await insert('alerts (project, iid, started_ms)', '(1, 2, 3)');
    await insert(
      'extrinsics (relay_chain, chain, number, success, ethereum)',
      "('polkadot', 'moonbeam', 1, 0, true)",
    );
    await insert('meta (name, value, at)', "('schema_version', '1', now64(3) + 1)");
    await applySchema(store, product);
    expect(await schemaDrift(store, product)).toEqual([]);
    expect(await store.rows(sql`SELECT iid, source_started_ms FROM chain_metrics.alerts`)).toEqual([
      { iid: 2, source_started_ms: 3 },
    ]);
    expect(await store.rows(sql`SELECT outcome, general, fee_bearing FROM chain_metrics.extrinsics`)).toEqual(
      [{ outcome: 0, general: false, fee_bearing: true }],
    );
  });

  test('a new store is created as declared, without migrations', async () => {
    const fails = async () => {
      throw new Error('it has nothing to migrate');
    };
    await applySchema(store, first, { migrations: [fails] });
    expect(await schemaDrift(store, first)).toEqual([]);
  });

  test('a store of a newer version is refused and left unchanged', async () => {
    await applySchema(store, first);
    await store.run(
      `INSERT INTO ${DATABASE}.meta (name, value, at) SETTINGS async_insert=0 VALUES ('schema_version', '${SCHEMA_VERSION + 1}', now64(3) + 10)`,
    );
    const error = await applySchema(store, { ...first, derived: [squares({ n: 'UInt8' })] }).catch(
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'store_newer' });
    expect(error.message).toContain(`schema ${SCHEMA_VERSION + 1}, this one knows ${SCHEMA_VERSION}`);
    expect(await schemaDrift(store, first)).toEqual([]);
  });
});
