import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from './errors.ts';
import { makeDirectory } from './make-directory.ts';

/** Entries that the product creates. A directory with any other entry is shared, so its mode is not changed. */
const OWN_NAMES =
  /^(store|log\.sqlite.*|spool|secrets\.key|control\.sock|backup\.part|restor(ed\.json|ing\.part)|lost\+found)$/;
export const storePath = (directory: string): string => join(directory, 'store');
export const logPath = (directory: string): string => join(directory, 'log.sqlite');
/** The directory of staged batches. */
export const spoolPath = (directory: string): string => join(directory, 'spool');

/** Whether a store was created in a directory, even one with empty tables. */
export const holdsStore = (directory: string): boolean => existsSync(storePath(directory));

/** Mode bits of the group and of all others. */
export const GROUP_AND_OTHERS = 0o077;
const OWNER_ONLY = 0o700;

/** The umask of the user, for files outside the data directory. */
export const userUmask = process.umask();

/**
 * Restricts a data directory, and all files that this process creates later, to its owner. Returns a warning if others
 * can still read the directory.
 */
export function protectDataDirectory(directory: string): string | null {
  process.umask(GROUP_AND_OTHERS);
  makeDirectory(directory);
  if ((statSync(directory).mode & GROUP_AND_OTHERS) === 0) return null;
  const remedy = `run \`chmod -R go= ${directory}\``;
  const foreign = readdirSync(directory).find((name) => !OWN_NAMES.test(name));
  if (foreign !== undefined) {
    return `other users can read ${directory}, which also holds ${foreign}: set DATA_DIR to a separate directory, or ${remedy}`;
  }
  try {
    chmodSync(directory, OWNER_ONLY);
    const key = join(directory, 'secrets.key');
    if (existsSync(key)) chmodSync(key, OWNER_ONLY & ~0o100);
    return null;
  } catch (error) {
    return `other users can read ${directory}, and this user cannot change that (${reasonOf(error)}): ${remedy} as its owner`;
  }
}
