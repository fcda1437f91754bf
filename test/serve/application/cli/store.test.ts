import { accessSync, chmodSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openPipelineAt } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { linesOf, run } from './program.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

it('leaves the data of a newer version alone', async () => {
  const DATA_DIR = join(place.path, 'newer');
  const pipeline = await openPipelineAt(DATA_DIR);
  await pipeline.runtime.store.run(
    "INSERT INTO chain_metrics.meta (name, value) VALUES ('schema_version', '999')",
  );
  await pipeline.close();
  const { code, stderr } = await run(['status'], { env: { DATA_DIR } });
  expect(linesOf(stderr)).toEqual([
    expect.stringMatching(/written by a newer version \(schema 999, .*start that version$/),
  ]);
  expect(code).toBe(1);
});

it('says in one line that the data directory cannot be written', async () => {
  const file = join(place.path, 'file');
  writeFileSync(file, '');
  const closed = join(place.path, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o555);
  const directories = isWritable(closed) ? [file] : [file, closed];
  // Is a directory for everybody, and takes none.
  if (process.platform === 'linux') directories.push('/proc/data', '/proc/data/deeper');
  if (!directories.includes(closed))
    console.warn('this user may write anywhere: a read-only directory is not tried');
  for (const DATA_DIR of directories) {
    const { code, stderr } = await run(['start'], { env: { DATA_DIR, PORT: '0' } });
    expect(linesOf(stderr)).toEqual([
      expect.stringMatching(/cannot be written: .*set DATA_DIR to another directory$/),
    ]);
    expect(code).toBe(1);
  }
});

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
