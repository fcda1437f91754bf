import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Seal } from '../../../serve/accounts/secrets.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';

let place: TemporaryDirectory;
beforeEach(() => {
  place = temporaryDirectory();
});
afterEach(() => place[Symbol.dispose]());
const open = () => Seal.open({ DATA_DIR: place.path });
const file = () => join(place.path, 'secrets.key');

it('makes a key that only its user may read, and reads it again', () => {
  const signature = open().sign('form', 'text');
  expect(open().isSigned('form', 'text', signature)).toBe(true);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readdirSync(place.path)).toEqual(['secrets.key']);
});

it.each([
  ['empty', ''],
  ['blank', '\n'],
  ['short', Buffer.alloc(31, 7).toString('base64')],
  ['long', Buffer.alloc(33, 7).toString('base64')],
  ['no base64', 'correct horse battery staple'],
])('refuses a key file that is %s, says what to do, and leaves it as it is', (_, text) => {
  writeFileSync(file(), text);
  expect(open).toThrow(/secrets\.key does not contain a key of 32 bytes: restore it from a backup/);
  expect(readFileSync(file(), 'utf8')).toBe(text);
});
