import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Browser, type Fields, hiddenFields } from '../../accounts/browser.ts';
import { openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { answerOf, authorizeUrl, type Party, party } from './flow.ts';

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
});
afterAll(() => world.close());

const challenge = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' };
/** Requests that are wrong in every way that is told to the application, with the error. */
const WRONG: [string, Fields][] = [
  ['unsupported_response_type', { response_type: 'x' }],
  ['invalid_request', { response_type: '' }],
  ['unsupported_response_mode', { response_mode: 'fragment' }],
  ['invalid_scope', { scope: 'everything' }],
  ['invalid_scope', { scope: ' ' }],
  ['request_not_supported', { request: 'a.b.' }],
  ['invalid_target', { resource: 'https://unknown.example' }],
  ['invalid_request', { ...challenge, code_challenge_method: 'plain' }],
  ['invalid_request', { ...challenge, code_challenge: 'short' }],
  ['invalid_request', { max_age: 'soon' }],
  ['invalid_request', { prompt: 'none login' }],
  ['invalid_request', { state: ['a', 'b'] }],
  ['invalid_request', { scope: 'a'.repeat(9000) }],
];

describe('a wrong authorization request of a visitor who is not signed in (RFC 9700 §4.11.2)', () => {
  test.each(WRONG)('%s for %j: sign-in first, then the application learns of it', async (error, wrong) => {
    const browser = new Browser(world.app);
    const url = authorizeUrl(the, wrong);
    const away = await browser.get(url);
    expect([away.statusCode, away.headers.location]).toEqual([
      303,
      `/sign-in?next=${encodeURIComponent(url)}`,
    ]);
    const fields = { login: the.user.username, password: PASSWORD };
    const back = await browser.submit(String(away.headers.location), '/sign-in', fields);
    expect(back.headers.location).toBe(url);
    const answer = await browser.get(url);
    expect(String(answer.headers.location)).toMatch(/^https:\/\/client\.example\/callback\?/);
    expect(answerOf(answer).get('error')).toBe(error);
  });

  test.each(['', 'login', 'consent', 'select_account', 'create', 'none login', 'NONE'])(
    'prompt=%s gives no redirect to the application',
    async (prompt) => {
      const answer = await new Browser(world.app).get(authorizeUrl(the, { prompt, response_type: 'x' }));
      expect(answer.headers.location).toMatch(/^\/sign-in\?/);
    },
  );

  test('prompt=none alone is answered at once, since no page may be shown', async () => {
    const browser = new Browser(world.app);
    for (const [wrong, error] of [
      [{}, 'login_required'],
      [{ response_type: 'x' }, 'unsupported_response_type'],
      [{ scope: 'everything' }, 'invalid_scope'],
    ] as const) {
      const answer = await browser.get(authorizeUrl(the, { ...wrong, prompt: 'none' }));
      expect(answerOf(answer).get('error')).toBe(error);
    }
  });

  test('of a session that has ended, that awaits the second factor or that is invented is the same', async () => {
    const ended = new Browser(world.app);
    await ended.submit('/sign-in', '/sign-in', { login: the.user.username, password: PASSWORD });
    await ended.submit('/profile', '/sign-out', {});
    const invented = new Browser(world.app);
    invented.cookies.set('session', 'A'.repeat(43));
    for (const browser of [ended, invented]) {
      const answer = await browser.get(authorizeUrl(the, { response_type: 'x' }));
      expect(answer.headers.location).toMatch(/^\/sign-in\?/);
    }
  });

  test('by a client or to an address that is not registered is never redirected', async () => {
    for (const wrong of [{ client_id: 'x' }, { redirect_uri: 'https://evil.example' }]) {
      const answer = await new Browser(world.app).get(authorizeUrl(the, { ...wrong, prompt: 'none' }));
      expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined]);
    }
  });
});

test('a decision without a session is asked again after a sign-in', async () => {
  const browser = new Browser(world.app);
  const page = await browser.get('/sign-in');
  const { form_token = '' } = hiddenFields(page.body, '/sign-in');
  const url = authorizeUrl(the);
  const asked = Object.fromEntries(new URL(url, 'http://here').searchParams);
  for (const [decision, more] of [
    ['allow', {}],
    ['deny', {}],
    ['allow', { response_type: 'x' }],
    ['allow', { prompt: 'none', response_type: 'x' }],
  ] as const) {
    const answer = await browser.post('/oauth/authorize', { ...asked, ...more, form_token, decision });
    const { searchParams } = new URL(String(answer.headers.location), 'http://here');
    expect(answer.headers.location).toMatch(/^\/sign-in\?/);
    const next = new URL(searchParams.get('next') ?? '', 'http://here');
    expect(next.pathname).toBe('/oauth/authorize');
    expect(Object.fromEntries(next.searchParams)).toEqual({ ...asked, ...more });
  }
});
