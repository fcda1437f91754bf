import { type ChildProcess, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryDirectory } from './temporary-directory.ts';

/** Where processes keep their files that are ended by force, and how they are. */
export interface Place extends Disposable {
  readonly path: string;
  /** Whether processes have to force to the disk what they have acknowledged. */
  readonly isForced: boolean;
  /** Ends a process that keeps its files there. */
  end(child: ChildProcess): Promise<void>;
  /** Called when it has ended, before the next one begins. */
  restart(): void;
}

/** A directory, or a disk whose power is cut where a file system is named. */
export const placeIn = (directory: string, powerCutsOn?: string): Place =>
  powerCutsOn === undefined ? placeOfKills(directory) : placeOfPowerCuts(directory, powerCutsOn);

/** A directory whose processes are killed: all that they have written stays. */
export const placeOfKills = (path: string): Place => ({
  path,
  isForced: false,
  end: async (child) => void child.kill('SIGKILL'),
  restart: () => {},
  [Symbol.dispose]: () => {},
});

const DISK_BYTES = 2 * 2 ** 30;
/** Only what is forced to the disk is on it: the kernel writes nothing by itself meanwhile. */
const MOUNT_OPTIONS: Readonly<Record<string, string>> = { ext4: 'noatime,commit=3600', xfs: 'noatime' };
const MAKE_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  ext4: ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0'],
  xfs: ['-q'],
};

/**
 * A file system on a disk of its own, whose power is cut: what was written and not forced to the disk is gone, and the
 * file system replays its journal. It is a file behind a loop device, so that it needs root on Linux.
 */
function placeOfPowerCuts(directory: string, fileSystem: string): Place {
  const image = join(directory, 'disk.img');
  const left = join(directory, 'left.img');
  const path = join(directory, 'disk');
  const mount = () => run('mount', '-o', `loop,${MOUNT_OPTIONS[fileSystem] ?? 'noatime'}`, image, path);
  const unmount = () => run('umount', path);
  mkdirSync(path);
  writeFileSync(image, '');
  truncateSync(image, DISK_BYTES);
  run(`mkfs.${fileSystem}`, ...(MAKE_OPTIONS[fileSystem] ?? []), image);
  mount();
  return {
    path,
    isForced: true,
    end: async (child) => {
      // One that has ended by itself has no power to lose.
      if (!child.kill('SIGSTOP')) return;
      while (!isStopped(child.pid as number)) await pause(1);
      run('cp', '--sparse=always', image, left);
      child.kill('SIGKILL');
    },
    restart: () => {
      unmount();
      // One that had ended before its power was cut has left everything.
      if (existsSync(left)) renameSync(left, image);
      mount();
    },
    [Symbol.dispose]: () => {
      unmount();
      rmSync(image);
    },
  };
}

/**
 * Whether the kernel lets this user mount a disk; where it does not, that is said aloud and tests of it do not run, also
 * where `CI` is set: no package that could be installed gives a container that right.
 */
export function canCutPower(): boolean {
  using directory = temporaryDirectory();
  try {
    placeOfPowerCuts(directory.path, 'ext4')[Symbol.dispose]();
    return true;
  } catch (error) {
    console.warn(`NOT RUN without root and loop devices: ${error}`);
    return false;
  }
}

const run = (command: string, ...args: readonly string[]) =>
  void execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });

/** Whether no thread of a process is in the kernel any more: a call that forces bytes to the disk ends first. */
function isStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).every((task) => {
      const stat = readFileSync(join(tasks, task, 'stat'), 'utf8');
      return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
    });
  } catch {
    // A thread has ended meanwhile, or all of them.
    return !existsSync(tasks);
  }
}
