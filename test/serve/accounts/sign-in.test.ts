import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { Browser, hiddenFields } from './browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ TRUST_PROXY: '1' });
});
afterAll(() => world.close());

describe('sign-up', () => {
  test('creates an account, signs in and redirects to the requested page', async () => {
    const browser = new Browser(world.app);
    const answer = await browser.submit('/sign-up?next=%2Fprofile%2Fkeys', '/sign-up', {
      username: 'Alice',
      email: 'Alice@Example.org',
      password: PASSWORD,
    });
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe('/profile/keys');
    const page = await browser.get('/profile');
    expect(page.body).toContain('alice@example.org');
  });

  test.each([
    ['username', { username: 'a' }, 'Use 2 to 39'],
    ['username', { username: 'аlice' }, 'Use 2 to 39'],
    ['username', { username: 'alice' }, 'is already taken'],
    ['username', { username: 'oauth2' }, 'reserved'],
    ['email', { email: 'nobody' }, 'such as name@example.org'],
    ['email', { email: 'alice@example.org' }, 'Email is already taken'],
    ['password', { password: 'short' }, 'at least 10'],
    ['password', { password: 'carol is my name' }, 'must not contain your username'],
    ['password', { password: 'aaaaaaaaaaaaaa' }, 'at least 5 different'],
  ])('reports the invalid field: %s %j', async (field, wrong, says) => {
    const browser = new Browser(world.app, `192.0.2.${10 + Math.floor(Math.random() * 200)}`);
    const good = { username: 'carol', email: '', password: PASSWORD };
    const answer = await browser.submit('/sign-up', '/sign-up', { ...good, ...wrong });
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toMatch(new RegExp(`id="${field}-fault">[^<]*${says}`));
    expect(answer.headers['set-cookie'] ?? '').not.toContain('session=');
  });
});

describe('sign-in', () => {
  test('accepts username and email, case-insensitively', async () => {
    const user = await aUser(world);
    for (const login of [user.username, user.username.toUpperCase(), user.email]) {
      const browser = new Browser(world.app);
      const answer = await browser.submit('/sign-in', '/sign-in', { login, password: PASSWORD });
      expect(answer.statusCode).toBe(303);
      expect((await browser.get('/profile')).statusCode).toBe(200);
    }
  });

  test('gives the same error for an unknown username and a wrong password', async () => {
    const user = await aUser(world);
    const wrong = await new Browser(world.app).submit('/sign-in', '/sign-in', {
      login: user.username,
      password: 'wrong',
    });
    const unknown = await new Browser(world.app).submit('/sign-in', '/sign-in', {
      login: 'nobody',
      password: 'wrong',
    });
    expect([wrong.statusCode, unknown.statusCode]).toEqual([401, 401]);
    expect(wrong.body).toContain('Invalid username or password.');
    expect(unknown.body).toContain('Invalid username or password.');
  });

  test('starts a new session with an HttpOnly cookie, whatever cookie the browser had', async () => {
    const user = await aUser(world);
    const browser = new Browser(world.app);
    browser.cookies.set('session', 'A'.repeat(43));
    const answer = await browser.submit('/sign-in', '/sign-in', { login: user.username, password: PASSWORD });
    const cookie = [answer.headers['set-cookie']].flat().find((one) => one?.startsWith('session='));
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Lax/);
    expect(cookie).not.toContain('A'.repeat(43));
  });

  test('uses a Secure __Host- cookie over https', async () => {
    await using secure = await world.beside({ PUBLIC_URL: 'https://metrics.example' });
    const user = await aUser(secure);
    const answer = await new Browser(secure.app).submit('/sign-in', '/sign-in', {
      login: user.username,
      password: PASSWORD,
    });
    const cookie = [answer.headers['set-cookie']].flat().find((one) => one?.includes('session='));
    expect(cookie).toMatch(/^__Host-session=.*Path=\/;.*Secure/);
  });

  test('answers a request that is refused before its cookies are read', async () => {
    const answer = await world.app.inject({ url: '/sign-in', headers: { host: 'no host' } });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('Host header');
  });

  test.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    '/%0d%0aSet-Cookie:x',
    '/a\tb',
  ])('never redirects to another site: next=%s', async (next) => {
    const user = await aUser(world);
    const answer = await new Browser(world.app).submit(
      `/sign-in?next=${encodeURIComponent(next)}`,
      '/sign-in',
      {
        login: user.username,
        password: PASSWORD,
      },
    );
    expect(answer.statusCode).toBe(303);
    expect(String(answer.headers.location)).toMatch(/^\/(?![/\\])/);
    expect(String(answer.headers.location)).not.toContain('evil');
  });

  test('limits failed attempts by account and address, also for the correct password, until the window ends', async () => {
    const user = await aUser(world);
    const browser = new Browser(world.app, '198.51.100.7');
    const attempt = (password: string) =>
      browser.submit('/sign-in', '/sign-in', { login: user.username, password });
    for (let i = 0; i < 10; i++) expect((await attempt('wrong')).statusCode).toBe(401);
    const refused = await attempt(PASSWORD);
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const elsewhere = new Browser(world.app, '198.51.100.8');
    expect(
      (await elsewhere.submit('/sign-in', '/sign-in', { login: user.username, password: PASSWORD }))
        .statusCode,
    ).toBe(303);
    world.advance(15 * 60_000);
    expect((await attempt(PASSWORD)).statusCode).toBe(303);
  });
});

