import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertsModule } from '../../../aggregate/alerts/module.ts';
import { aggregateModule } from '../../../aggregate/composition/module.ts';
import { DAY_MS } from '../../../infra/days.ts';
import { ident, sql } from '../../../infra/sql.ts';
import type { Table } from '../../../infra/table.ts';
import { ingestModule } from '../../../ingest/module.ts';
import { exportAccount } from '../../../serve/accounts/account-export.ts';
import { deleteAccount } from '../../../serve/accounts/account-removal.ts';
import { sweep } from '../../../serve/accounts/maintenance.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { schema } from '../../../serve/application/compose/stored-schema.ts';
import { DECISIONS, OF_NOBODY } from './personal-columns.ts';
import { aUser, openWorld, type World } from './world.ts';

/** Tables of chains know accounts of chains, not of people. */
const OF_CHAINS = new Set<Table>([
  ...ingestModule.tables,
  ...ingestModule.landingTables,
  ...aggregateModule.tables.filter((table) => !alertsModule.tables.includes(table)),
]);
const tables = schema.tables.filter((table) => !OF_CHAINS.has(table));
const NAMES_A_USER =
  /(^|_)(user|users|owner|author|creator|by|assignees?|replaces|turns|steps|head|member|person|recipient|contact|email)(_ids?)?$/;

const columns = tables.flatMap((table) => Object.keys(table.columns).map((column) => ({ table, column })));
const nameOf = ({ table, column }: (typeof columns)[number]) => `${table.name}.${column}`;
const decided = columns.filter((one) => nameOf(one) in DECISIONS);

/** A row with empty values of all columns but some. */
const emptyRow = ({ columns: types }: Table, given: Readonly<Record<string, unknown>>) => ({
  ...Object.fromEntries(
    Object.entries(types)
      .filter(([, type]) => !type.includes('MATERIALIZED'))
      .map(([name, type]) => [name, emptyValue(type)]),
  ),
  ...given,
});

function emptyValue(type: string): unknown {
  if (type.startsWith('Array')) return [];
  if (type.startsWith('Map')) return {};
  if (type.startsWith('Bool')) return false;
  return /^(LowCardinality\()?String/.test(type) ? '' : 0;
}

let world: World;
let user: User;
beforeAll(async () => {
  world = await openWorld();
  user = await aUser(world, 'remembered');
});
afterAll(() => world.close());

test('every column that sounds as if it named a user is decided about', () => {
  expect(tables.length).toBeGreaterThan(20);
  const open = columns.filter(
    (one) =>
      NAMES_A_USER.test(one.column) &&
      one.table.name !== 'users' &&
      !(nameOf(one) in { ...DECISIONS, ...OF_NOBODY }),
  );
  expect(
    open.map(nameOf),
    'Decide in test/serve/accounts/personal-columns.ts whether an export has these columns and what a deletion leaves.',
  ).toEqual([]);
  expect(decided.map(nameOf).sort()).toEqual(Object.keys(DECISIONS).sort());
});

const heldValue = (name: string) => (DECISIONS[name]?.value ?? ((id: string) => id))(user.id);
/** How many rows have the value in the column, in any version. */
async function countOf({ table, column }: (typeof columns)[number]): Promise<number> {
  const value = heldValue(nameOf({ table, column })) as string;
  const [row] = await world.pipeline.runtime.store.rows<{ rows: number }>(
    sql`SELECT count() AS rows FROM ${table} WHERE ${ident(column)} = ${value}`,
  );
  return row?.rows ?? 0;
}

describe('of rows in all columns that name a user', () => {
  beforeAll(async () => {
    const { store } = world.pipeline.runtime;
    for (const [i, { table, column }] of decided.entries()) {
      const name = nameOf({ table, column });
      const keys = Object.fromEntries(
        table.orderBy.map((key) => [
          key,
          /^(UInt|Int)/.test(table.columns[key] ?? '') ? 900 + i : `${900 + i}`,
        ]),
      );
      await store.insert(table, [
        emptyRow(table, { ...keys, ...DECISIONS[name]?.row, [column]: heldValue(name) }),
      ]);
    }
  });

  test('an export has each', async () => {
    const exported = await exportAccount(world.accounts, user);
    const expected = Object.groupBy(Object.values(DECISIONS), ({ kind }) => kind);
    for (const [kind, decisions] of Object.entries(expected))
      expect(exported[kind], kind).toHaveLength(decisions?.length ?? 0);
    expect(exported.account).toMatchObject({ username: 'remembered', email: 'remembered@example.org' });
    expect(JSON.stringify(exported)).not.toMatch(/hash|secret|jwk/i);
    expect(JSON.stringify(exported)).not.toContain(user.password_hash);
  });

  test('a deletion removes those that belong to the user alone', async () => {
    for (const one of decided) expect(await countOf(one), nameOf(one)).toBe(1);
    expect(await deleteAccount(world.accounts, user)).toEqual([]);
    world.advance(2 * DAY_MS);
    await sweep(world.accounts);
    for (const one of decided) {
      const left = (await countOf(one)) > 0 ? 'kept' : 'removed';
      expect(left, nameOf(one)).toBe(DECISIONS[nameOf(one)]?.afterDeletion);
    }
  });
});
