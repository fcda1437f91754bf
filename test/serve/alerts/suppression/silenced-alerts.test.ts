import { afterAll, beforeAll, expect, test } from 'vitest';
import { Receiver } from '../receiver.ts';
import { type Person, Service, type Source } from '../service.ts';

const HOUR_MS = 3_600_000;

let service: Service;
let ann: Person;
let now = Date.parse('2026-11-29T12:00:00Z');
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' }, { now: () => now });
  ann = await service.person('ann');
});
afterAll(() => service?.close());

const create = async (project: number, matcher: string, more: object = {}): Promise<string> => {
  const ends_at = new Date(now + HOUR_MS).toISOString();
  const given = { matchers: [matcher], ends_at, ...more };
  return (await service.api(ann, 'POST', `/projects/${project}/silences`, given)).body.id;
};
const send = (source: Source, title: string, more: object = {}) =>
  service.send(source, { title, fingerprint: title, ...more });
const iids = async (project: number, query: string) => {
  const { body } = await service.api(ann, 'GET', `/projects/${project}/alerts?order_by=created_at&${query}`);
  return body.map(({ iid, silenced_by }: { iid: number; silenced_by: string[] }) => [iid, silenced_by]);
};

test('alerts say which silences match them now, and lists are narrowed to those that are silenced', async () => {
  const project = await service.project(ann);
  const source = await service.source(ann, project);
  await send(source, 'Disk', { severity: 'low', labels: { team: 'a' } });
  await send(source, 'Load', { severity: 'high', labels: { team: 'b' } });
  await send(source, 'Fan', { severity: 'high' });
  const first = await create(project, 'team="a"');
  const second = await create(project, 'cm_severity=~"low|info"');
  await create(project, 'cm_integration="Tool"', { starts_at: new Date(now + HOUR_MS / 2).toISOString() });
  const both = [first, second].sort();
  expect(await iids(project, '')).toEqual([
    [3, []],
    [2, []],
    [1, both],
  ]);
  expect(await iids(project, 'silenced=true')).toEqual([[1, both]]);
  expect(await iids(project, 'silenced=false')).toEqual([
    [3, []],
    [2, []],
  ]);
  expect(await iids(project, 'silenced=false&service=none')).toEqual([]);
  const counts = await service.api(ann, 'GET', `/projects/${project}/alerts/status_counts?silenced=true`);
  expect(counts.body).toMatchObject({ all: 1, open: 1 });
  const one = `/projects/${project}/alerts/1`;
  expect((await service.api(ann, 'GET', one)).body.silenced_by).toEqual(both);
  await service.api(ann, 'DELETE', `/projects/${project}/silences/${first}`);
  expect((await service.api(ann, 'GET', one)).body.silenced_by).toEqual([second]);
  const resolved = await service.api(ann, 'PUT', one, { status: 'resolved' });
  expect(resolved.body.silenced_by).toEqual([]);
  now += 0.7 * HOUR_MS;
  expect((await iids(project, 'silenced=true')).map(([iid]: [number]) => iid)).toEqual([3, 2]);
  expect((await service.api(ann, 'GET', `/projects/${project}/alerts?silenced=maybe`)).status).toBe(400);
});

test('webhooks are sent all the same, and say what silences the alert', async () => {
  const receiver = await Receiver.open();
  try {
    const project = await service.project(ann);
    const source = await service.source(ann, project);
    const id = await create(project, 'alertname="Disk"');
    await service.api(ann, 'POST', `/projects/${project}/hooks`, { url: receiver.url, events: ['created'] });
    await send(source, 'Disk');
    await send(source, 'Load');
    await expect.poll(() => receiver.requests.length, { timeout: 20_000 }).toBe(2);
    const told = receiver.requests.map(({ alert }) => alert);
    expect(Object.fromEntries(told.map(({ title, silenced_by }) => [title, silenced_by]))).toEqual({
      Disk: [id],
      Load: [],
    });
  } finally {
    receiver.close();
  }
});