describe('behind a proxy that appends to X-Forwarded-For', () => {
  const submit = async (action: string, fields: Record<string, string>, forwarded: string) => {
    const browser = new Browser(world.app);
    const page = await browser.get(action);
    return browser.post(
      action,
      { ...hiddenFields(page.body, action), ...fields },
      { 'x-forwarded-for': forwarded },
    );
  };

  test('invented entries evade neither the limit of sign-ins nor that of sign-ups', async () => {
    const user = await aUser(world);
    const signIns: number[] = [];
    const signUps: number[] = [];
    for (let i = 0; i < 14; i++) {
      const forwarded = `203.0.113.${i}, 2001:db8:77::${i}`;
      const wrong = { login: user.username, password: 'wrong' };
      signIns.push((await submit('/sign-in', wrong, forwarded)).statusCode);
      const wanted = { username: `many-${i}`, email: '', password: PASSWORD };
      signUps.push((await submit('/sign-up', wanted, forwarded)).statusCode);
    }
    expect(signIns).toEqual([...Array(10).fill(401), ...Array(4).fill(429)]);
    expect(signUps).toEqual([...Array(10).fill(303), ...Array(4).fill(429)]);
  });

  test('a session shows the address that the proxy appended', async () => {
    const user = await aUser(world);
    const fields = { login: user.username, password: PASSWORD };
    await submit('/sign-in', fields, '203.0.113.1, 198.51.100.99');
    const [session] = await world.accounts.sessions.find(sql`user_id = ${user.id}`, 'created_ms', 1);
    expect(session?.address).toBe('198.51.100.99');
  });

  test.each(['/sign-in', '/.well-known/oauth-authorization-server', '/docs', '/openapi.json'])(
    'X-Forwarded-Host and X-Forwarded-Proto change nothing in %s',
    async (url) => {
      const ask = async (headers: Record<string, string>) => {
        const answer = await world.app.inject({ url, headers });
        return [answer.statusCode, answer.headers.location, answer.body.replace(/value="[^"]*"/g, '')];
      };
      const forged = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
      expect(await ask(forged)).toEqual(await ask({}));
    },
  );
});

describe('sessions', () => {
  test('end with sign-out, which invalidates the cookie', async () => {
    const browser = await signedIn(world, await aUser(world));
    const stolen = new Map(browser.cookies);
    await browser.submit('/profile', '/sign-out', {});
    const thief = new Browser(world.app);
    for (const [name, value] of stolen) thief.cookies.set(name, value);
    const answer = await thief.get('/profile');
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe('/sign-in?next=%2Fprofile');
  });

  test('can all be ended at once', async () => {
    const user = await aUser(world);
    const [here, there] = [await signedIn(world, user), await signedIn(world, user)];
    await here.submit('/profile/sessions', '/profile/sessions/end-all', {});
    expect((await here.get('/profile')).statusCode).toBe(303);
    expect((await there.get('/profile')).statusCode).toBe(303);
    expect((await (await signedIn(world, user)).get('/profile')).statusCode).toBe(200);
  });

  test('can be ended one by one, only by their user', async () => {
    const user = await aUser(world);
    const [here, there] = [await signedIn(world, user), await signedIn(world, user)];
    const action =
      /action="(\/profile\/sessions\/[^"]+\/end)"/.exec((await here.get('/profile/sessions')).body)?.[1] ??
      '';
    const other = await signedIn(world, await aUser(world));
    await other.submit('/profile/sessions', action, {});
    expect((await there.get('/profile')).statusCode).toBe(200);
    await here.submit('/profile/sessions', action, {});
    expect((await there.get('/profile')).statusCode).toBe(303);
    expect((await here.get('/profile')).statusCode).toBe(200);
  });

  test('end when the password is changed', async () => {
    const user = await aUser(world);
    const [here, there] = [await signedIn(world, user), await signedIn(world, user)];
    const changed = await here.submit('/profile/security', '/profile/security/password', {
      password: PASSWORD,
      new_password: 'another four quiet words',
    });
    expect(changed.statusCode).toBe(303);
    expect((await there.get('/profile')).statusCode).toBe(303);
    expect((await here.get('/profile')).statusCode).toBe(200);
  });

  test('expire when they are not used', async () => {
    const browser = await signedIn(world, await aUser(world));
    world.advance(15 * 86_400_000);
    expect((await browser.get('/profile')).statusCode).toBe(303);
  });
});
