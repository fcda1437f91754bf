import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Whether there is a Go that builds clients. Where there is none, that is said aloud; where `CI` is set it fails. */
export function canBuildGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'pipe' });
    return true;
  } catch {
    if (process.env.CI) return true;
    console.warn('NOT RUN without Go 1.26 in the path');
    return false;
  }
}

/** Builds the program of a directory. */
export function buildGo(directory: string): string {
  const program = join(directory, 'program');
  execFileSync('go', ['build', '-o', program, '.'], { cwd: directory, stdio: 'pipe' });
  return program;
}
