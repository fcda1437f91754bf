import type { Store } from '../ports.ts';
import { DATABASE } from '../sql.ts';

/**
 * Changes tables whose rows cannot be computed again. A migration is plain SQL, since later versions change the table
 * definitions. It must be idempotent, since it runs again after a kill.
 */
export type Migration = (store: Store) => Promise<void>;

/** The migrations, oldest first; the n-th one migrates version n to n + 1. Only append to this list. */
export const MIGRATIONS: readonly Migration[] = [
  (store) =>
    store.run(
      `ALTER TABLE ${DATABASE}.alerts ADD COLUMN IF NOT EXISTS source_started_ms Int64 DEFAULT started_ms AFTER started_ms`,
    ),
  async (store) => {
    await store.run(
      `ALTER TABLE ${DATABASE}.blocks ADD COLUMN IF NOT EXISTS unclear_extrinsics UInt32 AFTER events`,
    );
    await store.run(`ALTER TABLE ${DATABASE}.extrinsics
      ADD COLUMN IF NOT EXISTS outcome Nullable(UInt8) DEFAULT success AFTER success,
      ADD COLUMN IF NOT EXISTS general Bool AFTER ethereum,
      ADD COLUMN IF NOT EXISTS fee_bearing Bool DEFAULT signed OR ethereum AFTER fee`);
  },
  (store) =>
    store.run(
      `ALTER TABLE ${DATABASE}.alert_integrations
        ADD COLUMN IF NOT EXISTS sealed_key String AFTER key_created_ms,
        ADD COLUMN IF NOT EXISTS old_sealed_key String AFTER old_key_ends_ms`,
    ),
];

/** Version of the tables whose rows cannot be computed again. A store with a newer version is refused. */
export const SCHEMA_VERSION = MIGRATIONS.length + 1;
