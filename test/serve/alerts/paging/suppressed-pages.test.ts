import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '../../../infra/ports/opened.ts';
import { type Person, Service } from '../service.ts';
import { PageReceiver, Team } from './team.ts';

// Silences and maintenance windows keep alerts from paging while they match, and never for longer.

let service: Service;
let ann: Person;
let receiver: PageReceiver;
let team: Team;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', PAGE_BUNDLE_SECONDS: '0' });
  ann = await service.person('ann');
});
beforeEach(async () => {
  receiver = await PageReceiver.open();
  team = await Team.open(service, ann, { steps: [{ channels: [receiver.url] }] });
});
afterEach(() => receiver.close());
afterAll(() => service?.close());

const later = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const api = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => {
  const answer = await service.api(ann, method, `/projects/${team.project}/${path}`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};
const silence = () => api('POST', 'silences', { matchers: ['service="db"'], ends_at: later(60) });
const send = (service_: string, more: object = {}) =>
  service.send(team.source, {
    title: `${service_} is slow`,
    fingerprint: service_,
    service: service_,
    ...more,
  });
const stateOf = async (iid: number) => (await team.pagesOf(iid)).pages[0]?.state;
const untilState = (iid: number, state: string) =>
  until(`page ${iid} is ${state}`, async () => (await stateOf(iid)) === state);
const untilEvents = (...wanted: string[]) =>
  until(`the channel was told ${wanted.join(', ')}`, async () => `${receiver.events}` === `${wanted}`);

test('a silenced alert pages nobody until its silence ends, and then once', async () => {
  const { id } = await silence();
  await send('db');
  await send('web');
  await untilEvents('triggered');
  expect(
    receiver.received[0]?.body.object_attributes?.title ?? receiver.received[0]?.body.page,
  ).toBeDefined();
  await untilState(1, 'suppressed');
  const { pages, log } = await team.pagesOf(1);
  expect(pages).toMatchObject([{ state: 'suppressed', suppressed_by: [id], route: 'default', step: 0 }]);
  expect(log.map(({ what }: { what: string }) => what)).toEqual([
    'suppressed by a silence or a maintenance window',
  ]);
  await api('DELETE', `silences/${id}`);
  await untilEvents('triggered', 'triggered');
  await untilState(1, 'triggered');
  expect((await team.pagesOf(1)).pages).toMatchObject([{ round: 1, step: 1, suppressed_by: [] }]);
});

test('a silence stops a page that calls already; its end is told, and nothing else', async () => {
  await send('db');
  await untilEvents('triggered');
  await silence();
  await untilState(1, 'suppressed');
  await send('db', { end_time: '2026-11-21' });
  await untilEvents('triggered', 'resolved');
  expect(await stateOf(1)).toBe('closed');
});

test('all who were called before a silence are told of the end after it', async () => {
  const second = await PageReceiver.open();
  team = await Team.open(service, ann, {
    steps: [{ channels: [receiver.url] }, { channels: [second.url] }],
  });
  await send('db');
  await untilEvents('triggered');
  await api('POST', 'alerts/1/escalate');
  await until('the second channel was called', async () => `${second.events}` === 'triggered');
  const { id } = await silence();
  await untilState(1, 'suppressed');
  await api('DELETE', `silences/${id}`);
  await untilEvents('triggered', 'triggered');
  await send('db', { end_time: '2026-11-21' });
  await untilEvents('triggered', 'triggered', 'resolved');
  await until('the second channel was told', async () => `${second.events}` === 'triggered,resolved');
  await service.api(ann, 'PUT', `/projects/${team.project}/alerts/1`, { status: 'triggered' });
  await untilEvents('triggered', 'triggered', 'resolved', 'triggered');
  await team.setStatus(1, 'resolved');
  await untilEvents('triggered', 'triggered', 'resolved', 'triggered', 'resolved');
  // It was not called since the end that it was told of.
  expect(second.events).toEqual(['triggered', 'resolved']);
  second.close();
});

test('an alert that was acknowledged and set back while silenced pages after the silence', async () => {
  const { id } = await silence();
  await send('db');
  await untilState(1, 'suppressed');
  await team.setStatus(1, 'acknowledged');
  await untilState(1, 'closed');
  await team.setStatus(1, 'triggered');
  await untilState(1, 'suppressed');
  await api('DELETE', `silences/${id}`);
  await untilEvents('triggered');
});

test('a policy is kept while it pages', async () => {
  await send('db');
  await untilEvents('triggered');
  await api('PUT', 'alert_routes', [{ name: 'default', policy_id: null }]);
  const path = `/projects/${team.project}/escalation_policies/${team.policy}`;
  expect(await service.api(ann, 'DELETE', path)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('Ops still pages 1 alert') },
  });
  await send('db', { end_time: '2026-11-21' });
  await untilEvents('triggered', 'resolved');
  expect((await service.api(ann, 'DELETE', path)).status).toBe(204);
});

