import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApplication } from '../../../../serve/identity/oauth/applications.ts';
import { encoded } from '../../accounts/browser.ts';
import { openWorld, type World } from '../../accounts/world.ts';
import { aCode, basic, exchangeOf, type Party, party, pkceExchange, post } from '../oauth/flow.ts';

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
});
afterAll(() => world.close());

const send = (payload: string, type: string) =>
  world.app.inject({ method: 'POST', url: '/oauth/token', headers: { 'content-type': type }, payload });

test('a body of another type is invalid_request, names both types, and uses up no code', async () => {
  const fields = exchangeOf(the, await aCode(the));
  const refused = await send(JSON.stringify(fields), 'application/json; charset=utf-8');
  expect([refused.statusCode, refused.json()]).toEqual([
    400,
    {
      error: 'invalid_request',
      error_description:
        'The body is application/json. Send the parameters as application/x-www-form-urlencoded.',
    },
  ]);
  expect((await send(encoded(fields), 'application/x-www-form-urlencoded')).statusCode).toBe(200);
});

test.each([
  'application/x-www-form-urlencoded;charset=UTF-8',
  'application/x-www-form-urlencoded; charset="utf-8"',
  'Application/X-WWW-Form-Urlencoded',
])('the content type %s is accepted', async (type) => {
  const answer = await send(encoded(exchangeOf(the, await aCode(the))), type);
  expect(answer.statusCode, answer.body).toBe(200);
});

test('a public client may send its id by HTTP Basic, with an empty password', async () => {
  const own = await party(world, { is_confidential: false });
  const { fields } = await pkceExchange(own);
  const { client_id: id = '', ...rest } = fields;
  expect((await post(world, '/oauth/token', rest, basic(id, ''))).statusCode).toBe(200);
});

test('a code exchange ignores scope, which was decided at the authorization', async () => {
  const fields = exchangeOf(the, await aCode(the, { scope: 'openid' }));
  const answer = await post(world, '/oauth/token', { ...fields, scope: 'api everything' });
  expect([answer.statusCode, answer.json().scope]).toEqual([200, 'openid']);
});

test.each([
  [
    'myapp://cb',
    /uses the scheme myapp:; use https, or a reversed domain name .* org\.example\.app:\/callback/,
  ],
  ['Com.Example.App:/cb', /in lower case/],
  ['com.example.app:cb', /with a path/],
  ['http://client.example/cb', /uses plain http; use https, or http on localhost/],
  ['com.example.app:/cb#x', /contains a fragment/],
])(
  'a redirect URI of a native application that cannot be registered, %s, is refused with the reason',
  async (uri, reason) => {
    const given = {
      name: 'Native',
      redirect_uris: uri,
      post_logout_redirect_uris: '',
      id_token_alg: 'RS256',
      scopes: ['openid'],
      is_confidential: false,
    };
    await expect(createApplication(world.accounts, the.user, given)).rejects.toThrow(reason);
  },
);
