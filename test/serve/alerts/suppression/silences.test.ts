import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, Service } from '../service.ts';

const HOUR_MS = 3_600_000;

let service: Service;
let ann: Person;
let bob: Person;
let reporter: Person;
let project: number;
let now = Date.parse('2026-11-29T12:00:00.400Z');
beforeAll(async () => {
  service = await Service.open({}, { now: () => now });
  [ann, bob, reporter] = [
    await service.person('ann'),
    await service.person('bob'),
    await service.person('rita'),
  ];
});
afterAll(() => service?.close());

async function newProject(): Promise<void> {
  project = await service.project(ann);
  for (const [{ user }, access_level] of [[bob, 30] as const, [reporter, 20] as const])
    await service.api(ann, 'POST', `/projects/${project}/members`, { username: user.username, access_level });
}

const list = () => `/projects/${project}/silences`;
const at = (hours: number) => new Date(now + hours * HOUR_MS).toISOString();
const create = async (matcher: string, more: object = {}) =>
  (await service.api(bob, 'POST', list(), { matchers: [matcher], ends_at: at(2), ...more })).body;

describe('silences', () => {
  test('are created by Developers, read by Reporters, changed and ended', async () => {
    await newProject();
    const given = { matchers: ['a=b', 'c =~ "d.*"'], ends_at: at(2), comment: ' Moving ' };
    expect((await service.api(reporter, 'POST', list(), given)).status).toBe(403);
    const created = await service.api(bob, 'POST', list(), given);
    expect(created).toMatchObject({
      status: 201,
      body: {
        matchers: ['a="b"', 'c=~"d.*"'],
        state: 'active',
        starts_at: at(0),
        ends_at: at(2),
        comment: 'Moving',
        created_by: 'bob',
        author_id: Number(bob.user.id),
      },
    });
    const one = `${list()}/${created.body.id}`;
    expect((await service.api(reporter, 'GET', one)).body).toEqual(created.body);
    now += 1000;
    const longer = await service.api(ann, 'PUT', one, { ends_at: at(3) });
    expect(longer.body).toEqual({
      ...created.body,
      ends_at: at(3),
      author_id: Number(ann.user.id),
      updated_at: at(0),
    });
    expect((await service.api(reporter, 'DELETE', one)).status).toBe(403);
    expect((await service.api(ann, 'DELETE', one)).status).toBe(204);
    expect((await service.api(ann, 'GET', one)).body).toMatchObject({ state: 'expired', ends_at: at(0) });
    expect((await service.api(ann, 'DELETE', one)).status).toBe(204);
    await newProject();
    expect((await service.api(ann, 'GET', `${list()}/${created.body.id}`)).status).toBe(404);
  });

  test('are replaced where a change would alter the past', async () => {
    await newProject();
    const { id } = await create('a="b"');
    const same = await service.api(bob, 'PUT', `${list()}/${id}`, { matchers: ['a = b'], comment: 'x' });
    expect(same.body.id).toBe(id);
    const other = await service.api(bob, 'PUT', `${list()}/${id}`, { matchers: ['a="c"'] });
    expect(other.body).toMatchObject({ matchers: ['a="c"'], state: 'active', comment: 'x' });
    expect(other.body.id).not.toBe(id);
    expect((await service.api(bob, 'GET', `${list()}/${id}`)).body.state).toBe('expired');
    const later = await create('a="d"', { starts_at: at(1) });
    const moved = await service.api(bob, 'PUT', `${list()}/${later.id}`, { starts_at: at(1.5) });
    expect(moved.body).toMatchObject({ id: later.id, state: 'pending', starts_at: at(1.5) });
    const begun = await service.api(bob, 'PUT', `${list()}/${later.id}`, { starts_at: at(-1) });
    expect(begun.body).toMatchObject({ state: 'active', starts_at: at(0) });
    expect(begun.body.id).not.toBe(later.id);
  });

  test('are listed in pages: active by end, pending by start, expired newest first', async () => {
    await newProject();
    await create('n="2"', { ends_at: at(3) });
    await create('n="1"');
    await create('n="4"', { starts_at: at(2), ends_at: at(4) });
    await create('n="3"', { starts_at: at(1), ends_at: at(9) });
    for (const n of [6, 5]) {
      const { id } = await create(`n="${n}"`);
      now += 1000;
      await service.api(bob, 'DELETE', `${list()}/${id}`);
    }
    const matchers = async (query: string) => {
      const { body, headers } = await service.api(bob, 'GET', `${list()}?${query}`);
      return [body.map((silence: { matchers: string[] }) => silence.matchers[0]), headers['x-total']];
    };
    expect(await matchers('')).toEqual([[1, 2, 3, 4, 5, 6].map((n) => `n="${n}"`), '6']);
    expect(await matchers('state=expired,pending&per_page=3')).toEqual([['n="3"', 'n="4"', 'n="5"'], '4']);
    now += 2.5 * HOUR_MS;
    expect(await matchers('state=active')).toEqual([['n="2"', 'n="4"', 'n="3"'], '3']);
    now += 121 * HOUR_MS;
    expect(await matchers('')).toEqual([['n="3"', 'n="4"'], '2']);
  });

  test.each([
    [{ matchers: ['a'] }, 'matchers.0', 'At character 2'],
    [{ matchers: ['a=~"("'] }, 'matchers.0', 'The regular expression is not valid in RE2 syntax'],
    [{ matchers: ['a!="b"'] }, 'matchers', 'also match an alert without labels'],
    [{ ends_at: '2026-01-01T00:00:00Z' }, 'ends_at', 'The end must be'],
    [{ starts_at: '2029-01-01T00:00:00Z', ends_at: '2028-12-31T00:00:00Z' }, 'ends_at', 'after the start'],
    [{ comment: 'x'.repeat(1001) }, 'comment', 'at most 1000 characters'],
    [{ created_by: 'x'.repeat(256) }, 'created_by', 'at most 255 characters'],
  ])('are refused with the field: %j', async (fields, field, reason) => {
    await newProject();
    const given = { matchers: ['a="b"'], ends_at: at(2), ...fields };
    const { status, body } = await service.api(bob, 'POST', list(), given);
    expect({ status, errors: body.errors }).toEqual({
      status: 400,
      errors: { [field]: [expect.stringContaining(reason)] },
    });
    const { id } = await create('a="b"');
    expect((await service.api(bob, 'PUT', `${list()}/${id}`, fields)).status).toBe(400);
    expect((await service.api(bob, 'GET', `${list()}/${id}`)).body).toMatchObject({
      state: 'active',
      comment: '',
    });
  });
});
