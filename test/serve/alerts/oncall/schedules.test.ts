import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PASSWORD, signedIn } from '../../accounts/world.ts';
import { type Answered, type Person, Service } from '../service.ts';

const DAY = 86_400_000;
const START = Date.parse('2027-03-22T00:00Z');

let now = START;
let service: Service;
let project: number;
const people = {} as Record<'owner' | 'ann' | 'bob' | 'rita' | 'max', Person>;

beforeAll(async () => {
  service = await Service.open({}, { now: () => now });
  const levels = { ann: 30, bob: 30, rita: 20, max: 40 };
  people.owner = await service.person('owner');
  project = await service.project(people.owner);
  for (const [username, access_level] of Object.entries(levels)) {
    people[username as keyof typeof people] = await service.person(username);
    await service.api(people.owner, 'POST', `/projects/${project}/members`, { username, access_level });
  }
});
afterAll(() => service?.close());

const idOf = (name: keyof typeof people) => Number(people[name].user.id);
const list = () => `/projects/${project}/oncall_schedules`;
const as = (name: keyof typeof people) => ({
  get: (path: string) => service.api(people[name], 'GET', `${list()}${path}`),
  post: (path: string, body: object = {}) => service.api(people[name], 'POST', `${list()}${path}`, body),
  put: (path: string, body: object) => service.api(people[name], 'PUT', `${list()}${path}`, body),
  delete: (path: string) => service.api(people[name], 'DELETE', `${list()}${path}`),
});
let count = 0;
/** A schedule of its own for a test. */
async function schedule(time_zone = 'UTC'): Promise<string> {
  now = START;
  const { body } = await as('max').post('', { name: `Schedule ${++count}`, time_zone });
  return `/${body.id}`;
}
const daily = (...names: (keyof typeof people)[]) => ({
  name: 'Daily',
  starts_at: '2027-03-22T00:00',
  unit: 'days',
  turns: names.map((name) => [idOf(name)]),
});
const iso = (days: number) => new Date(START + days * DAY).toISOString();
const shown = ({ body }: Answered) =>
  body.map(({ from, until, users }: { from: string; until: string; users: { username: string }[] }) => [
    (Date.parse(from) - START) / DAY,
    (Date.parse(until) - START) / DAY,
    users.map(({ username }) => username).join('+'),
  ]);
const shifts = async (path: string, from: number, until: number) =>
  shown(await as('rita').get(`${path}/shifts?from=${iso(from)}&until=${iso(until)}`));

describe('schedules', () => {
  test('are created, listed, changed and deleted', async () => {
    const { status, body } = await as('max').post('', { name: ' Nights ', time_zone: 'europe/berlin' });
    expect([status, body.name, body.time_zone]).toEqual([201, 'Nights', 'Europe/Berlin']);
    const renamed = await as('max').put(`/${body.id}`, { name: 'Days', time_zone: 'Asia/Kathmandu' });
    expect(renamed.body).toMatchObject({ name: 'Days', time_zone: 'Asia/Kathmandu' });
    expect((await as('rita').get('')).body).toContainEqual(renamed.body);
    expect((await as('max').delete(`/${body.id}`)).status).toBe(204);
    expect((await as('rita').get(`/${body.id}`)).status).toBe(404);
  });

  test.each([
    ['an unknown zone', { name: 'x', time_zone: 'Mars/Olympus' }, 'time_zone'],
    ['an offset as a zone', { name: 'x', time_zone: '+02:00' }, 'time_zone'],
    ['a blank name', { name: ' ', time_zone: 'UTC' }, 'name'],
  ])('%s is refused with the field', async (_name, given, field) => {
    const { status, body } = await as('max').post('', given);
    expect([status, Object.keys(body.errors)]).toEqual([400, [field]]);
  });

  test('a name that is taken is 409', async () => {
    await as('max').post('', { name: 'Twice', time_zone: 'UTC' });
    expect((await as('max').post('', { name: 'twice', time_zone: 'UTC' })).status).toBe(409);
  });

  test('one that a policy pages cannot be deleted', async () => {
    const path = await schedule();
    const targets = [{ type: 'schedule', id: path.slice(1) }];
    const policies = `/projects/${project}/escalation_policies`;
    const policy = { name: 'Nights first', steps: [{ targets, delay_minutes: 5, important: false }] };
    const { body } = await service.api(people.max, 'POST', policies, policy);
    const refused = await as('max').delete(path);
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      409,
      expect.stringContaining(policy.name),
    ]);
    await service.api(people.max, 'DELETE', `${policies}/${body.id}`);
    expect((await as('max').delete(path)).status).toBe(204);
  });

  test('the zone cannot change once there are rotations', async () => {
    const path = await schedule();
    await as('max').post(`${path}/rotations`, daily('ann'));
    const { status, body } = await as('max').put(path, { time_zone: 'Europe/Berlin' });
    expect([status, Object.keys(body.errors)]).toEqual([409, ['time_zone']]);
    expect((await as('max').put(path, { description: 'Still UTC' })).status).toBe(200);
  });
});

