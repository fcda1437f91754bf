import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, Browser } from '../../accounts/browser.ts';
import { openWorld, PASSWORD, signedIn, type World } from '../../accounts/world.ts';
import { answerOf, aPair, authorizeUrl, type Party, party } from './flow.ts';

let world: World;
/** A user who has authorized the application before. */
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
  await aPair(the);
});
afterAll(() => world.close());

const errorOf = (answer: Answer) => answerOf(answer).get('error');
const codeOf = (answer: Answer) => answerOf(answer).get('code');
/** Signs in on the page that an answer leads to, and returns where that leads to. */
async function signInAt(browser: Browser, away: Answer): Promise<string> {
  expect(away.headers.location).toMatch(/^\/sign-in\?/);
  const page = String(away.headers.location);
  const fields = { login: the.user.username, password: PASSWORD };
  return String((await browser.submit(page, '/sign-in', fields)).headers.location);
}

describe('prompt (OpenID Connect Core §3.1.2.1)', () => {
  test('none answers at once: with a code, login_required or consent_required', async () => {
    expect(codeOf(await the.browser.get(authorizeUrl(the, { prompt: 'none' })))).toMatch(/^cmc_/);
    const stranger = new Browser(world.app);
    expect(errorOf(await stranger.get(authorizeUrl(the, { prompt: 'none' })))).toBe('login_required');
    const more = authorizeUrl(the, { prompt: 'none', scope: 'api email' });
    const refused = await the.browser.get(more);
    expect(errorOf(refused)).toBe('consent_required');
    expect(answerOf(refused).get('state')).toBe('a state');
    const mixed = await the.browser.get(authorizeUrl(the, { prompt: 'none login' }));
    expect(errorOf(mixed)).toBe('invalid_request');
  });

  test('login asks for the password again, even after a refused sign-in', async () => {
    const browser = await signedIn(world, the.user);
    const url = authorizeUrl(the, { prompt: 'login' });
    world.advance(1000);
    const away = await browser.get(url);
    const page = await browser.get(String(away.headers.location));
    expect([page.statusCode, page.body.includes('Continue as')]).toEqual([200, false]);
    // The session of before is not enough at the address that the sign-in leads to.
    const next = new URL(String(away.headers.location), 'http://here').searchParams.get('next') ?? '';
    expect((await browser.get(next)).headers.location).toMatch(/^\/sign-in\?again=login/);
    const back = await signInAt(browser, away);
    expect(codeOf(await browser.get(back))).toMatch(/^cmc_/);
  });

  test('login asks once who is not signed in yet', async () => {
    const browser = new Browser(world.app);
    const back = await signInAt(browser, await browser.get(authorizeUrl(the, { prompt: 'login' })));
    expect(codeOf(await browser.get(back))).toMatch(/^cmc_/);
  });

  test('consent asks for consent that was given before', async () => {
    const page = await the.browser.get(authorizeUrl(the, { prompt: 'consent' }));
    expect([page.statusCode, page.body.includes('Authorize')]).toEqual([200, true]);
    const browser = new Browser(world.app);
    const away = await browser.get(authorizeUrl(the, { prompt: 'consent login' }));
    expect((await browser.get(await signInAt(browser, away))).statusCode).toBe(200);
  });

  test('select_account offers the account of the session, or another sign-in', async () => {
    const away = await the.browser.get(authorizeUrl(the, { prompt: 'select_account' }));
    const page = await the.browser.get(String(away.headers.location));
    expect(page.body).toContain(`Continue as ${the.user.username}`);
    const next = new URL(String(away.headers.location), 'http://here').searchParams.get('next') ?? '';
    expect(codeOf(await the.browser.get(next))).toMatch(/^cmc_/);
    const browser = await signedIn(world, the.user);
    const back = await signInAt(browser, await browser.get(authorizeUrl(the, { prompt: 'select_account' })));
    expect(codeOf(await browser.get(back))).toMatch(/^cmc_/);
  });

  test('of another value is ignored', async () => {
    expect(codeOf(await the.browser.get(authorizeUrl(the, { prompt: 'create' })))).toMatch(/^cmc_/);
  });
});

describe('max_age (OpenID Connect Core §3.1.2.1)', () => {
  test('accepts a sign-in that is young enough, and asks for a new one otherwise', async () => {
    const browser = await signedIn(world, the.user);
    world.advance(60_000);
    expect(codeOf(await browser.get(authorizeUrl(the, { max_age: '600' })))).toMatch(/^cmc_/);
    const silent = await browser.get(authorizeUrl(the, { max_age: '30', prompt: 'none' }));
    expect(errorOf(silent)).toBe('login_required');
    const back = await signInAt(browser, await browser.get(authorizeUrl(the, { max_age: '30' })));
    expect(codeOf(await browser.get(back))).toMatch(/^cmc_/);
  });

  test('of 0 asks for a sign-in once', async () => {
    const browser = await signedIn(world, the.user);
    world.advance(1000);
    const back = await signInAt(browser, await browser.get(authorizeUrl(the, { max_age: '0' })));
    expect(codeOf(await browser.get(back))).toMatch(/^cmc_/);
  });

  test.each(['-1', '1.5', 'soon', '1e3'])('refuses %s', async (max_age) => {
    expect(errorOf(await the.browser.get(authorizeUrl(the, { max_age })))).toBe('invalid_request');
  });
});

test('HEAD, which changes nothing, gets no code where GET does', async () => {
  const cookie = [...the.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const request = { url: authorizeUrl(the), headers: { host: 'localhost', cookie } } as const;
  expect((await world.app.inject({ method: 'GET', ...request })).headers.location).toMatch(/code=cmc_/);
  const head = await world.app.inject({ method: 'HEAD', ...request });
  expect([head.statusCode, head.headers.allow]).toEqual([405, 'GET, OPTIONS, POST']);
  expect(head.headers.location).toBeUndefined();
});
