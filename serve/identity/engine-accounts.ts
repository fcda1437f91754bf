import type { Engine } from '../../aggregate/engine.ts';
import { applySchema } from '../../infra/clickhouse/schema.ts';
import { type Accounts, openAccounts } from './accounts/accounts.ts';
import { accountTables } from './accounts/tables.ts';

const opened = new WeakMap<Engine, Promise<Accounts>>();

/** The accounts of an engine, opened once, for callers that the composition root does not construct yet. */
export function accountsOf(engine: Engine): Promise<Accounts> {
  const known = opened.get(engine) ?? open(engine);
  opened.set(engine, known);
  return known;
}

async function open({ config, runtime }: Engine): Promise<Accounts> {
  const { store, keyValue, clock } = runtime;
  const fsync = config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
  await applySchema(store, { tables: accountTables, derived: [], views: [] }, fsync);
  return openAccounts({ store, keyValue, clock, settings: config });
}
