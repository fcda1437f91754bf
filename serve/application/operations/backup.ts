import { existsSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { SCHEMA_VERSION } from '../../../infra/clickhouse/migrations.ts';
import { isArchive, pack } from '../../../infra/embedded/archive.ts';
import { type CopyProgress, writeBackup } from '../../../infra/embedded/backup.ts';
import { ProductError } from '../../../infra/errors.ts';
import { sql } from '../../../infra/sql.ts';
import { VERSION } from '../../../infra/version.ts';
import { operation } from './operation.ts';

/** The directory that is packed into an archive. */
const partOf = (archive: string) => `${archive}.part`;

/** Follows links in the part of the path that exists. */
function isWithin(directory: string, path: string): boolean {
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  return !/^\.\.(?:\/|$)/.test(relative(realpathSync(directory), realpathSync(existing)));
}

/** Writes a backup of the data directory into a directory or an archive, also while it is in use. */
export const backup = operation<CopyProgress>()({
  /** Absolute, since the process that runs this may have another working directory. */
  input: z.object({ path: z.string().startsWith('/') }),
  run: async ({ runtime, config }, { path }, { onProgress, signal }) => {
    if (isArchive(path) && existsSync(path))
      throw new ProductError('usage', `${path} already exists: choose another name, or delete it`);
    if (isWithin(config.DATA_DIR, path))
      throw new ProductError(
        'usage',
        `${path} is in the data directory and would be lost with it: choose a path outside`,
      );
    if (isArchive(path) && existsSync(partOf(path)))
      throw new ProductError(
        'usage',
        `${partOf(path)} already exists: if no other backup is running, an interrupted one left it, and you can delete it`,
      );
    const frozen = await runtime.freeze();
    try {
      const [engine] = await runtime.store.rows<{ version: string }>(sql`SELECT version() AS version`);
      const hasKey = existsSync(join(config.DATA_DIR, 'secrets.key'));
      const facts = {
        product_version: VERSION,
        schema_version: SCHEMA_VERSION,
        engine_version: engine?.version ?? '',
        secrets_key: config.SECRETS_KEY !== undefined ? 'setting' : hasKey ? 'included' : 'none',
        damage: runtime.damage.list().length,
      } as const;
      if (!isArchive(path))
        return await writeBackup(path, frozen, facts, { onProgress, signal, isForced: true });
      const manifest = await writeBackup(partOf(path), frozen, facts, {
        onProgress,
        signal,
        isForced: false,
      });
      await pack(partOf(path), path);
      return manifest;
    } finally {
      frozen.release();
      if (isArchive(path)) await rm(partOf(path), { recursive: true, force: true });
    }
  },
});