test('an acknowledged page is left alone by silences', async () => {
  await send('db');
  await untilEvents('triggered');
  await team.setStatus(1, 'acknowledged');
  await untilState(1, 'acknowledged');
  const { id } = await silence();
  await api('DELETE', `silences/${id}`);
  await send('web');
  await untilEvents('triggered', 'acknowledged', 'triggered');
  expect(await stateOf(1)).toBe('acknowledged');
});

test('a silence that begins and ends by the clock stops and resumes a page at these moments', async () => {
  await send('db');
  await untilEvents('triggered');
  const [starts, ends] = [Date.now() + 1000, Date.now() + 2500];
  await api('POST', 'silences', {
    matchers: ['service="db"'],
    starts_at: new Date(starts).toISOString(),
    ends_at: new Date(ends).toISOString(),
  });
  await untilState(1, 'suppressed');
  expect(Date.now()).toBeGreaterThanOrEqual(starts);
  const escalated = await service.api(ann, 'POST', `/projects/${team.project}/alerts/1/escalate`);
  expect(escalated.status).toBe(409);
  await untilEvents('triggered', 'triggered');
  expect(Date.now()).toBeGreaterThanOrEqual(ends);
});

test('an alert of a deleted integration is still silenced by the name of it', async () => {
  await api('POST', 'silences', { matchers: ['cm_integration="Tool"'], ends_at: later(60) });
  await send('db');
  await untilState(1, 'suppressed');
  await api('DELETE', `integrations/${team.source.id}`);
  const another = await api('POST', 'silences', { matchers: ['service="web"'], ends_at: later(60) });
  await api('DELETE', `silences/${another.id}`);
  await new Promise((done) => setTimeout(done, 500));
  expect(await stateOf(1)).toBe('suppressed');
});

test('an alert that ends while it is silenced was never paged', async () => {
  await silence();
  await send('db');
  await untilState(1, 'suppressed');
  await send('db', { end_time: '2026-11-21' });
  await untilState(1, 'closed');
  expect(receiver.received).toEqual([]);
  const { log } = await team.pagesOf(1);
  expect(log.at(-1)).toMatchObject({ what: 'resolved before anybody was paged' });
});

test('a maintenance window does the same, and a silence that replaces it leaves no gap', async () => {
  const window = await api('POST', 'maintenance_windows', { name: 'Move', matchers: ['service="db"'] });
  await send('db');
  await untilState(1, 'suppressed');
  expect((await team.pagesOf(1)).pages[0].suppressed_by).toEqual([window.id]);
  const { id } = await silence();
  await api('DELETE', `maintenance_windows/${window.id}`);
  const suppressedBy = async () => `${(await team.pagesOf(1)).pages[0].suppressed_by}`;
  await until('the silence alone suppresses it', async () => (await suppressedBy()) === id);
  expect(receiver.received).toEqual([]);
});

test('an alert follows all routes up to the first that takes it, and pages each policy once', async () => {
  const [storage, everybody] = await Promise.all(
    ['Storage', 'Everybody'].map((name) =>
      api('POST', 'escalation_policies', {
        name,
        steps: [{ targets: [{ type: 'user', id: ann.user.id }], delay_minutes: 1, important: false }],
      }),
    ),
  );
  await api('PUT', 'alert_routes', [
    { name: 'storage', matchers: ['service="db"'], policy_id: storage.id, delay_seconds: 0, continues: true },
    { name: 'critical', matchers: ['cm_severity="critical"'], policy_id: everybody.id, delay_seconds: 0 },
    { name: 'default', policy_id: team.policy, delay_seconds: 0 },
  ]);
  await send('db', { severity: 'low' });
  await untilEvents('triggered');
  const routes = async () =>
    (await team.pagesOf(1)).pages
      .map(({ route }: { route: string }) => route)
      .sort()
      .join();
  expect(await routes()).toBe('default,storage');
  await send('db', { severity: 'critical' });
  await until(
    'the raised alert pages everybody, too',
    async () => (await routes()) === 'critical,default,storage',
  );
});
