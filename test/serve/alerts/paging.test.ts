import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, Service } from './service.ts';

let service: Service;
let ann: Person;
let project: number;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
  for (let i = 0; i < 3; i++) project = await service.project(ann);
  const source = await service.source(ann, project);
  await service.source(ann, project);
  await service.source(ann, project);
  await service.send(source, { title: 'written about' });
  for (const name of ['bob', 'carl']) {
    const { user } = await service.person(name);
    const added = { username: user.username, access_level: 30 };
    await service.api(ann, 'POST', `/projects/${project}/members`, added);
  }
  for (let i = 0; i < 3; i++) {
    await service.api(ann, 'POST', `/projects/${project}/hooks`, { url: `https://hook.example/${i}` });
    await service.api(ann, 'POST', `/projects/${project}/alerts/1/notes`, { body: `note ${i}` });
  }
});
afterAll(() => service?.close());

const WHOLE = ['', 'members', 'integrations', 'hooks', 'alerts/1/notes'];
const get = (path: string) => service.api(ann, 'GET', path);
const pathOf = (list: string) => (list === '' ? '/projects' : `/projects/${project}/${list}`);

describe.each(WHOLE)('the list /projects/ID/%s', (list) => {
  test('is whole, or the page that is asked for', async () => {
    const whole = await get(pathOf(list));
    expect([whole.status, whole.body.length, whole.headers['x-total']]).toEqual([200, 3, undefined]);
    const pages = await Promise.all([1, 2, 3].map((page) => get(`${pathOf(list)}?per_page=2&page=${page}`)));
    expect(pages.flatMap(({ body }) => body)).toEqual(whole.body);
    // Who asks for the next page until one is empty comes to an end.
    expect(pages.map(({ body }) => body.length)).toEqual([2, 1, 0]);
    expect(pages[0]?.headers).toMatchObject({ 'x-total': '3', 'x-total-pages': '2', 'x-next-page': '2' });
    expect(pages[0]?.headers.link).toContain(`${pathOf(list)}?per_page=2&page=2>; rel="next"`);
    expect((await get(`${pathOf(list)}?page=1`)).headers).toMatchObject({ 'x-per-page': '20' });
  });
});

test.each([...WHOLE, 'alerts', 'alerts/1/history', 'incidents'])(
  'malformed parameters of pages are 400: /projects/ID/%s',
  async (list) => {
    for (const query of [
      'per_page=many',
      'per_page=0',
      'per_page=101',
      'page=0',
      'page=1.5',
      'page=0x1',
      'page=1e0',
      'page=%201',
      'page=',
      'page=1&page=2',
    ]) {
      const { status, body } = await get(`${pathOf(list)}?${query}`);
      expect(status, query).toBe(400);
      expect(Object.keys(body.errors), query).toEqual([query.split('=')[0]]);
    }
  },
);

test('a number in a path is written with digits alone', async () => {
  for (const iid of ['0x1', '1e0', '1.0', '%201', '+1'])
    expect((await get(`/projects/${project}/alerts/${iid}`)).status, iid).toBe(400);
  expect((await get(`/projects/${project}/alerts/1`)).status).toBe(200);
});
