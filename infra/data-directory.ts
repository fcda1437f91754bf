import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from './errors.ts';
import { makeDirectory } from './make-directory.ts';

/** What the product stores in its directory; a directory that holds anything else is shared with somebody. */
const OWN_NAMES =
  /^(store|log\.sqlite.*|spool|secrets\.key|control\.sock|backup\.part|restor(ed\.json|ing\.part)|lost\+found)$/;
export const storePath = (directory: string): string => join(directory, 'store');
export const logPath = (directory: string): string => join(directory, 'log.sqlite');
/** Input that is being loaded. */
export const spoolPath = (directory: string): string => join(directory, 'spool');

/** Whether something was stored in a directory, be it nothing but empty tables. */
export const holdsStore = (directory: string): boolean => existsSync(storePath(directory));

/** What a mode allows to others than the owner. */
export const GROUP_AND_OTHERS = 0o077;
const OWNER_ONLY = 0o700;

/** The umask of the user, for files that are no part of the data directory. */
export const userUmask = process.umask();

/**
 * Makes a data directory readable by its user only, with everything that this process creates from here on. Returns
 * what the operator has to know: why a directory that others may read was left as it is.
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
