import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeDirectory } from '../../infra/make-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());
const at = (...names: string[]) => join(place.path, ...names);

test('makes what is missing, with the mode, and tells the first that it made', () => {
  expect(makeDirectory(at('a', 'b', 'c'), 0o700)).toBe(at('a'));
  for (const path of [at('a'), at('a', 'b'), at('a', 'b', 'c')])
    expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(makeDirectory(at('a', 'b', 'd'))).toBe(at('a', 'b', 'd'));
});

test('leaves what is there, also behind a link', () => {
  mkdirSync(at('there'));
  symlinkSync('there', at('link'));
  expect([makeDirectory(at('there')), makeDirectory(at('link')), makeDirectory('/')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(makeDirectory(at('link', 'new'))).toBe(at('link', 'new'));
});

test('refuses files, links that lead nowhere, and parents that take no directory', () => {
  writeFileSync(at('file'), '');
  symlinkSync('nowhere', at('dangling'));
  expect(() => makeDirectory(at('file'))).toThrow(/EEXIST/);
  expect(() => makeDirectory(at('file', 'below'))).toThrow(/ENOTDIR/);
  expect(() => makeDirectory(at('dangling'))).toThrow(/EEXIST/);
  if (process.platform === 'linux') expect(() => makeDirectory('/proc/data/deeper')).toThrow(/ENOENT/);
});
