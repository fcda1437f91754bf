import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { SCHEMA_VERSION } from '../../infra/clickhouse/schema.ts';
import { sql } from '../../infra/clickhouse/sql.ts';
import { type CopyProgress, writeBackup } from '../../infra/embedded/backup.ts';
import { ProductError } from '../../infra/errors.ts';
import { VERSION } from '../version.ts';
import { operation } from './operation.ts';

/** Writes a backup of the data directory into another one, while it is in use. */
export const backup = operation<CopyProgress>()({
  /** An absolute path: the process that runs this may be in another directory. */
  input: z.object({ directory: z.string().startsWith('/') }),
  run: async ({ runtime, config }, { directory }, { onProgress, signal }) => {
    if (runtime.snapshot === undefined) {
      throw new ProductError(
        'usage',
        'backup is for the embedded profile; ClickHouse makes its own, see `chain-metrics backup --help`',
      );
    }
    const [engine] = await runtime.store.rows<{ version: string }>(sql`SELECT version() AS version`);
    const snapshot = await runtime.snapshot();
    try {
      const hasKey = existsSync(join(config.DATA_DIR, 'secrets.key'));
      const facts = {
        product_version: VERSION,
        schema_version: SCHEMA_VERSION,
        engine_version: engine?.version ?? '',
        secrets_key: config.SECRETS_KEY !== undefined ? 'setting' : hasKey ? 'included' : 'none',
        damage: runtime.damage.list().length,
      } as const;
      return await writeBackup(directory, snapshot, facts, { onProgress, signal });
    } finally {
      snapshot.release();
    }
  },
});