describe('rotations', () => {
  test('an edit changes no earlier shift, and may take effect later', async () => {
    const path = await schedule();
    const { body } = await as('max').post(`${path}/rotations`, daily('ann', 'bob'));
    const rotation = `${path}/rotations/${body.rotation.id}`;
    now = START + 1.5 * DAY;
    await as('max').put(rotation, { turns: [[idOf('max')]] });
    await as('max').put(`${rotation}?effective_at=${iso(4)}`, { turns: [[idOf('owner')]] });
    expect(await shifts(path, 0, 6)).toEqual([
      [0, 1, 'ann'],
      [1, 1.5, 'bob'],
      [1.5, 2, 'max'],
      [2, 3, 'max'],
      [3, 4, 'max'],
      [4, 5, 'owner'],
      [5, 6, 'owner'],
    ]);
    const { upcoming, turns } = (await as('rita').get(`${path}/rotations/${body.rotation.id}`)).body;
    expect([turns, upcoming[0].turns, upcoming[0].effective_at]).toEqual([
      [[idOf('max')]],
      [[idOf('owner')]],
      iso(4),
    ]);
    await as('max').delete(`${rotation}?effective_at=${iso(5)}`);
    now = START + 6 * DAY;
    expect(await shifts(path, 4, 7)).toEqual([[4, 5, 'owner']]);
    expect((await as('rita').get(`${path}/rotations`)).body).toEqual([]);
    expect((await as('max').put(rotation, { priority: 1 })).status).toBe(404);
  });

  test('a dry run answers who would be on call at other times, and changes nothing', async () => {
    const path = await schedule();
    const empty = await as('max').post(`${path}/rotations?dry_run=true`, {
      ...daily('ann'),
      ends_at: '2027-03-24T00:00',
    });
    expect(empty.status).toBe(200);
    expect(empty.body.changes).toEqual([
      { user: null, gains: [], loses: [{ from: iso(0), until: iso(2) }] },
      {
        user: expect.objectContaining({ username: 'ann' }),
        gains: [{ from: iso(0), until: iso(2) }],
        loses: [],
      },
    ]);
    expect((await as('rita').get(`${path}/rotations`)).body).toEqual([]);
    const { body } = await as('max').post(`${path}/rotations`, daily('ann', 'bob'));
    const rotation = `${path}/rotations/${body.rotation.id}`;
    const edit = { turns: [[idOf('ann')], [idOf('bob'), idOf('max')]], ends_at: '2027-03-26T00:00' };
    const { changes } = (await as('max').put(`${rotation}?dry_run=true`, edit)).body;
    const ofMax = changes.find(({ user }: { user: { username: string } | null }) => user?.username === 'max');
    expect(ofMax.gains).toEqual([
      { from: iso(1), until: iso(2) },
      { from: iso(3), until: iso(4) },
    ]);
    expect(changes[0]).toEqual({ user: null, gains: [{ from: iso(4), until: iso(56) }], loses: [] });
    expect((await as('rita').get(`${path}/rotations/${body.rotation.id}`)).body.ends_at).toBe(null);
  });

  const BROKEN: [string, object, string][] = [
    ['a wall time with an offset', { starts_at: '2027-03-22T09:00+01:00' }, 'starts_at'],
    ['a wall time in UTC', { starts_at: '2027-03-22T09:00Z' }, 'starts_at'],
    ['a day that is not', { starts_at: '2027-02-30T09:00' }, 'starts_at'],
    ['an end before the start', { ends_at: '2027-03-21T09:00' }, 'ends_at'],
    ['no turn', { turns: [] }, 'turns'],
    ['only turns without anybody', { turns: [[], []] }, 'turns'],
    ['a turn with somebody who is no member', { turns: [[4711]] }, 'turns'],
    ['101 turns', { turns: Array(101).fill([1]) }, 'turns'],
    ['a turn of 11 people', { turns: [Array(11).fill(1)] }, 'turns'],
    ['a length of 0', { length: 0 }, 'length'],
    ['a length of 366', { length: 366 }, 'length'],
    ['an unknown unit', { unit: 'fortnights' }, 'unit'],
    ['a priority of 10', { priority: 10 }, 'priority'],
    ['a location in an interval', { active_times: [{ location: 'UTC' }] }, 'active_times'],
    ['an unknown weekday', { active_times: [{ weekdays: ['mon'] }] }, 'active_times'],
  ];
  test.each(BROKEN)('%s is refused with the field', async (_name, given, field) => {
    const path = await schedule();
    const { status, body } = await as('max').post(`${path}/rotations`, { ...daily('ann'), ...given });
    expect([status, Object.keys(body.errors).map((name) => name.split(/[.[]/)[0])]).toEqual([400, [field]]);
    expect((await as('rita').get(`${path}/rotations`)).body).toEqual([]);
  });

  test('a Reporter cannot be in a turn, and an edit cannot take effect in the past', async () => {
    const path = await schedule();
    const refused = await as('max').post(`${path}/rotations`, daily('rita'));
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['turns']]);
    const late = await as('max').post(`${path}/rotations?effective_at=${iso(-1)}`, daily('ann'));
    expect([late.status, Object.keys(late.body.errors)]).toEqual([400, ['effective_at']]);
  });

  test('a schedule has up to 20 rotations, also if they are created at the same time', async () => {
    const path = await schedule();
    const created = Array.from({ length: 22 }, () => as('max').post(`${path}/rotations`, daily('ann')));
    const statuses = (await Promise.all(created)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(20).fill(201), 409, 409]);
  });
});

