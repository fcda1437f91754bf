import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, Service, type Source } from './service.ts';

const MINUTE = 60_000;
let now = Date.UTC(2026, 10, 20, 10);
let service: Service;
let ann: Person;
let project: number;
let source: Source;
beforeAll(async () => {
  service = await Service.open({}, { now: () => now });
  ann = await service.person('ann');
  project = await service.project(ann);
  source = await service.source(ann, project);
});
afterAll(() => service?.close());

const read = async (what: string) =>
  (await service.api(ann, 'GET', `/projects/${project}/analytics/${what}`)).body;

describe('analytics', () => {
  test('count alerts by day, with times that were calculated by hand', async () => {
    const send = (title: string, more: object = {}) => service.send(source, { title, ...more });
    for (let i = 0; i < 3; i++) {
      await send('flaps');
      now += 10 * MINUTE;
      await send('flaps', { end_time: new Date(now).toISOString() });
    }
    await send('noisy');
    for (let i = 0; i < 7; i++) await send('noisy');
    now += 4 * MINUTE;
    await service.api(ann, 'PUT', `/projects/${project}/alerts/4`, { status: 'acknowledged' });
    now += 24 * 60 * MINUTE;
    await send('later');

    const query = '?start_date=2026-11-20&end_date=2026-11-21';
    expect(await read(`alerts_by_day${query}`)).toEqual([
      {
        date: '2026-11-20',
        alerts: 4,
        events: 11,
        acknowledged: 1,
        resolved: 3,
        mean_seconds_to_acknowledge: 240,
        median_seconds_to_acknowledge: 240,
        mean_seconds_to_resolve: 600,
        median_seconds_to_resolve: 600,
      },
      expect.objectContaining({ date: '2026-11-21', alerts: 1, events: 1, mean_seconds_to_resolve: null }),
    ]);
    expect(await read(`noisiest_alerts${query}&limit=2`)).toMatchObject([
      { title: 'noisy', events: 8, alerts: 1, last_iid: 4 },
      { title: 'flaps', events: 3, alerts: 3 },
    ]);
    expect(await read(`flapping_alerts${query}`)).toMatchObject([
      { title: 'flaps', alerts: 3, last_iid: 3, median_seconds_open: 600 },
    ]);
    expect(await read('alerts_by_day?start_date=2020-01-01&end_date=2020-12-31')).toEqual([]);
    for (const day of [
      'start_date=9999-12-31',
      'start_date=2149-06-07',
      'end_date=1969-12-31',
      'end_date=0001-01-01',
    ])
      for (const what of ['alerts_by_day', 'noisiest_alerts', 'flapping_alerts'])
        expect(await read(`${what}?${day}`)).toEqual([]);
  });

  test.each(['alerts_by_day', 'noisiest_alerts', 'flapping_alerts'])(
    '%s refuses an end before its start',
    async (what) => {
      const ask = (query: string) =>
        service.api(ann, 'GET', `/projects/${project}/analytics/${what}?${query}`);
      expect(await ask('start_date=2026-11-21&end_date=2026-11-20')).toMatchObject({
        status: 400,
        body: { errors: { end_date: ['end_date is before start_date'] } },
      });
      expect((await ask('start_date=2026-11-20&end_date=2026-11-20')).status).toBe(200);
    },
  );

  test('and lists of alerts spend the budget that their caller has of the time of the store', async () => {
    const { keyValue } = service.pipeline.runtime;
    const paths = [
      '/alerts',
      '/alerts/status_counts',
      '/alerts/1',
      '/alerts/1/history',
      '/alerts/1/notes',
      '/incidents',
      `/integrations/${source.id}/deliveries`,
      '/analytics/alerts_by_day',
      '/analytics/noisiest_alerts',
      '/analytics/flapping_alerts',
    ];
    for (const path of paths) {
      now += MINUTE;
      const spent = `rate/store-time/known:account/${ann.user.id}/${Math.floor(now / MINUTE)}`;
      const ask = async () => (await service.api(ann, 'GET', `/projects/${project}${path}`)).status;
      expect([path, await ask()]).toEqual([path, 200]);
      expect(Number(await keyValue.get(spent))).toBeGreaterThan(0);
      await keyValue.increment(spent, 120_000, MINUTE);
      expect([path, await ask()]).toEqual([path, 429]);
    }
  });
});
