import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from '../../accounts/browser.ts';
import { aUser, CALLBACK, openWorld, signedIn, type World } from '../../accounts/world.ts';

let world: World;
let browser: Browser;
beforeAll(async () => {
  world = await openWorld();
  browser = await signedIn(world, await aUser(world));
});
afterAll(() => world.close());

const secretOn = async (path: string, by = browser) =>
  /id="secret">([^<]+)</.exec((await by.get(path)).body)?.[1] ?? null;
const create = async (path: string, fields: Record<string, string>) => {
  const made = await browser.submit(path, path, fields);
  expect(made.statusCode).toBe(303);
  return String(made.headers.location);
};
const application = { name: 'A', redirect_uris: CALLBACK, scopes: 'api', kind: 'confidential' };

describe('a new secret', () => {
  test.each([
    ['/profile/applications', application],
    ['/profile/keys', { name: 'nightly' }],
    ['/profile/tokens', { name: 'laptop', scopes: 'api' }],
  ])('of %s is shown once, on a page that can be reloaded', async (path, fields) => {
    const page = await create(path, fields);
    const rows = async () => (await browser.get(path)).body.split('<tr>').length;
    const before = await rows();
    expect(await secretOn(page)).toMatch(/^cm[skp]_/);
    expect(await secretOn(page)).toBeNull();
    expect((await browser.get(page)).statusCode).toBe(200);
    expect(await rows()).toBe(before);
  });

  test('that replaces another is shown once as well', async () => {
    const page = await create('/profile/applications', application);
    const first = await secretOn(page);
    const [path = ''] = page.split('?');
    const renewed = await browser.submit(path, `${path}/renew`, {});
    expect(renewed.statusCode).toBe(303);
    const second = await secretOn(String(renewed.headers.location));
    expect(second).toMatch(/^cms_/);
    expect(second).not.toBe(first);
    expect(await secretOn(String(renewed.headers.location))).toBeNull();
  });

  test('is shown only to the user who created it, and not after some minutes', async () => {
    const other = await signedIn(world, await aUser(world));
    const page = await create('/profile/keys', { name: 'nightly' });
    expect(await secretOn(page, other)).toBeNull();
    expect(await secretOn(page)).toMatch(/^cmk_/);
    const late = await create('/profile/keys', { name: 'late' });
    world.advance(6 * 60_000);
    expect(await secretOn(late)).toBeNull();
    for (const wrong of ['x', '', 'x'.repeat(22), '1&new=2'])
      expect((await browser.get(`/profile/keys?new=${wrong}`)).statusCode).toBe(200);
  });
});
