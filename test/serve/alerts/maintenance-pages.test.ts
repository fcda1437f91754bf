import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { type Person, Service } from './service.ts';

/** A Wednesday, 11:00 in Berlin, before the clocks change on Sunday. */
const NOW = Date.parse('2027-03-24T10:00:00Z');

let service: Service;
let ann: Person;
let rita: Person;
let browser: Browser;
let reader: Browser;
let project: number;
beforeAll(async () => {
  const ahead = NOW - Date.now();
  service = await Service.open({}, { now: () => Date.now() + ahead });
  ann = await service.person('ann', PASSWORD);
  rita = await service.person('rita', PASSWORD);
  browser = await signedIn(service, ann.user);
  reader = await signedIn(service, rita.user);
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
  await service.api(ann, 'POST', `/projects/${project}/members`, { username: 'rita', access_level: 20 });
});

const list = () => `/projects/${project}/maintenance`;
const path = () => `${list()}/new`;
const windows = async () => (await service.api(ann, 'GET', `/projects/${project}/maintenance_windows`)).body;
const text = (body: string) =>
  plain(body.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .replace(/ ,/g, ',');
const nights = (more: Record<string, string> = {}) => ({
  ...{ name: 'Backups', matchers: 'team="storage"\nseverity!="critical"', comment: 'Disks are busy.' },
  ...{ intervals: '2', 'times-0': '22:00-06:00', 'weekdays-0': 'saturday', 'location-0': 'Europe/Berlin' },
  ...{ 'days_of_month-1': '-1', 'months-1': 'march, june', 'years-1': '2027:2028', 'location-1': 'UTC' },
  ...{ from: '', until: '2027-06-30T12:00', active: 'on', ...more },
});

test('a window is added with its intervals, and shows its next occurrences by two clocks', async () => {
  expect(text((await browser.get(list())).body)).toContain('No maintenance windows yet.');
  const { body } = await browser.submitAndFollow(path(), path(), nights());
  expect(await windows()).toMatchObject([
    {
      ...{
        name: 'Backups',
        matchers: ['team="storage"', 'severity!="critical"'],
        comment: 'Disks are busy.',
      },
      time_intervals: [
        {
          times: [{ start_time: '22:00', end_time: '06:00' }],
          weekdays: ['saturday'],
          location: 'Europe/Berlin',
        },
        { days_of_month: ['-1'], months: ['march', 'june'], years: ['2027:2028'], location: 'UTC' },
      ],
      ...{ from: null, until: '2027-06-30T10:00:00.000Z', active: true },
    },
  ]);
  expect(text(body)).toContain('Window saved.');
  expect(text(body)).toContain('off Disks are busy.');
  const items = (page: string) =>
    [...page.matchAll(/<li>(.*?)<\/li>/gs)].map(([, item = '']) => text(item).trim());
  const occurrences = items(body.slice(body.indexOf('Next occurrences')));
  expect(occurrences).toHaveLength(10);
  // The night in which the clocks change, and a day in UTC by the clock of Berlin.
  expect(occurrences.slice(0, 2)).toEqual([
    'Sat, 27 Mar 2027, 22:00 to Sun, 28 Mar 2027, 06:00',
    'Wed, 31 Mar 2027, 02:00 to Thu, 1 Apr 2027, 02:00',
  ]);
  const [{ id }] = await windows();
  const other = await reader.get(`${list()}/${id}?zone=Asia/Tokyo`);
  expect(items(other.body.slice(other.body.indexOf('Next occurrences')))[0]).toBe(
    'Sat, 27 Mar 2027, 22:00 to Sun, 28 Mar 2027, 06:00 Sun, 28 Mar 2027, 06:00 to Sun, 28 Mar 2027, 13:00 for you',
  );
  expect(other.body).not.toContain('Edit window');
  expect((await reader.get(`${list()}/${id}/edit`)).statusCode).toBe(403);
});

test('intervals are added and removed without a script, and none means always', async () => {
  const { body } = await browser.submit(path(), path(), { ...nights(), do: 'add' });
  expect(body).toContain('name="intervals" value="3"');
  expect(body).toContain('<h2>Time interval 3</h2>');
  expect(body).toMatch(/name="times-0"[^>]*value="22:00-06:00"/);
  const { body: less } = await browser.submit(path(), path(), { ...nights(), do: 'remove-0' });
  expect(less).toContain('name="intervals" value="1"');
  expect(less).toMatch(/name="months-0"[^>]*value="march, june"/);
  expect(await windows()).toEqual([]);
  const always = { ...nights(), intervals: '0', until: '' };
  const shown = await browser.submitAndFollow(path(), path(), always);
  expect(text(shown.body)).toMatch(/ on .*Wed, 24 Mar 2027, 10:00, without an end/);
});

test('a window is changed, switched off and deleted', async () => {
  await browser.submit(path(), path(), nights());
  const [{ id }] = await windows();
  const one = `${list()}/${id}`;
  const { body: form } = await browser.get(`${one}/edit`);
  expect(form).toMatch(/name="until"[^>]*value="2027-06-30T12:00"/);
  expect(form).toMatch(/name="years-1"[^>]*value="2027:2028"/);
  const { active: _, ...off } = nights({ name: 'Restores', from: '2027-04-01T00:00' });
  const saved = await browser.submitAndFollow(`${one}/edit`, `${one}/edit`, off);
  expect(text(saved.body)).toContain('not active');
  expect(await windows()).toMatchObject([
    { name: 'Restores', from: '2027-03-31T22:00:00.000Z', active: false },
  ]);
  expect(text((await reader.get(list())).body)).toContain(
    'Restores not active team="storage" severity!="critical"',
  );
  const gone = await browser.submitAndFollow(`${one}/delete`, `${one}/delete`, { confirmed: 'yes' });
  expect(gone.body).toContain('Window deleted.');
  expect((await browser.get(one)).statusCode).toBe(404);
});

test('a refused window comes back with its input, and the fault at its field', async () => {
  const refused = async (fields: Record<string, string>) => {
    const { statusCode, body } = await browser.submit(path(), path(), nights(fields));
    const [field = ''] = /<(?:input|textarea)[^>]*aria-invalid="true"[^>]*>/.exec(body) ?? [];
    return [statusCode, / name="([^"]*)"/.exec(field)?.[1]];
  };
  for (const [field, value] of [
    ['name', ' '],
    ['matchers', 'team!="a"'],
    ['matchers', 'team=~"("'],
    ['times-0', '22:00'],
    ['times-0', '25:00-06:00'],
    ['weekdays-0', 'sat'],
    ['days_of_month-1', '0'],
    ['months-1', '13'],
    ['years-1', 'now'],
    ['location-1', 'Local'],
    ['until', '2027-03-01T00:00'],
    ['until', 'soon'],
  ] as const)
    expect(await refused({ [field]: value }), `${field} ${value}`).toEqual([422, field]);
  expect(await windows()).toEqual([]);
});