describe('overrides', () => {
  const override = (from: number, until: number, user: string | null, replaces: string | null = null) => ({
    from: iso(from),
    until: iso(until),
    user_id: user === null ? null : idOf(user as 'ann'),
    replaces_id: replaces === null ? null : idOf(replaces as 'ann'),
  });

  test('a Developer takes a shift or gives it to somebody, a Maintainer does the rest', async () => {
    const path = `${await schedule()}/overrides`;
    const status = async (who: 'ann' | 'max' | 'rita', ...given: Parameters<typeof override>) =>
      (await as(who).post(path, override(...given))).status;
    expect(await status('ann', 0, 1, 'ann')).toBe(201);
    expect(await status('ann', 0, 1, 'ann', 'bob')).toBe(201);
    expect(await status('ann', 0, 1, 'bob', 'ann')).toBe(201);
    expect(await status('ann', 0, 1, 'bob')).toBe(403);
    expect(await status('ann', 0, 1, 'bob', 'max')).toBe(403);
    expect(await status('ann', 0, 1, null, 'ann')).toBe(403);
    expect(await status('rita', 0, 1, 'rita')).toBe(403);
    expect(await status('max', 0, 1, 'bob', 'ann')).toBe(201);
    expect(await status('max', 0, 1, null)).toBe(201);
  });

  test('they apply in the order of their creation, and a deleted one counts until its deletion', async () => {
    const path = await schedule();
    await as('max').post(`${path}/rotations`, daily('ann'));
    const { body: first } = await as('bob').post(`${path}/overrides`, override(0, 3, 'bob', 'ann'));
    now = START + 1;
    await as('max').post(`${path}/overrides`, override(1, 2, 'max', 'bob'));
    expect(await shifts(path, 0, 4)).toEqual([
      [0, 1, 'bob'],
      [1, 2, 'max'],
      [2, 3, 'bob'],
      [3, 4, 'ann'],
    ]);
    now = START + 0.5 * DAY;
    expect((await as('ann').delete(`${path}/overrides/${first.id}`)).status).toBe(204);
    expect((await as('rita').get(`${path}/overrides/${first.id}`)).status).toBe(404);
    expect(await shifts(path, 0, 2)).toEqual([
      [0, 0.5, 'bob'],
      [0.5, 1, 'ann'],
      [1, 2, 'ann'],
    ]);
  });

  test('one that begins earlier begins now', async () => {
    const path = await schedule();
    now = START + DAY;
    const { body } = await as('max').post(`${path}/overrides`, override(0, 2, 'ann'));
    expect([body.from, body.until]).toEqual([iso(1), iso(2)]);
  });

  test.each([
    ['an end before the start', override(2, 1, null), 'until'],
    ['an end in the past', override(-2, -1, null), 'until'],
    ['more than a year', override(0, 367, null), 'until'],
    ['the same person twice', { ...override(0, 1, null), user_id: 2, replaces_id: 2 }, 'replaces_id'],
    ['somebody who is no member', { ...override(0, 1, null), user_id: 4711 }, 'user_id'],
    ['a stranger who gives way', { ...override(0, 1, null), replaces_id: 4711 }, 'replaces_id'],
  ])('%s is refused with the field', async (_name, given, field) => {
    const path = `${await schedule()}/overrides`;
    const { status, body } = await as('max').post(path, given);
    expect([status, Object.keys(body.errors)]).toEqual([400, [field]]);
  });
});

