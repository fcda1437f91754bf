import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, Browser } from '../accounts/browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from '../accounts/world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const TEXT = 'The session was not found.';
/** Sends a form whose answer leads to a note. */
const send = (browser: Browser): Promise<Answer> =>
  browser.submit('/profile/sessions', '/profile/sessions/none/end', {});
const noteOf = ({ body }: Answer): string | null =>
  /<p class="note[^>]*role="\w+">([^<]*)</.exec(body)?.[1] ?? null;

/** A browser with a note that no page has shown yet, and the note as it is in the cookie. */
async function withNote(): Promise<{ browser: Browser; note: string }> {
  const browser = await signedIn(world, await aUser(world));
  await send(browser);
  return { browser, note: decodeURIComponent(browser.cookies.get('note') ?? '') };
}

describe('a note', () => {
  test('is shown by the next page, once', async () => {
    const { browser } = await withNote();
    const page = await browser.get('/profile');
    expect(noteOf(page)).toBe(TEXT);
    expect(page.body).toContain('<p class="note bad" role="alert">');
    expect(browser.cookies.has('note')).toBe(false);
    expect(noteOf(await browser.get('/profile'))).toBeNull();
  });

  test('is shown after a sign-out and after a sign-up, where the session changes', async () => {
    const { browser } = await withNote();
    await browser.submit('/profile', '/sign-out', {});
    expect(noteOf(await browser.get('/sign-in'))).toBe('You have been signed out.');
    const visitor = new Browser(world.app);
    const fields = { username: 'noted', email: '', password: PASSWORD };
    const page = await visitor.submitAndFollow('/sign-up', '/sign-up', fields);
    expect(noteOf(page)).toMatch(/^Welcome to Chain Metrics/);
  });

  test('is shown after all sessions were ended, and after a new password', async () => {
    const { browser } = await withNote();
    const changed = await browser.submitAndFollow('/profile/security', '/profile/security/password', {
      password: PASSWORD,
      new_password: `${PASSWORD} again`,
    });
    expect(noteOf(changed)).toMatch(/^The password was changed/);
    const ended = await browser.submitAndFollow('/profile/sessions', '/profile/sessions/end-all', {});
    expect(noteOf(ended)).toBe('You have been signed out of all sessions.');
  });

  test('has a cookie with the rules of the others', async () => {
    await using secure = await world.beside({ PUBLIC_URL: 'https://metrics.example' });
    for (const [at, name, isSecure] of [
      [world, 'note', false],
      [secure, '__Host-note', true],
    ] as const) {
      const browser = await signedIn(at, await aUser(world));
      const answer = await send(browser);
      const lines = [answer.headers['set-cookie'] ?? []].flat();
      const attributesOf = (cookie: string) => {
        const [, ...attributes] = (lines.find((line) => line.startsWith(`${cookie}=`)) ?? '').split('; ');
        return attributes.filter((one) => !/^(Max-Age|Expires)=/.test(one)).sort();
      };
      const rules = ['HttpOnly', 'Path=/', 'SameSite=Lax', ...(isSecure ? ['Secure'] : [])];
      expect(attributesOf(name)).toEqual(rules);
      expect(attributesOf(name.replace('note', 'visitor'))).toEqual(rules);
      const shown = await browser.get('/profile');
      expect(noteOf(shown)).toBe(TEXT);
      const cleared = [shown.headers['set-cookie'] ?? []].flat().find((line) => line.startsWith(`${name}=;`));
      for (const rule of rules) expect(cleared).toContain(rule);
    }
  });
});

describe('a text that was planted is never shown', () => {
  const planted: [string, (note: string) => string][] = [
    ['no signature', () => 'good You won a prize'],
    ['an invented signature', () => `${'A'.repeat(43)} ${world.now()} good You won a prize`],
    ['another text', (note) => `${note} Call us.`],
    ['another kind', (note) => note.replace(' bad ', ' good ')],
    ['another time', (note) => note.replace(/ (\d+) /, (_, time: string) => ` ${Number(time) + 1} `)],
    ['a later time', (note) => note.replace(/ \d+ /, ' 999999999999999 ')],
    ['an empty text', () => ''],
    ['markup', () => 'bad <b>x</b>'],
  ];
  test.each(planted)('%s', async (_, change) => {
    const { browser, note } = await withNote();
    browser.cookies.set('note', encodeURIComponent(change(note)));
    const page = await browser.get('/profile');
    expect([page.statusCode, noteOf(page)]).toEqual([200, null]);
    expect(page.body).not.toContain('prize');
  });

  test('of another browser, signed in or not', async () => {
    const { note } = await withNote();
    for (const victim of [await signedIn(world, await aUser(world)), new Browser(world.app)]) {
      for (const path of ['/sign-in', '/profile', '/charts', '/nowhere']) {
        victim.cookies.set('note', encodeURIComponent(note));
        expect(noteOf(await victim.get(path, { accept: 'text/html' }))).toBeNull();
      }
    }
  });

  test('of another session of the same browser', async () => {
    const { browser, note } = await withNote();
    await browser.submitAndFollow('/profile', '/sign-out', {});
    browser.cookies.set('note', encodeURIComponent(note));
    expect(noteOf(await browser.get('/sign-in'))).toBeNull();
  });

  test('of another visitor, whose cookie was planted too', async () => {
    const { browser, note } = await withNote();
    const victim = await signedIn(world, await aUser(world));
    victim.cookies.set('note', encodeURIComponent(note));
    victim.cookies.set('visitor', browser.cookies.get('visitor') ?? '');
    expect(noteOf(await victim.get('/profile'))).toBeNull();
  });

  test('a minute later', async () => {
    const { browser } = await withNote();
    world.advance(61_000);
    expect(noteOf(await browser.get('/profile'))).toBeNull();
  });

  test('under the name that a subdomain could set, where the service has https', async () => {
    await using secure = await world.beside({ PUBLIC_URL: 'https://metrics.example' });
    const browser = await signedIn(secure, await aUser(world));
    await send(browser);
    browser.cookies.set('note', browser.cookies.get('__Host-note') ?? '');
    browser.cookies.delete('__Host-note');
    expect(noteOf(await browser.get('/profile'))).toBeNull();
  });
});
