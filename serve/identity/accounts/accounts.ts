import type { Engine } from '../../../aggregate/engine.ts';
import { applySchema } from '../../../infra/clickhouse/schema.ts';
import type { Config } from '../../../infra/config/config.ts';
import { Locks } from './locks.ts';
import { type RecordContext, Records } from './records.ts';
import { Seal } from './secrets.ts';
import {
  type Application,
  accountTables,
  applications,
  type Grant,
  grants,
  type Session,
  sessions,
  type User,
  users,
  type Wallet,
  wallets,
} from './tables.ts';
import { Uses } from './uses.ts';

/** Everything that is kept about who may do what: what sign-in, OAuth, keys and the pages stand on. */
export interface Accounts extends RecordContext {
  readonly config: Config;
  readonly seal: Seal;
  readonly users: Records<User>;
  readonly sessions: Records<Session>;
  readonly wallets: Records<Wallet>;
  readonly applications: Records<Application>;
  readonly grants: Records<Grant>;
  /** When keys and tokens were last used. */
  readonly uses: Uses;
}

const opened = new WeakMap<Engine, Promise<Accounts>>();

/** The accounts of an engine: the same for everybody who asks, so that all of a process hear of every change. */
export function openAccounts(engine: Engine): Promise<Accounts> {
  const known = opened.get(engine) ?? open(engine);
  opened.set(engine, known);
  return known;
}

/** Makes the tables where they are missing; every process of a deployment may do it at its start. */
async function open({ config, runtime }: Engine): Promise<Accounts> {
  const { store, keyValue, clock } = runtime;
  const fsync = config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
  await applySchema(store, { tables: accountTables, derived: [], views: [] }, fsync);
  const ground: RecordContext = { store, keyValue, clock, locks: new Locks(keyValue) };
  return {
    ...ground,
    config,
    seal: Seal.open(config),
    users: new Records(ground, users),
    sessions: new Records(ground, sessions),
    wallets: new Records(ground, wallets),
    applications: new Records(ground, applications),
    grants: new Records(ground, grants),
    uses: new Uses(store, clock),
  };
}

/** Rows are kept this long after their end, to tell a used token from an invented one. */
export const KEPT_AFTER_END_MS = 30 * 86_400_000;
