import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { checkInstallation } from '../../../serve/doctor/installation.js';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const HOME = fileURLToPath(new URL('../../..', import.meta.url));
const place = temporaryDirectory();
afterAll(() => place[Symbol.dispose]());

const LIBRARY = `@chdb/lib-${process.platform}-${process.arch}-gnu`;

/** A home of the program with some packages installed. */
function home(name: string, installed: Record<string, string>): string {
  const folder = join(place.path, name);
  mkdirSync(folder);
  cpSync(join(HOME, 'package.json'), join(folder, 'package.json'));
  for (const [one, version] of Object.entries(installed)) {
    mkdirSync(join(folder, 'node_modules', one), { recursive: true });
    const manifest = { version, optionalDependencies: { [LIBRARY]: '1.0.0' } };
    writeFileSync(join(folder, 'node_modules', one, 'package.json'), JSON.stringify(manifest));
  }
  return folder;
}

const stateOf = (folder: string, check: string, profile = 'embedded') =>
  checkInstallation(profile, folder).find((one) => one.check === check);

it('finds everything here', () => {
  expect(checkInstallation('embedded').map(({ check, state }) => `${check} ${state}`)).toEqual([
    'node ok',
    'packages ok',
    'engine ok',
  ]);
});

it('names packages that are missing or of another version, and what to run', () => {
  const { text, state, remedy } = stateOf(home('few', { fastify: '1.0.0' }), 'packages') ?? {};
  expect(state).toBe('failed');
  expect(text).toMatch(/^@[\w-]+\/[\w-]+ is missing, .*, and \d+ more$/);
  expect(remedy).toMatch(/npm ci/);
});

it('tells an engine without the library of this platform', () => {
  const without = home('without', { chdb: '3.4.0' });
  expect(stateOf(without, 'engine')).toMatchObject({
    state: 'failed',
    text: `${LIBRARY} is missing`,
    remedy: expect.stringContaining('--omit=optional'),
  });
  expect(stateOf(home('with', { chdb: '3.4.0', [LIBRARY]: '1.0.0' }), 'engine')?.state).toBe('ok');
  expect(stateOf(without, 'engine', 'distributed')).toBeUndefined();
});