describe('who is on call', () => {
  test('now, at a moment, and when nobody is', async () => {
    const path = await schedule();
    await as('max').post(`${path}/rotations`, { ...daily('ann', 'bob'), ends_at: '2027-03-24T00:00' });
    const onCall = async (query: string) =>
      (await service.api(people.rita, 'GET', `/projects/${project}/on_call${query}`)).body
        .filter(({ schedule_id }: { schedule_id: string }) => `/${schedule_id}` === path)
        .map(({ users }: { users: { username: string }[] }) => users.map(({ username }) => username));
    expect(await onCall('')).toEqual([['ann']]);
    expect(await onCall(`?at=${iso(1)}`)).toEqual([['bob']]);
    expect(await onCall(`?at=${iso(2)}`)).toEqual([[]]);
    expect((await as('rita').get(`${path}/gaps`)).body).toEqual([{ from: iso(2), until: iso(60) }]);
  });

  test('somebody who is no Developer any more is left out, with a warning', async () => {
    const path = await schedule();
    await as('max').post(`${path}/rotations`, daily('ann', 'bob'));
    const level = (access_level: number) =>
      service.api(people.owner, 'PUT', `/projects/${project}/members/${idOf('bob')}`, { access_level });
    await level(20);
    expect(await shifts(path, 0, 2)).toEqual([
      [0, 1, 'ann'],
      [1, 2, 'ann'],
    ]);
    expect((await as('rita').get(path)).body.unavailable_user_ids).toEqual([idOf('bob')]);
    await level(30);
    expect((await as('rita').get(path)).body.unavailable_user_ids).toEqual([]);
  });

  test('shifts of up to 400 days can be asked for', async () => {
    const path = await schedule();
    const ask = (until: number) => as('rita').get(`${path}/shifts?from=${iso(0)}&until=${iso(until)}`);
    expect([(await ask(400)).status, (await ask(401)).status, (await ask(0)).status]).toEqual([
      200, 400, 400,
    ]);
  });
});

