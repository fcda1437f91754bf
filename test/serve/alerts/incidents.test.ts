import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

const AT_ONCE = 100;

let service: Service;
let ann: Person;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
});
afterAll(() => service?.close());

async function automatic(fields: object = {}): Promise<Source> {
  const project = await service.project(ann, { creates_incidents: true, ...fields });
  return service.source(ann, project);
}

interface Shown {
  readonly iid: number;
  readonly alert_iid: number;
  readonly state: string;
  readonly created_at: string;
  readonly closed_at: string | null;
}

async function incidentsOf({ project }: Source): Promise<Shown[]> {
  const all: Shown[] = [];
  for (let page = 1; ; page++) {
    const path = `/projects/${project}/incidents?per_page=100&page=${page}`;
    const { body, headers } = await service.api(ann, 'GET', path);
    all.push(...body);
    if (!headers['x-next-page']) return all;
  }
}

describe('automatic incidents', () => {
  test(`of ${AT_ONCE} alerts that are created and resolved at once are all closed, one for each alert`, async () => {
    const source = await automatic();
    const names = Array.from({ length: AT_ONCE }, (_, i) => ({ title: `alert ${i}`, fingerprint: `f${i}` }));
    await Promise.all(names.map((alert) => service.send(source, alert)));
    await Promise.all(names.map((alert) => service.send(source, { ...alert, end_time: '2026-11-21' })));
    await until('every alert has an incident', async () => (await incidentsOf(source)).length >= AT_ONCE);
    await until('all are closed', async () =>
      (await incidentsOf(source)).every(({ state }) => state === 'closed'),
    );
    const found = await incidentsOf(source);
    expect(new Set(found.map(({ alert_iid }) => alert_iid)).size).toBe(AT_ONCE);
    expect(found.map(({ iid }) => iid)).toEqual(Array.from({ length: AT_ONCE }, (_, i) => AT_ONCE - i));
    const { headers } = await service.api(ann, 'GET', `/projects/${source.project}/incidents?page=2`);
    expect(headers).toMatchObject({ 'x-total': '100', 'x-total-pages': '5', 'x-next-page': '3' });
    expect(String(headers.link)).toContain('page=3>; rel="next"');
    const { body } = await service.api(ann, 'GET', `/projects/${source.project}/alerts/7`);
    expect(found.find(({ iid }) => iid === body.incident_iid)?.alert_iid).toBe(7);
    expect(found.find(({ alert_iid }) => alert_iid === 7)?.created_at).toBe(body.created_at);
  });

  test('of an alert that one delivery creates and resolves is closed', async () => {
    const source = await automatic();
    const items = [firing(), firing({ status: 'resolved', endsAt: '2026-11-21T04:00:00Z' })];
    await service.send(source, prometheusBody(items));
    await until('the incident is closed', async () => (await incidentsOf(source))[0]?.state === 'closed');
    expect(await incidentsOf(source)).toHaveLength(1);
  });

  test('follow the settings of the time in which their alerts were created', async () => {
    const source = await automatic({ creates_incidents: false });
    await service.send(source, { title: 'before' });
    await service.api(ann, 'PUT', `/projects/${source.project}`, { creates_incidents: true });
    await service.send(source, { title: 'meanwhile' });
    await service.api(ann, 'PUT', `/projects/${source.project}`, { creates_incidents: false });
    await service.send(source, { title: 'after' });
    await service.send(source, { title: 'meanwhile', end_time: '2026-11-21' });
    await until('it is closed', async () => (await incidentsOf(source))[0]?.state === 'closed');
    expect(await incidentsOf(source)).toMatchObject([{ alert_iid: 2 }]);
  });
});
