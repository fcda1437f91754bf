import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/source-files.ts';

const run = promisify(execFile);

/** An earlier commit of this repository, with the packages of the working tree. */
export async function checkOut(revision: string, directory: string): Promise<void> {
  await run('git', ['clone', '--quiet', '--no-checkout', ROOT, directory]);
  await run('git', ['checkout', '--quiet', revision], { cwd: directory });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
}
