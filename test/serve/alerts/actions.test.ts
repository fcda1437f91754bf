import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { firing, prometheusBody } from './made.ts';
import { Receiver } from './receiver.ts';
import { type Person, Service, type Source } from './service.ts';

const MEMBERS = 12;

let service: Service;
let people: readonly Person[];
let receiver: Receiver;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', ALERT_RETRY_WINDOW_SECONDS: '0' });
  people = await Promise.all(Array.from({ length: MEMBERS }, (_, i) => service.person(`p${i}`, PASSWORD)));
});
afterAll(() => service?.close());
afterEach(() => receiver?.close());

const owner = () => people[0] as Person;

/** A project of all people, with a webhook and one alert. */
async function watched(): Promise<Source> {
  receiver = await Receiver.open();
  const project = await service.project(owner());
  for (const { user } of people.slice(1))
    await service.api(owner(), 'POST', `/projects/${project}/members`, {
      username: user.username,
      access_level: 30,
    });
  await service.api(owner(), 'POST', `/projects/${project}/hooks`, { url: receiver.url });
  const source = await service.source(owner(), project);
  await service.send(source, { title: 'contested' });
  return source;
}

interface Entry {
  readonly outcome: string;
  readonly user_id: number | null;
  readonly change: { readonly status?: string; readonly assignees?: readonly string[] };
}
const pathOf = ({ project }: Source) => `/projects/${project}/alerts/1`;
const historyOf = async (source: Source): Promise<Entry[]> =>
  (await service.api(owner(), 'GET', `${pathOf(source)}/history`)).body;

describe('members who act at the same moment', () => {
  test('acknowledge an alert once, whoever of them is assigned too', async () => {
    const source = await watched();
    const answers = await Promise.all(
      people.flatMap((person) =>
        [{}, { assignee_ids: [Number(person.user.id)] }].map((others) =>
          service.api(person, 'PUT', pathOf(source), { status: 'acknowledged', ...others }),
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await service.send(source, { title: 'contested', end_time: '2026-11-21' });
    await until('the end was told', () => receiver.accepted.some(({ event }) => event === 'resolved'));
    expect(receiver.accepted.map(({ event }) => event)).toEqual(['created', 'acknowledged', 'resolved']);
    const changes = (await historyOf(source)).filter(({ outcome }) => outcome === 'changed');
    expect(changes.filter(({ change }) => change.status !== undefined)).toHaveLength(1);
    const assigned = changes
      .filter(({ change }) => change.assignees !== undefined)
      .map(({ user_id }) => user_id);
    expect(assigned.sort()).toEqual(people.map(({ user }) => Number(user.id)).sort());
  });

  test('acknowledge it once through pages and the API', async () => {
    const source = await watched();
    const page = `/projects/${source.project}/alerts/1`;
    const browsers = await Promise.all(people.map(({ user }) => signedIn(service, user)));
    await Promise.all([
      ...browsers.map((browser) =>
        browser.submitAndFollow(page, `${page}/status`, { status: 'acknowledged' }),
      ),
      ...people.map(({ user }) =>
        service.api(owner(), 'PUT', pathOf(source), {
          status: 'acknowledged',
          assignee_ids: [Number(user.id)],
        }),
      ),
    ]);
    await service.send(source, { title: 'contested', end_time: '2026-11-21' });
    await until('the end was told', () => receiver.accepted.some(({ event }) => event === 'resolved'));
    expect(receiver.accepted.map(({ event }) => event)).toEqual(['created', 'acknowledged', 'resolved']);
    const entries = (await historyOf(source)).filter(({ change }) => change.status !== undefined);
    expect(entries).toHaveLength(1);
  });

  test('all change it when their changes differ', async () => {
    const source = await watched();
    await Promise.all(
      (['acknowledged', 'ignored'] as const).map((status) =>
        service.api(owner(), 'PUT', pathOf(source), { status, assignee_ids: [Number(owner().user.id)] }),
      ),
    );
    const changes = (await historyOf(source)).flatMap(({ outcome, change }) =>
      outcome === 'changed' ? [Object.keys(change).sort()] : [],
    );
    expect(changes).toEqual([['status'], ['assignees', 'status']]);
  });
});

test('a change of nothing is refused, also where a field has another name', async () => {
  const source = await watched();
  for (const change of [{}, { assignees: [1] }]) {
    const { status, body } = await service.api(owner(), 'PUT', pathOf(source), change);
    expect([status, body.message]).toEqual([400, '400 Send status, assignee_ids or both.']);
  }
});

describe('the history of an alert', () => {
  test('is paged like other lists, also where a delivery has several events of it', async () => {
    const source = await watched();
    const bodies = Array.from({ length: 5 }, () => prometheusBody([firing(), firing()]));
    for (const body of bodies) await service.send(source, body);
    await service.api(owner(), 'PUT', `/projects/${source.project}/alerts/2`, { status: 'ignored' });
    const path = `/projects/${source.project}/alerts/2/history`;
    const whole = await service.api(owner(), 'GET', path);
    expect(whole.headers).toMatchObject({ 'x-total': '11', 'x-per-page': '100', 'x-next-page': '' });
    const outcomes = whole.body.map(({ outcome }: Entry) => outcome);
    expect(outcomes).toEqual(['changed', ...Array(9).fill('grouped'), 'created']);
    const pages = await Promise.all(
      [1, 2, 3, 4].map((page) => service.api(owner(), 'GET', `${path}?per_page=4&page=${page}`)),
    );
    expect(pages.map(({ body }) => body.length)).toEqual([4, 4, 3, 0]);
    expect(pages.flatMap(({ body }) => body)).toEqual(whole.body);
    expect(pages[1]?.headers).toMatchObject({ 'x-total-pages': '3', 'x-page': '2', 'x-next-page': '3' });
    expect(pages[1]?.headers.link).toContain('/history?per_page=4&page=3>; rel="next"');
  });

  test('names those who are assigned no longer', async () => {
    const source = await watched();
    const [ann, bob] = [owner().user, people[1]?.user ?? owner().user];
    for (const assignee_ids of [[Number(bob.id)], []])
      await service.api(owner(), 'PUT', pathOf(source), { assignee_ids });
    const { body } = await (await signedIn(service, ann)).get(`/projects/${source.project}/alerts/1`);
    expect(body).toContain(`<span>assigned to @${bob.username} by @${ann.username}</span>`);
    expect(body).toContain(`<span>unassigned by @${ann.username}</span>`);
  });

  test('has pages on the page of the alert', async () => {
    const source = await watched();
    for (let i = 0; i < 100; i++) await service.send(source, { title: 'contested' });
    const browser = await signedIn(service, owner().user);
    const page = `/projects/${source.project}/alerts/1`;
    const first = (await browser.get(page)).body;
    expect(first).toContain('Page 1 of 2 (101 events)');
    expect(first).not.toContain('<span>first event</span>');
    expect((await browser.get(`${page}?history=2`)).body).toContain('<span>first event</span>');
  });
});
