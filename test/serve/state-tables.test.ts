import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../infra/clickhouse/migrations.ts';
import { meta } from '../../infra/clickhouse/schema.ts';
import { createTable } from '../../infra/table.ts';
import { schema } from '../../serve/application/compose/stored-schema.ts';

// A store keeps its tables of state as they are: only a migration changes them.

/** Definitions by table, and the version of the schema that they belong to. */
interface Lock {
  readonly version: number;
  readonly tables: Readonly<Record<string, string>>;
}

const LOCK = new URL('state-tables.json', import.meta.url);
const WRITE = 'WRITE_STATE_TABLES=1 npm test -- test/serve/state-tables.test.ts';

const state = [meta, ...schema.tables.filter(({ engine }) => engine !== 'Null')];
const current: Lock = {
  version: SCHEMA_VERSION,
  tables: Object.fromEntries(
    state.map((table) => [table.name, createTable(table)] as const).sort(([a], [b]) => a.localeCompare(b)),
  ),
};
const locked: Lock = existsSync(LOCK) ? JSON.parse(readFileSync(LOCK, 'utf8')) : { version: 0, tables: {} };

/** New tables are created at the next start; others are only changed or dropped by a migration. */
const unmigrated = Object.entries(locked.tables)
  .filter(([name, definition]) => current.tables[name] !== definition && current.version === locked.version)
  .map(([name]) => name);
if (process.env.WRITE_STATE_TABLES && unmigrated.length === 0)
  writeFileSync(LOCK, `${JSON.stringify(current, null, 2)}\n`);

test('a table of state changes with a migration', () => {
  expect(
    unmigrated,
    `These tables have another definition, and stores that exist keep the old one. Append a migration to infra/clickhouse/migrations.ts that changes them, with a test. Then run: ${WRITE}`,
  ).toEqual([]);
  if (process.env.WRITE_STATE_TABLES) return;
  expect(current, `state-tables.json is not up to date. Run: ${WRITE}`).toEqual(locked);
});
