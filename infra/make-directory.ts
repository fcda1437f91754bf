import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a directory and its parents; returns the first one that it created. Replaces the recursive `mkdir` of Node,
 * which never returns if an existing parent accepts no directories, such as `/proc`.
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
