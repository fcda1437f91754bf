import { accessSync, constants, lstatSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GROUP_AND_OTHERS } from '../data-directory.ts';
import { reasonOf } from '../errors.ts';
import { type Finding, failed, fine, warning } from '../finding.ts';
import { formatBytes, formatNumber, plural } from '../format.ts';

/** Limit of counted entries; above it the size is reported as "at least". */
const ENTRIES_MAX = 200_000;
/** Least free space, as a share of the data directory: a merge writes its result before it deletes its sources. */
const FREE_SHARE = 0.25;
/** Least free inodes, as a share of all inodes of the file system. */
const INODES_FREE_SHARE = 0.05;
const BLOCK_BYTES = 512;

/** Checks a data directory and its disk without changing anything; a process may have it open. */
export function checkDirectory(
  directory: string,
  { DISK_FREE_BYTES_MIN }: { readonly DISK_FREE_BYTES_MIN: number },
): Finding[] {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return [checkNewDirectory(directory)];
  if (!found.isDirectory()) {
    return [failed('directory', `${directory} is not a directory`, 'set DATA_DIR to a directory')];
  }
  try {
    const permissions = checkPermissions(directory, process.getuid?.() ?? 0);
    const size = directorySize(directory);
    return [permissions, checkDisk(directory, DISK_FREE_BYTES_MIN, size), checkInodes(directory, size)];
  } catch (error) {
    return [failed('directory', `${directory} cannot be read: ${reasonOf(error)}`, chownRemedy(directory))];
  }
}

/** File system types of /proc and /sys (statfs(2)). They report write access to root, but accept no files. */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x9fa0, 0x62656572]);

function checkNewDirectory(directory: string): Finding {
  let parent = dirname(directory);
  while (!lstatSync(parent, { throwIfNoEntry: false })) parent = dirname(parent);
  if (!mayWrite(parent)) {
    return failed(
      'directory',
      `${directory} does not exist, and this user cannot create it in ${parent}`,
      `create it as the owner of ${parent}, or set DATA_DIR to another directory`,
    );
  }
  if (KERNEL_FILE_SYSTEMS.has(statfsSync(parent).type)) {
    const text = `${directory} does not exist, and the file system of ${parent} stores no files`;
    return failed('directory', text, 'set DATA_DIR to a directory on a disk');
  }
  return fine('directory', `${directory} does not exist yet; the first start creates it`);
}

function checkPermissions(directory: string, uid: number): Finding {
  const owners = [directory, ...namesIn(directory), ...namesIn(join(directory, 'store'))]
    .filter((path) => !path.endsWith('lost+found'))
    .flatMap((path) => lstatSync(path, { throwIfNoEntry: false })?.uid ?? []);
  const other = owners.find((owner) => owner !== uid);
  if (other !== undefined) {
    const text = `files in ${directory} belong to user ${other}, but this is user ${uid}`;
    // Root can read everything, but the other user cannot read the files that root creates.
    return uid === 0
      ? warning('permissions', text, `run the program as user ${other}: ${chownRemedy(directory)}`)
      : failed('permissions', text, chownRemedy(directory));
  }
  if (!mayWrite(directory))
    return failed('permissions', `this user cannot write to ${directory}`, chownRemedy(directory));
  const open = [directory, join(directory, 'secrets.key')].find(
    (path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & GROUP_AND_OTHERS) !== 0,
  );
  if (open === undefined)
    return fine('permissions', `${directory} belongs to this user, and no other user can read it`);
  const text = `other users can read ${open}, including accounts and keys`;
  return warning('permissions', text, `run \`chmod -R go= ${directory}\``);
}

const chownRemedy = (directory: string) =>
  `run \`chown -R USER ${directory}\` with the user who runs the server, and run commands as that user`;

interface DirectorySize {
  readonly bytes: number;
  readonly entries: number;
  /** False if counting stopped at ENTRIES_MAX. */
  readonly isWhole: boolean;
}

function checkDisk(directory: string, freeMin: number, size: DirectorySize): Finding {
  const { bavail, bsize, blocks } = statfsSync(directory);
  const free = bavail * bsize;
  const text = `${atLeast(size)}${formatBytes(size.bytes)} stored; ${formatBytes(free)} of ${formatBytes(blocks * bsize)} are free`;
  const remedy = 'free space on this disk, or stop the server and move DATA_DIR to a larger disk';
  if (free < freeMin)
    return failed('disk', `${text}: less than DISK_FREE_BYTES_MIN, so the server is not ready`, remedy);
  if (free < size.bytes * FREE_SHARE)
    return warning('disk', `${text}: merges of tables need space for copies`, remedy);
  return fine('disk', text);
}

function checkInodes(directory: string, size: DirectorySize): Finding {
  const { ffree, files } = statfsSync(directory);
  // Some file systems have no fixed number of inodes.
  if (files === 0) return fine('inodes', 'this file system does not limit the number of files');
  const text = `${atLeast(size)}${plural(size.entries, 'file')}; ${formatNumber(ffree)} of ${plural(files, 'inode')} are free`;
  if (ffree >= files * INODES_FREE_SHARE && ffree >= size.entries * FREE_SHARE) return fine('inodes', text);
  return warning('inodes', text, 'delete small files on this disk, or move DATA_DIR to another one');
}

const atLeast = ({ isWhole }: DirectorySize) => (isWhole ? '' : 'at least ');

/** Size and entries of a directory. Skips files that are deleted meanwhile. */
export function directorySize(directory: string): DirectorySize {
  const waiting = [directory];
  let [total, entries] = [0, 0];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const path of namesIn(next)) {
      if (entries >= ENTRIES_MAX) return { bytes: total, entries, isWhole: false };
      const found = lstatSync(path, { throwIfNoEntry: false });
      entries++;
      total += (found?.blocks ?? 0) * BLOCK_BYTES;
      if (found?.isDirectory()) waiting.push(path);
    }
  }
  return { bytes: total, entries, isWhole: true };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name));
  } catch {
    // A directory without read permission counts as empty.
    return [];
  }
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    // No access is a result, not an error.
    return false;
  }
}

/** The command line of a process, if the system shows it. */
export function readCommandLine(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return words.slice(0, 4).join(' ').trim().slice(0, 120);
  } catch {
    return 'a program of another user';
  }
}
