import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, plain } from '../../accounts/browser.ts';
import { PASSWORD, signedIn } from '../../accounts/world.ts';
import { type Person, Service } from '../service.ts';

/** A Wednesday, 11:00 in Berlin. */
const NOW = Date.parse('2027-03-24T10:00:00Z');
const LEVELS = { mona: 40, dave: 30, dora: 30, rita: 20 } as const;

let service: Service;
let ahead: number;
let project: number;
const people = {} as Record<'ann' | keyof typeof LEVELS, Person>;
const browsers = {} as Record<keyof typeof people, Browser>;
/** Its path. */
let schedule: string;

beforeAll(async () => {
  ahead = NOW - Date.now();
  service = await Service.open({}, { now: () => Date.now() + ahead });
  people.ann = await service.person('ann', PASSWORD);
  project = await service.project(people.ann);
  for (const [name, access_level] of Object.entries(LEVELS)) {
    const person = await service.person(name, PASSWORD);
    people[name as keyof typeof LEVELS] = person;
    await service.api(people.ann, 'POST', `/projects/${project}/members`, { username: name, access_level });
  }
  for (const [name, { user }] of Object.entries(people))
    browsers[name as keyof typeof people] = await signedIn(service, user);
});
afterAll(() => service?.close());

const list = () => `/projects/${project}/oncall`;
const get = async (who: keyof typeof people, path: string) => plain((await browsers[who].get(path)).body);
const submit = (
  who: keyof typeof people,
  page: string,
  action: string,
  fields: Record<string, string | string[]>,
) => browsers[who].submitAndFollow(page, action, fields);
const rotation = (fields: object = {}) => ({
  ...{ name: 'Weekdays', length: '1', unit: 'weeks', starts_at: '2027-03-22T09:00', priority: '0' },
  ...{ 'turn-0': people.dave.user.id, 'turn-1': [people.dora.user.id, people.mona.user.id], 'turn-4': 'off' },
  ...fields,
});

test('a project without a schedule says how to begin', async () => {
  for (const who of ['rita', 'mona'] as const) {
    const page = await get(who, list());
    expect(page).toContain('Create a schedule');
    expect(page).toContain(`href="/projects/${project}/escalation"`);
    expect(page.includes('<h2>New schedule</h2>')).toBe(who === 'mona');
  }
});

test('a schedule is made by a Maintainer; a refused form comes back with its fields', async () => {
  const fields = { name: 'Primary', time_zone: 'Europe/Nowhere', description: 'Of the farm' };
  const { statusCode, body } = await browsers.mona.submit(list(), list(), fields);
  expect(statusCode).toBe(422);
  expect(plain(body)).toContain('value="Of the farm"');
  expect(/<p class="fault" id="time_zone-fault">([^<]*)/.exec(body)?.[1]).toContain('Europe/Berlin');
  expect(body).toContain('<option value="Europe/Berlin">');
  expect((await browsers.dave.submit(list(), list(), fields)).statusCode).toBe(403);
  const made = await browsers.mona.submit(list(), list(), { ...fields, time_zone: 'Europe/Berlin' });
  expect(made.statusCode).toBe(303);
  schedule = String(made.headers.location).replace('/rotations/new', '');
  const page = await get('mona', schedule);
  expect(page).toContain('No rotations yet');
  expect(page).not.toContain('class="shift-bars"');
});

