import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/source-files.ts';

const run = (file: string, ...args: string[]) => {
  try {
    return execFileSync(file, args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  }
};

describe('the generated files of the clients', () => {
  it('are those of the OpenAPI document', () => {
    expect(run(process.execPath, 'serve/clients/generate.ts', '--check')).toBe('');
  });

  it('are written by scripts that pass the compiler', () => {
    expect(run(join(ROOT, 'node_modules/.bin/tsc'), '--noEmit', '-p', 'serve/clients')).toBe('');
  });
});
