import { readFileSync } from 'node:fs';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SCHEMA_VERSION } from '../clickhouse/migrations.ts';
import { ProductError } from '../errors.ts';
import { isArchive, unpack } from './archive.ts';
import {
  type BackupManifest,
  type CopyProgress,
  checkBackup,
  copyBackup,
  readManifest,
  requireEmpty,
} from './backup.ts';
import { readLockOwner } from './owner.ts';

/** A restore writes here first, and moves the files to their place once it is complete. */
const PARTIAL = 'restoring.part';
const RESTORED = 'restored.json';

/** The backup that a data directory was restored from. */
export interface Restored {
  readonly taken_at: string;
  readonly restored_at: string;
}

/**
 * Restores a backup into an empty or missing data directory. It verifies every checksum before it writes anything, and
 * restores all files or none.
 */
export async function restoreBackup(
  backup: string,
  directory: string,
  onProgress: (stage: 'checking' | 'restoring', progress: CopyProgress) => void,
): Promise<BackupManifest> {
  const owner = await readLockOwner(directory);
  if (owner !== null) throw new ProductError('store_in_use', `${directory} is in use by process ${owner}`);
  process.umask(0o077);
  await requireEmpty(
    directory,
    'a backup is restored into an empty directory only; set DATA_DIR to an empty one',
    ['lost+found', PARTIAL],
  );
  const partial = join(directory, PARTIAL);
  await rm(partial, { recursive: true, force: true });
  try {
    const source = isArchive(backup) ? join(partial, 'unpacked') : backup;
    if (isArchive(backup)) await unpack(backup, source);
    await requireOlder(source);
    const opened = await checkBackup(source, (progress) => onProgress('checking', progress));
    const data = join(partial, 'data');
    await copyBackup(source, opened, data, (progress) => onProgress('restoring', progress));
    const restored: Restored = {
      taken_at: opened.manifest.taken_at,
      restored_at: new Date().toISOString(),
    };
    await writeFile(join(data, RESTORED), `${JSON.stringify(restored)}\n`, { flush: true });
    for (const name of await readdir(data)) await rename(join(data, name), join(directory, name));
    return opened.manifest;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function requireOlder(backup: string): Promise<void> {
  const { schema_version: version, product_version: product } = await readManifest(backup);
  if (version <= SCHEMA_VERSION) return;
  throw new ProductError(
    'store_newer',
    `a newer version wrote the backup (${product}, schema ${version}; this one knows ${SCHEMA_VERSION}): restore it with that version`,
  );
}

/** Null for a directory that was not restored. */
export function readRestored(directory: string): Restored | null {
  try {
    return JSON.parse(readFileSync(join(directory, RESTORED), 'utf8')) as Restored;
  } catch {
    // The file is missing.
    return null;
  }
}