describe('a rotation', () => {
  const path = () => `${schedule}/rotations/new`;
  const proposed = async () => /name="starts_at"[^>]*value="([^"]+)"/.exec(await get('mona', path()))?.[1];

  test('is proposed from the Monday before, so that somebody is on call at once', async () => {
    expect(await proposed()).toBe('2027-03-22T09:00');
    const before = ahead;
    ahead = Date.parse('2027-03-22T07:59:00Z') - Date.now();
    expect(await proposed()).toBe('2027-03-15T09:00');
    ahead = before;
  });

  test('gets more lines for its turns, and keeps what was entered', async () => {
    const { body } = await submit('mona', path(), path(), rotation({ do: 'more' }));
    expect(body.match(/aria-label="Turn \d+"/g)).toHaveLength(8);
    const chosen = [...body.matchAll(/<option value="([^"]*)" selected>/g)].map(([, value]) => value);
    const { dave, dora, mona } = people;
    expect(chosen.filter((value) => value !== '').slice(0, 4)).toEqual([
      dave.user.id,
      dora.user.id,
      mona.user.id,
      'off',
    ]);
  });

  test('shows what it would change, and is saved only then', async () => {
    const preview = await submit('mona', path(), path(), rotation({ do: 'preview' }));
    const [, changes = ''] = /<h2>If you save this<\/h2>([\s\S]*?)<\/section>/.exec(preview.body) ?? [];
    const names = [...changes.matchAll(/<th scope="row">(.*?)<\/th>/g)].map(([, name = '']) =>
      name.replace(/<.*?>/g, ''),
    );
    expect(names.sort()).toEqual(['@dave', '@dora', '@mona', 'nobody']);
    expect(await get('mona', schedule)).toContain('No rotations yet');
    const refused = await submit('mona', path(), path(), rotation({ do: 'save', name: ' ', length: '0' }));
    expect(refused.statusCode).toBe(422);
    const saved = await submit('mona', path(), path(), rotation({ do: 'save' }));
    expect(saved.body).toContain('Rotation saved.');
    expect(saved.body).toContain('@dave, then @dora and @mona, then nobody');
    expect(saved.body).toContain('every week from 2027-03-22 09:00');
  });

  test('is drawn by person over two weeks, and told in a table by both clocks', async () => {
    const page = await get('rita', `${schedule}?zone=Asia/Tokyo`);
    const names = [...page.matchAll(/class="name"[^>]*>([^<]*)</g)].map(([, name]) => name);
    expect(names).toEqual(['@dave', '@dora', '@mona', 'Nobody']);
    expect(page).toMatch(
      /Mon,? 29 Mar, 09:00<\/time> <span[^>]*><time[^>]*>Wed,? 24 Mar, 19:0\d<\/time>\sto\s<time[^>]*>Mon,? 29 Mar, 16:00/,
    );
    expect(page.match(/class="weekday"/g)).toHaveLength(28);
    expect(page).toContain(`href="${schedule}?from=2027-04-07&zone=Asia%2FTokyo"`);
    const later = await get('rita', `${schedule}?from=2027-04-07`);
    expect(later).toContain('7 Apr to ');
    expect(later).toContain(`href="${schedule}?from=2027-03-24"`);
    for (const odd of ['?from=2027-99-99&zone=Mars/Base', '?from=9999-12-31', '?from=0000-01-01'])
      expect((await browsers.rita.get(schedule + odd)).statusCode, odd).toBe(200);
  });

  test('is edited from a later moment on; earlier shifts stay', async () => {
    const [link = ''] =
      /\/projects\/\d+\/oncall\/[\w-]+\/rotations\/(?!new)[\w-]+/.exec(await get('mona', schedule)) ?? [];
    const page = await get('mona', link);
    expect(page).toContain('value="2027-03-22T09:00"');
    const fields = rotation({ 'turn-4': people.ann.user.id, effective_at: '2027-04-05T09:00' });
    const refused = await submit('mona', link, link, {
      ...fields,
      do: 'preview',
      effective_at: '2027-03-01T09:00',
    });
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain('Past shifts cannot change');
    const preview = await submit('mona', link, link, { ...fields, do: 'preview' });
    expect(preview.body).toMatch(/<th scope="row">@ann<\/th>[\s\S]*5 Apr, 09:00/);
    const saved = await submit('mona', link, link, { ...fields, do: 'save' });
    expect(saved.body).toMatch(/changes <time[^>]*>Mon,? 5 Apr, 09:00/);
    const ended = await submit('mona', link, `${link}/end`, {
      do: 'preview',
      effective_at: '2027-05-03T09:00',
    });
    expect(ended.body).toMatch(/<span class="tag bad">nobody<\/span>[\s\S]*3 May, 09:00/);
    expect((await browsers.dave.get(link)).statusCode).toBe(403);
  });
});

