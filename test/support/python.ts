import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-files.ts';

/** The Python of an environment with these packages, which is made once and kept; `npm ci` empties its directory. */
export const keptPython = (name: string): string => join(ROOT, 'node_modules/.cache', name, 'bin/python');

/** Installs packages of PyPI; false, said aloud, where that is impossible. */
export function canInstall(name: string, packages: readonly string[]): boolean {
  const python = keptPython(name);
  const kept = join(ROOT, 'node_modules/.cache', name);
  const pip = ['-m', 'pip', '--disable-pip-version-check', 'install', '-q', '--no-compile'];
  try {
    if (existsSync(join(kept, 'installed'))) return true;
    mkdirSync(kept, { recursive: true });
    execFileSync('python3', ['-m', 'venv', kept], { stdio: 'pipe' });
    execFileSync(python, [...pip, ...packages], { stdio: 'pipe' });
    mkdirSync(join(kept, 'installed'));
    return true;
  } catch (error) {
    if (process.env.CI) throw error;
    console.warn(`NOT RUN without python3-venv and ${packages.join(', ')} of PyPI: ${error}`);
    return false;
  }
}
