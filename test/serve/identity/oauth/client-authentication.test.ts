import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renewSecret } from '../../../../serve/identity/oauth/applications.ts';
import { openWorld, type World } from '../../accounts/world.ts';
import { aCode, basic, exchangeOf, type Party, party, pkceExchange, post, refusal } from './flow.ts';

let world: World;
let the: Party;
let other: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
  other = await party(world);
});
afterAll(() => world.close());

const token = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  post(world, '/oauth/token', fields, headers);

describe('client authentication (RFC 6749 §2.3)', () => {
  test('by HTTP Basic or by the body', async () => {
    const { client_id, client_secret, ...fields } = exchangeOf(the, await aCode(the));
    const byHeader = await token(fields, basic(client_id as string, client_secret as string));
    expect(byHeader.statusCode).toBe(200);
    expect((await token(exchangeOf(the, await aCode(the)))).statusCode).toBe(200);
  });

  test('HTTP Basic may be raw or form-encoded (§2.3.1)', async () => {
    const { client_id: id = '', client_secret: secret = '', ...fields } = exchangeOf(the, await aCode(the));
    const encoded = secret.replace(/[_-]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
    expect((await token(fields, basic(id, encoded))).statusCode).toBe(200);
  });

  test('client_id may be repeated in the body when it is the same', async () => {
    const { client_secret: secret = '', ...fields } = exchangeOf(the, await aCode(the));
    expect(
      (await token({ ...fields, client_id: other.application.id }, basic(the.application.id, secret))).json(),
    ).toEqual(refusal('invalid_request'));
    expect((await token(fields, basic(the.application.id, secret))).statusCode).toBe(200);
  });

  test('both methods at once are invalid_request', async () => {
    const fields = exchangeOf(the, await aCode(the));
    expect((await token(fields, basic(the.application.id, the.secret))).json()).toEqual(
      refusal('invalid_request'),
    );
  });

  test('a failure is 401 invalid_client, with a challenge only when the header was used (§5.2)', async () => {
    const { client_id: _, client_secret: __, ...fields } = exchangeOf(the, await aCode(the));
    const byHeader = await token(fields, basic(the.application.id, 'wrong'));
    expect(byHeader.statusCode).toBe(401);
    expect(byHeader.json()).toEqual(refusal('invalid_client'));
    expect(byHeader.headers['www-authenticate']).toMatch(/^Basic realm=/);
    const byBody = await token({ ...fields, client_id: the.application.id, client_secret: 'wrong' });
    expect(byBody.statusCode).toBe(401);
    expect(byBody.headers['www-authenticate']).toBeUndefined();
  });

  test.each([
    ['nobody', {}],
    ['an unknown client', { client_id: 'f'.repeat(64), client_secret: 'x' }],
    ['a client without its secret', { client_secret: '' }],
  ])('%s is invalid_client', async (who, change) => {
    const fields =
      who === 'nobody'
        ? { grant_type: 'authorization_code', code: 'x' }
        : { ...exchangeOf(the, 'x'), ...change };
    const answer = await token(fields);
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toEqual(refusal('invalid_client'));
  });

  test('a public client with a secret is refused', async () => {
    const open = await party(world, { is_confidential: false });
    const { fields } = await pkceExchange(open, { client_secret: 'something' });
    expect((await token(fields)).json()).toEqual(refusal('invalid_client'));
  });

  test.each(['Basic', 'Basic !!!', 'Basic bm9jb2xvbg==', 'Bearer x', 'Digest y'])(
    '%s is invalid_client',
    async (authorization) => {
      const answer = await token({ grant_type: 'authorization_code', code: 'x' }, { authorization });
      expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client']);
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/);
    },
  );

  test('a renewed secret invalidates the old one', async () => {
    const own = await party(world);
    const owner = await world.accounts.users.get(own.application.owner_id);
    if (!owner) throw new Error('no owner');
    const code = await aCode(own);
    const secret = await renewSecret(world.accounts, owner, own.application.id);
    expect((await token(exchangeOf(own, code))).json()).toEqual(refusal('invalid_client'));
    expect((await token({ ...exchangeOf(own, code), client_secret: secret ?? '' })).statusCode).toBe(200);
  });
});
