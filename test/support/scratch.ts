import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const MEMORY = '/dev/shm';
const NAME = /^chain-metrics-tests-(\d+)$/;
/** A run needs a few hundred megabytes. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * Temporary files of this process and its children are in memory where it has room for them, and are gone with this
 * process. What a killed run left is removed. Nothing that is tested needs a disk: a `kill -9` does not empty the
 * memory of the kernel.
 */
export function useScratch(): void {
  if (process.env.TMPDIR !== undefined || freeBytesOf(MEMORY) < FREE_BYTES_MIN) return;
  for (const name of readdirSync(MEMORY)) {
    const [, owner] = NAME.exec(name) ?? [];
    if (owner !== undefined && !isAlive(Number(owner))) removeLeftOver(join(MEMORY, name));
  }
  const scratch = join(MEMORY, `chain-metrics-tests-${process.pid}`);
  mkdirSync(scratch, { recursive: true });
  process.env.TMPDIR = scratch;
  process.on('exit', () => remove(scratch));
}

/** The directory of this run for temporary files, where it has one of its own. */
export function scratchOfRun(): string | null {
  const directory = tmpdir();
  return NAME.test(basename(directory)) ? directory : null;
}

/** A disk that a killed run has mounted there can stay: it takes memory, and nothing else. */
function removeLeftOver(path: string): void {
  try {
    remove(path);
  } catch (error) {
    console.error(`${path} stays: ${(error as Error).message}`);
  }
}

const remove = (path: string) => rmSync(path, { recursive: true, force: true });

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
