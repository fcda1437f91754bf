import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { checkDirectory, directorySize } from '../../../infra/embedded/directory-check.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

const NO_LIMIT = { DISK_FREE_BYTES_MIN: 0 };
const statesOf = (directory: string, limits = NO_LIMIT) =>
  Object.fromEntries(checkDirectory(directory, limits).map(({ check, state }) => [check, state]));

function directory(name: string, mode = 0o700): string {
  const path = join(place.path, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

it('a directory of this user alone, on a disk with room, is fine', () => {
  expect(statesOf(directory('own'))).toEqual({ permissions: 'ok', disk: 'ok', inodes: 'ok' });
});

it('one that is not there is made by the first start, where it may be', () => {
  expect(checkDirectory(join(place.path, 'none', 'yet'), NO_LIMIT)).toEqual([
    expect.objectContaining({
      check: 'directory',
      state: 'ok',
      text: expect.stringContaining('does not exist yet'),
    }),
  ]);
});

it.runIf(existsSync('/proc'))('one below /proc, which takes none, fails', () => {
  expect(statesOf('/proc/none/yet')).toEqual({ directory: 'failed' });
});

it('a file in its place fails', () => {
  const file = join(place.path, 'file');
  writeFileSync(file, '');
  expect(statesOf(file)).toEqual({ directory: 'failed' });
});

it('one that others may read, or whose key they may, is told with the command that closes it', () => {
  const open = directory('open', 0o755);
  expect(checkDirectory(open, NO_LIMIT)[0]).toMatchObject({
    check: 'permissions',
    state: 'warning',
    remedy: `run \`chmod -R go= ${open}\``,
  });
  const key = directory('key');
  writeFileSync(join(key, 'secrets.key'), '', { mode: 0o644 });
  expect(checkDirectory(key, NO_LIMIT)[0]?.text).toContain('secrets.key');
});

it('a disk without the room that is asked for fails', () => {
  expect(statesOf(directory('full'), { DISK_FREE_BYTES_MIN: 2 ** 60 }).disk).toBe('failed');
});

it('the size is that of all files, and follows no link', () => {
  const path = directory('sized');
  mkdirSync(join(path, 'inner'));
  writeFileSync(join(path, 'inner', 'a'), Buffer.alloc(100_000));
  symlinkSync('/', join(path, 'root'));
  const size = directorySize(path);
  expect(size).toMatchObject({ entries: 3, isWhole: true });
  expect(size.bytes).toBeGreaterThanOrEqual(98_304);
});