describe('the calendar', () => {
  test('has the shifts of the next 90 days in UTC, until its address is renewed', async () => {
    const path = await schedule();
    await as('max').post(`${path}/rotations`, { ...daily('ann', 'bob'), unit: 'weeks' });
    const renew = async () => new URL((await as('max').post(`${path}/calendar`)).body.url).pathname;
    const address = await renew();
    const { statusCode, body, headers } = await service.app.inject(address);
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/calendar; charset=utf-8']);
    expect(body.match(/^SUMMARY:.*$/gm)?.slice(0, 3)).toEqual(['SUMMARY:ann', 'SUMMARY:bob', 'SUMMARY:ann']);
    expect(body).toContain('DTSTART:20270329T000000Z\r\nDTEND:20270405T000000Z');
    expect(body.match(/BEGIN:VEVENT/g)).toHaveLength(13);
    await renew();
    expect((await service.app.inject(address)).statusCode).toBe(404);
    expect((await service.app.inject('/oncall_calendars/guess.ics')).statusCode).toBe(404);
    expect((await as('ann').post(`${path}/calendar`)).status).toBe(403);
  });
});

test('a person has a calendar of all shifts of theirs, whose address ends with the next one', async () => {
  const path = await schedule();
  const cara = await service.person('cara', PASSWORD);
  const member = { username: 'cara', access_level: 30 };
  await service.api(people.owner, 'POST', `/projects/${project}/members`, member);
  const turns = [[Number(cara.user.id)], [idOf('bob')]];
  await as('max').post(`${path}/rotations`, { ...daily(), unit: 'weeks', turns });
  const browser = await signedIn(service, cara.user);
  const renew = async () => {
    const page = await browser.submitAndFollow(
      '/profile/notifications',
      '/profile/notifications/calendar',
      {},
    );
    const [address = ''] = /\/oncall_calendars\/[\w-]+\.ics/.exec(page.body) ?? [];
    return address;
  };
  const address = await renew();
  const { statusCode, body, headers } = await service.app.inject(address);
  expect([statusCode, headers['content-type']]).toEqual([200, 'text/calendar; charset=utf-8']);
  expect(body).toContain('DTSTART:20270405T000000Z\r\nDTEND:20270412T000000Z');
  expect(body).toMatch(/SUMMARY:On call: Schedule \d+ \(Watch\)/);
  expect(body).not.toContain('DTSTART:20270329T000000Z\r\nDTEND:20270405T000000Z');
  await service.api(cara, 'PUT', '/user/notification_rules', { status_updates: false });
  expect((await service.app.inject(address)).statusCode).toBe(200);
  const next = await renew();
  expect((await service.app.inject(address)).statusCode).toBe(404);
  expect((await service.app.inject(next)).statusCode).toBe(200);
  const guess = `/oncall_calendars/${cara.user.id}-guess.ics`;
  expect((await service.app.inject(guess)).statusCode).toBe(404);
});

test('the calendar of a deleted project ends', async () => {
  const other = await service.project(people.owner);
  const path = `/projects/${other}/oncall_schedules`;
  const given = { name: 'Gone', time_zone: 'UTC' };
  const { id } = (await service.api(people.owner, 'POST', path, given)).body;
  const { url } = (await service.api(people.owner, 'POST', `${path}/${id}/calendar`)).body;
  const status = async () => (await service.app.inject(new URL(url).pathname)).statusCode;
  expect(await status()).toBe(200);
  await service.api(people.owner, 'DELETE', `/projects/${other}`);
  expect(await status()).toBe(404);
});

describe('roles', () => {
  test('Reporters see, Maintainers change, others do not know the project', async () => {
    const path = await schedule();
    const stranger = await service.person('stranger');
    for (const part of [
      '',
      path,
      `${path}/rotations`,
      `${path}/overrides`,
      `${path}/shifts`,
      `${path}/gaps`,
    ]) {
      expect([part, (await as('rita').get(part)).status]).toEqual([part, 200]);
      expect((await service.api(stranger, 'GET', `${list()}${part}`)).status).toBe(404);
    }
    const refused = [
      as('ann').post('', { name: 'x', time_zone: 'UTC' }),
      as('ann').put(path, { name: 'x' }),
      as('ann').delete(path),
      as('ann').post(`${path}/rotations`, daily('ann')),
    ];
    expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  });
});
