import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const MEMORY = '/dev/shm';
const NAME = /^chain-metrics-tests-(\d+)$/;
/** A run needs a few hundred megabytes. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * Temporary files of this process and its children are in memory where it has room for them and TMPDIR names no other
 * place, and are gone with this process. What a killed run left is removed. Nothing that is tested needs a disk: a
 * `kill -9` does not empty the memory of the kernel.
 */
export function useScratch(): void {
  if (scratchOfRun() !== null) return;
  const isInMemory = process.env.TMPDIR === undefined && freeBytesOf(MEMORY) >= FREE_BYTES_MIN;
  const place = isInMemory ? MEMORY : tmpdir();
  for (const name of readdirSync(place)) {
    const [, owner] = NAME.exec(name) ?? [];
    // In containers a run often has the id of the one before it.
    const isLeft = owner !== undefined && (Number(owner) === process.pid || !isAlive(Number(owner)));
    if (isLeft) removeLeft(join(place, name));
  }
  const scratch = join(place, `chain-metrics-tests-${process.pid}`);
  mkdirSync(scratch, { recursive: true });
  process.env.TMPDIR = scratch;
  process.on('exit', () => remove(scratch));
}

/** The directory of this run for temporary files, where it has one of its own. */
export function scratchOfRun(): string | null {
  const directory = tmpdir();
  return NAME.test(basename(directory)) ? directory : null;
}

const remove = (path: string) => rmSync(path, { recursive: true, force: true });

/** What cannot be removed, as a process of the killed run still uses it, is left for the next run. */
function removeLeft(path: string): void {
  try {
    for (const disk of mountedUnder(path)) spawnSync('umount', [disk]);
    remove(path);
  } catch (error) {
    process.stderr.write(`${path} of an earlier run is left: ${error}\n`);
  }
}

const MOUNTS = '/proc/mounts';

/** Disks whose power was to be cut when the run was killed. */
const mountedUnder = (path: string): string[] =>
  (existsSync(MOUNTS) ? readFileSync(MOUNTS, 'utf8') : '')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((disk) => disk.startsWith(`${path}/`));

function freeBytesOf(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}
