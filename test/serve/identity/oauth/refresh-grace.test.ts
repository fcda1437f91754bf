import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../accounts/world.ts';
import { aPair, infoOf, isActive, type Pair, type Party, party, post, refreshOf, refusal } from './flow.ts';

const GRACE = { OAUTH_REFRESH_GRACE_SECONDS: '60' };

let world: World;
let lenient: World;
/** Another server on the same store, as after a restart. */
let second: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  lenient = await world.beside(GRACE);
  second = await world.beside(GRACE);
  the = await party(lenient, { scopes: ['api', 'read_user'] });
});
afterAll(async () => {
  await second.close();
  await lenient.close();
  await world.close();
});

const refreshed = (at: World, token: string, more: Record<string, string> = {}) =>
  post(at, '/oauth/token', { ...refreshOf(the, token), ...more });
const tokensOf = ({ access_token, refresh_token }: Pair) => [access_token, refresh_token];

describe('a refresh token that is sent again within the grace', () => {
  test('gets the same pair, however often, which lives on for all that have it', async () => {
    const first = await aPair(the);
    const answers: Pair[] = [];
    for (let tab = 0; tab < 5; tab++) {
      const answer = await refreshed(lenient, first.refresh_token);
      expect(answer.statusCode).toBe(200);
      answers.push(answer.json());
      for (const { access_token } of answers) expect(await isActive(lenient, access_token)).toBe(true);
      lenient.advance(1000);
    }
    const [answered] = answers as [Pair];
    expect(new Set(answers.map((answer) => tokensOf(answer).join())).size).toBe(1);
    expect(await isActive(lenient, first.access_token)).toBe(false);
    lenient.advance(60_000);
    expect(await isActive(lenient, answered.access_token)).toBe(true);
    expect((await refreshed(lenient, answered.refresh_token)).statusCode).toBe(200);
  });

  test('tells what remains of the lifetime', async () => {
    const first = await aPair(the);
    const answer = (await refreshed(lenient, first.refresh_token)).json();
    lenient.advance(20_000);
    const again = (await refreshed(lenient, first.refresh_token)).json();
    expect(again).toMatchObject({ token_type: 'bearer', scope: 'api', created_at: answer.created_at });
    expect(again.expires_in).toBeLessThanOrEqual(answer.expires_in - 19);
    expect(again.expires_in).toBeGreaterThan(answer.expires_in - 40);
  });

  test('by many at once, at two servers, gets one pair', async () => {
    const first = await aPair(the);
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => refreshed(i % 2 === 0 ? lenient : second, first.refresh_token)),
    );
    expect(answers.filter(({ statusCode }) => statusCode !== 200)).toEqual([]);
    const pairs: Pair[] = answers.map((answer) => answer.json());
    expect(new Set(pairs.map((pair) => tokensOf(pair).join())).size).toBe(1);
    for (const { access_token } of pairs.slice(0, 1)) expect(await isActive(second, access_token)).toBe(true);
  });

  test('gets nothing for another client, and nothing narrower than the pair that is in use', async () => {
    const first = await aPair(the, { scope: 'api read_user' });
    const other = await party(lenient);
    expect((await refreshed(lenient, first.refresh_token)).statusCode).toBe(200);
    const stolen = await post(lenient, '/oauth/token', refreshOf(other, first.refresh_token));
    expect(stolen.json()).toEqual(refusal('invalid_grant'));
    const narrower = await refreshed(lenient, first.refresh_token, { scope: 'read_user' });
    expect([narrower.statusCode, narrower.json()]).toEqual([400, refusal('invalid_scope')]);
    expect((await refreshed(lenient, first.refresh_token, { scope: 'api read_user' })).statusCode).toBe(200);
  });

  test('has the scopes of the first answer', async () => {
    const first = await aPair(the, { scope: 'api read_user' });
    const narrow = (await refreshed(lenient, first.refresh_token, { scope: 'read_user' })).json();
    const again = (await refreshed(lenient, first.refresh_token)).json();
    expect([narrow.scope, again.scope]).toEqual(['read_user', 'read_user']);
    expect((await infoOf(lenient, again.access_token)).json().scope).toEqual(['read_user']);
  });
});

describe('a refresh token that was used is stolen, and all of its family is revoked', () => {
  test('after the grace, which a repetition does not prolong', async () => {
    const first = await aPair(the);
    const answer = (await refreshed(lenient, first.refresh_token)).json();
    lenient.advance(30_000);
    expect((await refreshed(lenient, first.refresh_token)).statusCode).toBe(200);
    lenient.advance(31_000);
    expect((await refreshed(lenient, first.refresh_token)).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(lenient, answer.access_token)).toBe(false);
    expect((await refreshed(lenient, answer.refresh_token)).statusCode).toBe(400);
  });

  test('within the grace, when its pair was exchanged already', async () => {
    const first = await aPair(the);
    const answer = (await refreshed(lenient, first.refresh_token)).json();
    const next = (await refreshed(lenient, answer.refresh_token)).json();
    expect((await refreshed(lenient, first.refresh_token)).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(lenient, next.access_token)).toBe(false);
  });

  test('at once where no grace is set, and where the pair was made without one', async () => {
    for (const at of [world, lenient]) {
      const first = await aPair(the);
      const answer = (await refreshed(world, first.refresh_token)).json();
      expect((await refreshed(at, first.refresh_token)).json()).toEqual(refusal('invalid_grant'));
      expect(await isActive(world, answer.access_token)).toBe(false);
    }
  });
});
