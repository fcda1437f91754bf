import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { until } from '../../../infra/ports/opened.ts';
import { type Person, Service } from '../service.ts';
import { PageReceiver, Team } from './team.ts';

let service: Service;
let ann: Person;
let receiver: PageReceiver;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', PAGE_BUNDLE_SECONDS: '0' });
  ann = await service.person('ann');
});
beforeEach(async () => {
  receiver = await PageReceiver.open();
});
afterEach(() => receiver.close());
afterAll(() => service?.close());

const untilEvents = (...wanted: string[]) =>
  until(`the channel was told ${wanted.join(', ')}`, async () => `${receiver.events}` === `${wanted}`);

test('an alert pages a channel, which is told of the acknowledgement and the end', async () => {
  const team = await Team.open(service, ann, { steps: [{ channels: [receiver.url] }] });
  await service.send(team.source, { title: 'Disk full', fingerprint: 'disk', severity: 'critical' });
  await untilEvents('triggered');
  const [first] = receiver.received;
  expect(first?.body).toMatchObject({
    object_kind: 'page',
    page: { round: 1, step: 1, policy: 'Ops' },
  });
  await team.setStatus(1, 'acknowledged');
  await untilEvents('triggered', 'acknowledged');
  await service.send(team.source, { title: 'Disk full', fingerprint: 'disk', end_time: '2026-11-21' });
  await untilEvents('triggered', 'acknowledged', 'resolved');
  const { pages, notifications, log } = await team.pagesOf(1);
  expect(pages).toMatchObject([
    { state: 'closed', round: 1, step: 1, acknowledged_by_id: Number(ann.user.id) },
  ]);
  expect(notifications.map(({ kind, state }: { kind: string; state: string }) => [kind, state])).toEqual([
    ['triggered', 'sent'],
    ['acknowledged', 'sent'],
    ['resolved', 'sent'],
  ]);
  expect(log.map(({ what }: { what: string }) => what)).toEqual([...['step 1', 'acknowledged', 'resolved']]);
});

test('an alert that was there before the route is never paged', async () => {
  const project = await service.project(ann);
  const source = await service.source(ann, project);
  await service.send(source, { title: 'Old', fingerprint: 'old' });
  const policy = await service.api(ann, 'POST', `/projects/${project}/escalation_policies`, {
    name: 'Ops',
    steps: [{ targets: [{ type: 'user', id: ann.user.id }], delay_minutes: 1, important: false }],
  });
  const routes = [{ name: 'default', policy_id: policy.body.id, delay_seconds: 0 }];
  await service.api(ann, 'PUT', `/projects/${project}/alert_routes`, routes);
  await service.send(source, { title: 'Old', fingerprint: 'old' });
  await service.send(source, { title: 'New', fingerprint: 'new' });
  const pages = () => service.api(ann, 'GET', `/projects/${project}/pages`);
  await until('the new alert pages', async () => (await pages()).body.length > 0);
  expect((await pages()).body).toMatchObject([{ alert_iid: 2 }]);
});

test('escalates at once when asked, and refuses when nobody is paged', async () => {
  const steps = [{ channels: [receiver.url] }, { channels: [`${receiver.url}/2`], delay_minutes: 60 }];
  const team = await Team.open(service, ann, { steps });
  await service.send(team.source, { title: 'Disk full', fingerprint: 'disk' });
  await untilEvents('triggered');
  const escalate = () => service.api(ann, 'POST', `/projects/${team.project}/alerts/1/escalate`);
  expect((await escalate()).status).toBe(204);
  await untilEvents('triggered', 'triggered');
  const acknowledged = await service.api(ann, 'POST', `/projects/${team.project}/alerts/1/acknowledge`);
  expect(acknowledged.body.status).toBe('acknowledged');
  await until(
    'the page is acknowledged',
    async () => (await team.pagesOf(1)).pages[0].state === 'acknowledged',
  );
  expect((await escalate()).status).toBe(409);
});

test('an alert that ends within the delay of the route wakes nobody', async () => {
  const team = await Team.open(service, ann, { steps: [{ channels: [receiver.url] }], delaySeconds: 3600 });
  await service.send(team.source, { title: 'Blip', fingerprint: 'blip' });
  await until('the page waits', async () => (await team.pagesOf(1)).pages[0]?.state === 'waiting');
  await service.send(team.source, { title: 'Blip', fingerprint: 'blip', end_time: '2026-11-21' });
  await until('the page is closed', async () => (await team.pagesOf(1)).pages[0].state === 'closed');
  expect((await team.pagesOf(1)).notifications).toEqual([]);
  expect(receiver.received).toEqual([]);
});

test('the pages of a project end with it', async () => {
  const team = await Team.open(service, ann, { steps: [{ channels: [receiver.url] }], delaySeconds: 1 });
  await service.send(team.source, { title: 'Disk full', fingerprint: 'disk' });
  await until('the page waits', async () => (await team.pagesOf(1)).pages.length > 0);
  await service.api(ann, 'DELETE', `/projects/${team.project}`);
  const states = () =>
    service.pipeline.runtime.store.rows<{ state: string }>(
      sql`SELECT state FROM chain_metrics.pages FINAL WHERE project = ${team.project}`,
    );
  await until('the page is closed', async () => (await states())[0]?.state === 'closed');
  expect(receiver.received).toEqual([]);
});
