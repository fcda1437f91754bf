import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hiddenFields } from '../../accounts/browser.ts';
import { openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import {
  aCode,
  answerOf,
  authorizeUrl,
  challengeOf,
  decide,
  exchangeOf,
  type Party,
  party,
  pkceExchange,
  post,
  refreshOf,
  verifierOf,
} from './flow.ts';

const RESOURCES = ['https://a.example', 'https://b.example'];
let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld({ OAUTH_RESOURCES: RESOURCES.join() });
  the = await party(world);
});
afterAll(() => world.close());

const PKCE = () => ({ code_challenge: challengeOf(verifierOf()), code_challenge_method: 'S256' });

describe('a redirect_uri of a native application', () => {
  test('on localhost with the port of the day is that of the token request as well', async () => {
    const own = await party(world, { redirect_uris: 'http://localhost/cb', is_confidential: false });
    const callback = 'http://localhost:51004/cb';
    const { fields } = await pkceExchange({ ...own, callback });
    const other = { ...fields, redirect_uri: 'http://localhost:51005/cb' };
    expect((await post(world, '/oauth/token', other)).json().error).toBe('invalid_grant');
    expect((await post(world, '/oauth/token', fields)).statusCode).toBe(200);
  });

  test.each(['com.example.app://cb', 'com.example.app:/cb', 'com.example.app://cb/deep?x=1'])(
    'with the private-use scheme of %s gets its code (RFC 8252 §7.1), and only as it is registered',
    async (callback) => {
      const own = await party(world, { redirect_uris: callback, is_confidential: false });
      const { fields } = await pkceExchange(own);
      expect((await post(world, '/oauth/token', fields)).statusCode).toBe(200);
      const location = String((await decide(own, PKCE())).headers.location);
      expect(location).toMatch(`${callback}${callback.includes('?') ? '&' : '?'}code=cmc_`);
      for (const wrong of [`${callback}x`, callback.replace('app:', 'ape:'), 'com.example.app:/other']) {
        const answer = await own.browser.get(authorizeUrl(own, { redirect_uri: wrong }));
        expect([wrong, answer.statusCode]).toEqual([wrong, 400]);
      }
    },
  );
});

describe('resource and audience (RFC 8707 §2)', () => {
  const several = { resource: RESOURCES, audience: ['x', 'y', 'z'] };

  test('may come several times, at the authorization and at the token endpoint', async () => {
    const page = await the.browser.get(authorizeUrl(the, several));
    expect(page.statusCode).toBe(200);
    const fields = hiddenFields(page.body, '/oauth/authorize');
    const answer = await the.browser.post('/oauth/authorize', { ...fields, ...several, decision: 'allow' });
    const code = answerOf(answer).get('code') ?? '';
    const exchanged = await post(world, '/oauth/token', { ...exchangeOf(the, code), ...several });
    expect(exchanged.statusCode).toBe(200);
    const refresh = { ...refreshOf(the, exchanged.json().refresh_token), ...several };
    expect((await post(world, '/oauth/token', refresh)).statusCode).toBe(200);
  });

  test.each(['scope', 'state', 'Resource', 'resources', 'audience[]', 'response_type'])(
    'another duplicate, %s, is invalid_request beside them',
    async (name) => {
      const answer = await the.browser.get(authorizeUrl(the, { ...several, [name]: ['api', 'api'] }));
      expect(answerOf(answer).get('error')).toBe('invalid_request');
    },
  );
});

describe('the description of invalid_scope', () => {
  const described = async (scope: string) => {
    const answer = answerOf(await the.browser.get(authorizeUrl(the, { scope })));
    return [answer.get('error'), answer.get('error_description')];
  };

  test('names each scope that is refused, in the characters of RFC 6749 §5.2', async () => {
    const unknown = 'not among the scopes of the application.';
    expect(await described('api everything')).toEqual([
      'invalid_scope',
      `The scope everything is ${unknown}`,
    ]);
    expect(await described('write_repository api admin')).toEqual([
      'invalid_scope',
      `The scopes write_repository, admin are ${unknown}`,
    ]);
    expect(await described('<b>"x"\\ünï')).toEqual(['invalid_scope', `The scope ?b??x???n? is ${unknown}`]);
    expect(await described('a b c d e f g')).toEqual([
      'invalid_scope',
      `The scopes a, b, c, d, e and 2 more are ${unknown}`,
    ]);
  });

  test('names it at the token endpoint too, for a refresh and for a password', async () => {
    const own = await party(world, { scopes: ['api', 'read_user'] });
    const code = await aCode(own, { scope: 'api' });
    const { refresh_token } = (await post(world, '/oauth/token', exchangeOf(own, code))).json();
    const wider = await post(world, '/oauth/token', { ...refreshOf(own, refresh_token), scope: 'read_user' });
    expect(wider.json().error_description).toBe(
      'The scope read_user is not among the scopes that the user granted.',
    );
    const password = { grant_type: 'password', username: own.user.username, password: PASSWORD };
    const sudo = await post(world, '/oauth/token', { ...password, scope: 'api sudo' });
    expect(sudo.json().error_description).toBe(
      'The scope sudo is not among the scopes that the application may request.',
    );
  });
});
