import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory with those above it, and returns the first that was made. The recursive `mkdir` of Node never ends
 * where a parent is there and takes no directory, as `/proc`.
 */
export function makeDirectory(path: string, mode?: number): string | undefined {
  const parent = dirname(path);
  const first = existsSync(parent) ? undefined : makeDirectory(parent, mode);
  try {
    mkdirSync(path, { mode });
    return first ?? path;
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return first;
    throw error;
  }
}
