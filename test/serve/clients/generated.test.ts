import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../support/source-files.ts';

it('the generated files of the clients are those of the OpenAPI document', () => {
  const script = join(ROOT, 'serve/clients/generate.ts');
  expect(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
});
