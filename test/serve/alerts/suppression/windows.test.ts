import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseMatchers } from '../../../../aggregate/alerts/matchers/parse.ts';
import {
  type MaintenanceWindowRow,
  maintenanceWindows,
} from '../../../../serve/alerts/model/suppression-tables.ts';
import { locatedIntervalSchema } from '../../../../serve/alerts/oncall/time-intervals.ts';
import { type WindowFields, Windows } from '../../../../serve/alerts/suppression/windows.ts';
import { Records } from '../../../../serve/stored-records/records.ts';
import { ms } from '../oncall/made.ts';
import { type Person, Service } from '../service.ts';

let service: Service;
let ann: Person;
let project: number;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
});

const all = () => `/projects/${project}/maintenance_windows`;
const nights = (more: object = {}) => ({
  name: 'Nights',
  matchers: ['team="storage"', 'severity!="critical"'],
  time_intervals: [
    {
      times: [{ start_time: '22:00', end_time: '06:00' }],
      weekdays: ['saturday'],
      location: 'Europe/Berlin',
    },
  ],
  ...more,
});

describe('maintenance windows', () => {
  test('are created with defaults, read, changed and deleted', async () => {
    const created = await service.api(ann, 'POST', all(), nights({ comment: ' Backups\n' }));
    expect(created).toMatchObject({
      status: 201,
      body: { ...nights({ comment: 'Backups' }), from: null, until: null, active: true },
    });
    const one = `${all()}/${created.body.id}`;
    expect((await service.api(ann, 'GET', one)).body).toEqual(created.body);
    expect((await service.api(ann, 'GET', all())).body).toEqual([created.body]);
    const changes = { from: '2030-01-01T00:00:00+01:00', until: '2031-01-01T00:00:00Z', active: false };
    const changed = await service.api(ann, 'PUT', one, changes);
    expect(changed.body).toEqual({
      ...created.body,
      ...{ from: '2029-12-31T23:00:00.000Z', until: '2031-01-01T00:00:00.000Z', active: false },
    });
    const matchers = ['team=~"db|net"'];
    const other = await service.api(ann, 'PUT', one, { matchers, from: null, until: null });
    expect(other.body).toEqual({ ...created.body, matchers, active: false });
    expect((await service.api(ann, 'DELETE', one)).status).toBe(204);
    expect((await service.api(ann, 'GET', one)).status).toBe(404);
    expect((await service.api(ann, 'PUT', one, {})).status).toBe(404);
    expect((await service.api(ann, 'GET', all())).body).toEqual([]);
  });

  test.each([
    ['no name', { name: ' ' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(256) }, 'name'],
    ['no matchers', { matchers: [] }, 'matchers'],
    ['matchers that match an alert without labels', { matchers: ['team!="db"'] }, 'matchers'],
    ['a matcher that cannot be read', { matchers: ['a=b', 'team=~"("'] }, 'matchers.1'],
    ['21 intervals', { time_intervals: Array(21).fill({}) }, 'time_intervals'],
    ['the zone Local', { time_intervals: [{ location: 'Local' }] }, 'time_intervals.0.location'],
    ['an offset as zone', { time_intervals: [{ location: '+02:00' }] }, 'time_intervals.0.location'],
    ['a bad weekday', { time_intervals: [{ weekdays: ['mon'] }] }, 'time_intervals.0.weekdays.0'],
    ['an end before its start', { from: '2031-01-01T00:00:00Z', until: '2030-01-01T00:00:00Z' }, 'until'],
    ['a time without a zone', { from: '2031-01-01T00:00' }, 'from'],
    ['a comment that is too long', { comment: 'x'.repeat(1001) }, 'comment'],
  ])('with %s are refused, and nothing changes', async (_name, fields, field) => {
    const reply = await service.api(ann, 'POST', all(), nights(fields));
    expect(reply).toMatchObject({ status: 400, body: { errors: { [field]: [expect.any(String)] } } });
    const { body } = await service.api(ann, 'POST', all(), nights());
    expect((await service.api(ann, 'PUT', `${all()}/${body.id}`, fields)).status).toBe(400);
    expect((await service.api(ann, 'GET', all())).body).toEqual([body]);
  });

  test('that are over cannot be created, and names are taken once', async () => {
    const over = await service.api(ann, 'POST', all(), nights({ until: '2020-01-01T00:00:00Z' }));
    expect(over).toMatchObject({ status: 400, body: { errors: { until: [expect.any(String)] } } });
    const replies = await Promise.all([1, 2, 3].map(() => service.api(ann, 'POST', all(), nights())));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  test('are at most 200 in a project, each with 20 intervals, and not found in another one', async () => {
    const time_intervals = Array.from({ length: 20 }, (_, i) => ({
      days_of_month: [i + 1],
      location: 'UTC',
    }));
    for (let i = 0; i < 200; i++) {
      const { status } = await service.api(
        ann,
        'POST',
        all(),
        nights({ name: `Night ${i}`, time_intervals }),
      );
      expect(status).toBe(201);
    }
    expect((await service.api(ann, 'POST', all(), nights())).status).toBe(409);
    const { body } = await service.api(ann, 'GET', `${all()}?per_page=1`);
    project = await service.project(ann);
    expect((await service.api(ann, 'GET', `${all()}/${body[0].id}`)).status).toBe(404);
    expect((await service.api(ann, 'DELETE', `${all()}/${body[0].id}`)).status).toBe(404);
  });
});

/** A process with a clock of its own, and what its listener was told. */
function openWindows(start: string) {
  const { accounts } = service;
  const { keyValue } = service.pipeline.runtime;
  const clock = { now: () => now };
  const told: string[] = [];
  let now = ms(start);
  const onChanged = (projectId: string) => void told.push(projectId);
  const records = new Records<MaintenanceWindowRow>(accounts, maintenanceWindows);
  const windows = new Windows({ records, keyValue, clock, locks: accounts.locks, onChanged });
  return {
    windows,
    at: async (time: string) => {
      now = ms(time);
      const index = await windows.indexAt(String(project), now);
      const labels = { values: new Map([['team', 'storage']]), isCut: false };
      return (await index.matching(labels)).map(
        ({ id, until }) => `${id} ${new Date(until).toISOString().slice(0, 16)}`,
      );
    },
    told: () => told.splice(0),
  };
}

const fields = (more: Partial<WindowFields> = {}): WindowFields => ({
  ...{ name: 'Nights', comment: '', from_ms: 0, until_ms: 0, is_active: true },
  matchers: parseMatchers('team="storage"'),
  time_intervals: nights().time_intervals.map((interval) => locatedIntervalSchema.parse(interval)),
  ...more,
});

describe('the windows that are on', () => {
  test('are those of the moment, in every process', async () => {
    const [a, b] = [openWindows('2027-01-01T00:00Z'), openWindows('2027-01-01T00:00Z')];
    expect(await b.at('2027-01-01T00:00Z')).toEqual([]);
    const { id } = await a.windows.create(String(project), ann.user.id, fields());
    for (const { at } of [a, b]) {
      expect(await at('2027-01-02T20:59:59.999Z')).toEqual([]);
      expect(await at('2027-01-02T21:00Z')).toEqual([`${id} 2027-01-03T05:00`]);
      expect(await at('2027-01-03T04:59:59.999Z')).toEqual([`${id} 2027-01-03T05:00`]);
      expect(await at('2027-01-03T05:00Z')).toEqual([]);
      expect(await at('2027-01-02T21:00Z')).toEqual([`${id} 2027-01-03T05:00`]);
    }
    const until_ms = ms('2027-01-03T02:00Z');
    await a.windows.change(String(project), id, ann.user.id, { until_ms });
    expect(await b.at('2027-01-03T01:00Z')).toEqual([`${id} 2027-01-03T02:00`]);
    await b.windows.change(String(project), id, ann.user.id, { is_active: false });
    expect(await a.at('2027-01-03T01:00Z')).toEqual([]);
  });

  test('are also found after the key-value store has lost its content', async () => {
    const [a, b] = [openWindows('2027-01-02T22:00Z'), openWindows('2027-01-02T22:00Z')];
    expect(await b.at('2027-01-02T22:00Z')).toEqual([]);
    const { id } = await a.windows.create(String(project), ann.user.id, fields());
    await service.pipeline.runtime.keyValue.delete(`alerts/maintenance/${project}`);
    expect(await b.at('2027-01-02T22:00Z')).toEqual([`${id} 2027-01-03T05:00`]);
  });

  test('are told to whoever pages after each change', async () => {
    const { windows, told } = openWindows('2027-01-02T22:00Z');
    const [id, author] = [String(project), ann.user.id];
    const night = await windows.create(id, author, fields());
    expect(told()).toEqual([id]);
    await windows.change(id, night.id, author, { is_active: false });
    expect(told()).toEqual([id]);
    await windows.delete(id, night.id, author);
    expect(told()).toEqual([id]);
  });
});
