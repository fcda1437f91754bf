import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory that is gone after use. */
export interface TemporaryDirectory extends Disposable {
  readonly path: string;
}

export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), 'chain-metrics-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