describe('an override', () => {
  test('takes a shift with one click', async () => {
    const before = await get('dora', schedule);
    expect(before).toMatch(/aria-label="Take from Wed,? 24 Mar, 11:0\d"/);
    const taken = await submit('dora', schedule, `${schedule}/overrides/take`, {});
    expect(taken.body).toMatch(/You are on call from Wed,? 24 Mar, 11:0\d to Mon,? 29 Mar, 09:00/);
    expect(taken.body).toContain('instead of @dave');
    expect(await get('rita', schedule)).not.toContain('>Take<');
  });

  test('of others needs a Maintainer; one of its own does not', async () => {
    const action = `${schedule}/overrides`;
    const fields = { from: '2027-04-01T09:00', until: '2027-04-02T09:00', reason: 'Easter' };
    const ofOthers = { ...fields, user_id: people.mona.user.id, replaces_id: people.dora.user.id };
    const refused = await submit('dave', schedule, action, ofOthers);
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain('This requires the Maintainer role');
    expect(refused.body).toContain('value="2027-04-01T09:00"');
    expect((await submit('mona', schedule, action, ofOthers)).body).toContain('Override added.');
    const own = { ...ofOthers, user_id: people.dave.user.id, until: '2027-03-01T09:00' };
    expect((await submit('dave', schedule, action, own)).body).toMatch(
      /id="until-fault">The end must be after/,
    );
    expect((await submit('dave', schedule, action, { ...own, from: 'x' })).body).toMatch(
      /id="from-fault">Enter a date/,
    );
    const added = await submit('dave', schedule, action, { ...own, until: fields.until });
    expect(added.body).toContain('Override added.');
    const mine = added.body.match(/action="([^"]*\/delete)"/g) ?? [];
    // That in which Dora takes his shift, and his own.
    expect(mine).toHaveLength(2);
    const [, path = ''] = /action="([^"]*)"/.exec(mine[1] ?? '') ?? [];
    expect((await submit('dave', schedule, path, {})).body).toContain('Override deleted.');
  });
});

test('the page of all schedules: now, next, gaps and my shifts', async () => {
  const page = await get('dora', list());
  expect(page).toMatch(/<dt>Now<\/dt><dd><b>@dora<\/b> until <time[^>]*>Mon,? 29 Mar, 09:00/);
  expect(page).toMatch(/<dt>Next<\/dt><dd><b>@dora, @mona<\/b> from/);
  expect(page).toContain('<h2>My next shifts</h2>');
  expect(page).toContain('@dora, @mona have no verified contact');
  expect(await get('rita', schedule)).toContain('@dave, @dora, @mona have no verified contact');
  expect(await get('rita', list())).toContain('You are not on call in the next 60 days.');
});

test('gaps of a schedule that a policy uses are on top', async () => {
  const [id = ''] = schedule.split('/').slice(-1);
  const hole = {
    user_id: 'nobody',
    replaces_id: '',
    from: '2027-03-26T20:00',
    until: '2027-03-26T23:00',
    reason: '',
  };
  await submit('mona', schedule, `${schedule}/overrides`, hole);
  expect(await get('rita', list())).not.toContain('Nobody is on call in');
  const steps = [{ targets: [{ type: 'schedule', id }], delay_minutes: 5 }];
  const path = `/projects/${project}/escalation_policies`;
  const { body } = await service.api(people.mona, 'POST', path, { name: 'Default', steps });
  expect(await get('rita', list())).toMatch(
    /Nobody is on call in <a[^>]*>Primary<\/a> from <time[^>]*>Fri,? 26 Mar, 20:00<\/time>\sto\s<time[^>]*>Fri,? 26 Mar, 23:00/,
  );
  const refused = await submit('mona', `${schedule}/delete`, `${schedule}/delete`, {});
  expect(plain(refused.body)).toContain('Escalation policies use this schedule: Default.');
  await service.api(people.mona, 'DELETE', `${path}/${body.id}`);
});

test('the address of the calendar is shown once', async () => {
  const made = await submit('mona', schedule, `${schedule}/calendar`, {});
  const [, address = ''] = /id="secret">([^<]*)</.exec(made.body) ?? [];
  const calendar = await service.app.inject({ url: new URL(address).pathname });
  expect(calendar.body).toContain('BEGIN:VCALENDAR');
  expect(await get('mona', schedule)).not.toContain(address);
  expect((await browsers.dave.submit(schedule, `${schedule}/calendar`, {})).statusCode).toBe(403);
});

test('a schedule is deleted after a confirmation', async () => {
  const path = `${schedule}/delete`;
  expect((await browsers.dave.get(path)).statusCode).toBe(403);
  expect(await get('mona', path)).toContain('Delete the schedule Primary?');
  const unconfirmed = await browsers.mona.submit(path, path, { confirmed: '' });
  expect(unconfirmed.statusCode).toBe(422);
  expect((await submit('mona', path, path, {})).body).toContain('Schedule Primary deleted.');
  expect((await browsers.mona.get(schedule)).statusCode).toBe(404);
});
