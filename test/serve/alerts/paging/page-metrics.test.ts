import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../infra/ports/opened.ts';
import { type Person, Service } from '../service.ts';
import { PageReceiver, Team } from './team.ts';

let service: Service;
let ann: Person;
let receiver: PageReceiver;
beforeAll(async () => {
  receiver = await PageReceiver.open();
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', PAGE_BUNDLE_SECONDS: '0' });
  ann = await service.person('ann');
});
afterAll(async () => {
  await service?.close();
  receiver.close();
});

/** The value of a sample, by its name and labels as they are written. */
async function sample(series: string): Promise<number | undefined> {
  const { body } = await service.app.inject({ url: '/metrics' });
  const line = body.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

const untilSample = (series: string, value: number) =>
  until(`${series} is ${value}`, async () => (await sample(series)) === value);

const ATTEMPTS = 'chain_metrics_page_notifications_total';
const UNREACHED = 'chain_metrics_page_steps_unreached_total';
const UNROUTED = 'chain_metrics_alerts_unrouted_total';

test('attempts and their lateness are counted by result and kind', async () => {
  const team = await Team.open(service, ann, { steps: [{ channels: [receiver.url] }] });
  await service.send(team.source, { title: 'Disk full', fingerprint: 'disk' });
  await untilSample(`${ATTEMPTS}{channel="webhook",result="accepted"}`, 1);
  expect(await sample('chain_metrics_page_lateness_seconds_count{kind="first"}')).toBe(1);
  receiver.answer = () => 410;
  await team.setStatus(1, 'acknowledged');
  await untilSample(`${ATTEMPTS}{channel="webhook",result="refused"}`, 1);
  receiver.answer = () => 200;
  expect(await sample('chain_metrics_page_lateness_seconds_count{kind="status"}')).toBe(0);
});

test('steps that reach nobody are counted by the reason', async () => {
  const steps = [{ channels: [], users: [ann.user.id] }, { channels: [`${receiver.url}/2`] }];
  const team = await Team.open(service, ann, { steps });
  receiver.answer = () => 410;
  await service.send(team.source, { title: 'Disk full', fingerprint: 'disk' });
  await untilSample(`${UNREACHED}{reason="nobody"}`, 1);
  await untilSample(`${UNREACHED}{reason="refused"}`, 1);
  expect(await sample(`${UNREACHED}{reason="not_accepted"}`)).toBe(0);
});

test('an alert is unrouted only if its project has a policy', async () => {
  const without = await service.source(ann, await service.project(ann));
  await service.send(without, { title: 'No policy', fingerprint: 'a' });
  const project = await service.project(ann);
  const source = await service.source(ann, project);
  const { status } = await service.api(ann, 'POST', `/projects/${project}/escalation_policies`, {
    name: 'Ops',
    steps: [{ targets: [{ type: 'user', id: ann.user.id }], delay_minutes: 1, important: false }],
  });
  expect(status).toBe(201);
  await service.send(source, { title: 'No route', fingerprint: 'b' });
  await untilSample(UNROUTED, 1);
});
