import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeUser } from '../../../../serve/accounts/users.ts';
import { aUser, openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { basic, infoOf, type Party, party, post, refusal } from './flow.ts';

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
});
afterAll(() => world.close());

describe('the password grant (RFC 6749 §4.3)', () => {
  const ask = (fields: Record<string, string>, headers = {}) =>
    post(world, '/oauth/token', { grant_type: 'password', ...fields }, headers);

  test('answers as documented, without refresh_token and created_at', async () => {
    const answer = await ask({ username: the.user.username, password: PASSWORD });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      access_token: expect.stringMatching(/^cma_/),
      token_type: 'bearer',
      expires_in: 7200,
      scope: 'api',
    });
  });

  test('accepts an email, and client credentials by HTTP Basic', async () => {
    const answer = await ask(
      { username: the.user.email, password: PASSWORD },
      basic(the.application.id, the.secret),
    );
    expect(answer.statusCode).toBe(200);
    expect((await infoOf(world, answer.json().access_token)).json().application).toEqual({
      uid: the.application.id,
    });
  });

  test('a wrong client is invalid_client; a scope that it did not register is invalid_scope', async () => {
    const fields = { username: the.user.username, password: PASSWORD };
    expect((await ask(fields, basic(the.application.id, 'wrong'))).json()).toEqual(refusal('invalid_client'));
    const beyond = { ...fields, scope: 'write_repository' };
    expect((await ask(beyond, basic(the.application.id, the.secret))).json()).toEqual(
      refusal('invalid_scope'),
    );
    expect((await ask({ ...fields, scope: 'everything' })).json()).toEqual(refusal('invalid_scope'));
  });

  test.each(['username', 'password'])('reports a missing %s', async (name) => {
    const answer = await ask({ username: the.user.username, password: PASSWORD, [name]: '' });
    expect(answer.json()).toEqual({
      error: 'invalid_request',
      error_description: `Missing required parameter: ${name}.`,
    });
  });

  test('wrong credentials, a second factor and a locked account are the same invalid_grant', async () => {
    const [guarded, locked] = [await aUser(world), await aUser(world)];
    await changeUser(world.accounts, guarded.id, () => ({ totp_secret: 'sealed' }));
    await changeUser(world.accounts, locked.id, () => ({ locked_ms: 1 }));
    const answers = [
      await ask({ username: the.user.username, password: 'wrong' }),
      await ask({ username: 'nobody-at-all', password: PASSWORD }),
      await ask({ username: guarded.username, password: PASSWORD }),
      await ask({ username: locked.username, password: PASSWORD }),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400, 400]);
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers[0]?.json()).toEqual(refusal('invalid_grant'));
  });

  test('limits failed attempts like the sign-in page, and does not call the password wrong', async () => {
    const user = await aUser(world);
    for (let i = 0; i < 10; i++) await ask({ username: user.username, password: 'wrong' });
    const answer = await ask({ username: user.username, password: PASSWORD });
    expect(answer.statusCode).toBe(429);
    expect(answer.json()).toEqual(refusal('temporarily_unavailable'));
    world.advance(Number(answer.headers['retry-after']) * 1000);
    expect((await ask({ username: user.username, password: PASSWORD })).statusCode).toBe(200);
  });

  test('accepts 16 right passwords at the same time', async () => {
    const user = await aUser(world);
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => ask({ username: user.username, password: PASSWORD })),
    );
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(16).fill(200));
  });

  test('lets nobody learn by the limit that a password is right where a second factor is missing', async () => {
    const user = await aUser(world);
    await changeUser(world.accounts, user.id, () => ({ totp_secret: 'sealed' }));
    const statuses: number[] = [];
    for (let i = 0; i < 11; i++)
      statuses.push((await ask({ username: user.username, password: PASSWORD })).statusCode);
    expect(statuses).toEqual([...Array(10).fill(400), 429]);
  });

  test('can require a registered application', async () => {
    await using strict = await world.beside({ OAUTH_PASSWORD_WITHOUT_CLIENT: 'false' });
    const fields = { grant_type: 'password', username: the.user.username, password: PASSWORD };
    expect((await post(strict, '/oauth/token', fields)).json()).toEqual(refusal('invalid_client'));
    expect(
      (await post(strict, '/oauth/token', fields, basic(the.application.id, the.secret))).statusCode,
    ).toBe(200);
  });
});
