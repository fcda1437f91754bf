/**
 * 10,000 alerts in a minute with five people on call: how many messages each gets, how soon the first one comes, and
 * whether one click acknowledges all: `node test/soak/page-storm.ts [alerts]`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { PageReceiver } from '../serve/alerts/paging/team.ts';
import { type Person, Service } from '../serve/alerts/service.ts';

const ALERTS = Number(process.argv[2] ?? 10_000);
const PEOPLE = 5;
const ITEMS = 100;
const MESSAGES_MAX = 20;
const FIRST_MS_MAX = 5000;
const STORM_MS = 60_000;

const service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' });
const ann = await service.person('ann');
const project = await service.project(ann);
const source = await service.source(ann, project, { type: 'PROMETHEUS' });
const receivers: PageReceiver[] = [];
const people: Person[] = [];
for (let i = 0; i < PEOPLE; i++) {
  const person = i === 0 ? ann : await service.person(`person${i}`);
  if (i > 0) {
    const member = { username: person.user.username, access_level: 30 };
    const { status, body } = await service.api(ann, 'POST', `/projects/${project}/members`, member);
    if (status !== 201) throw new Error(JSON.stringify(body));
  }
  const receiver = await PageReceiver.open();
  await provedContact(person, receiver);
  receivers.push(receiver);
  people.push(person);
}
const targets = people.map(({ user }) => ({ type: 'user', id: user.id }));
const policy = await service.api(ann, 'POST', `/projects/${project}/escalation_policies`, {
  name: 'All',
  steps: [{ targets, delay_minutes: 60, important: false }],
});
const routes = [{ name: 'default', policy_id: policy.body.id, delay_seconds: 0 }];
await service.api(ann, 'PUT', `/projects/${project}/alert_routes`, routes);

/** A contact of a person at a receiver, proved by the code that it gets. */
async function provedContact(person: Person, receiver: PageReceiver): Promise<void> {
  const made = await service.api(person, 'POST', '/user/contact_methods', {
    type: 'webhook',
    address: receiver.url,
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const code = receiver.received.at(-1)?.body.code;
  const path = `/user/contact_methods/${made.body.id}/verify`;
  const proved = await service.api(person, 'POST', path, { code });
  if (proved.status >= 300) throw new Error(JSON.stringify(proved.body));
  receiver.received.length = 0;
}

const began = Date.now();
for (let i = 0; i < ALERTS; i += ITEMS) {
  const alerts = Array.from({ length: ITEMS }, (_, n) => ({
    status: 'firing',
    labels: { alertname: `Rule ${i + n}`, severity: 'critical' },
    annotations: {},
    startsAt: new Date().toISOString(),
    endsAt: '0001-01-01T00:00:00Z',
    generatorURL: 'http://p/graph',
    fingerprint: `f${i + n}`,
  }));
  const body = {
    ...{ receiver: 'rx', status: 'firing', alerts, groupLabels: {}, commonLabels: {}, commonAnnotations: {} },
    ...{ externalURL: 'http://a', version: '4', groupKey: `{}:{a="${i}"}`, truncatedAlerts: 0 },
  };
  const { status } = await service.send(source, body);
  if (status !== 200) throw new Error(`answered with ${status}`);
  await pause(Math.max(0, began + (STORM_MS * i) / ALERTS - Date.now()));
}
const countsOf = ({ received }: PageReceiver) =>
  received.reduce((sum, { body }) => sum + body.alerts.length + body.more, 0);
const deadline = Date.now() + 5 * 60_000;
while (Date.now() < deadline && receivers.some((receiver) => countsOf(receiver) < ALERTS)) await pause(1000);

const faults: string[] = [];
receivers.forEach((receiver, i) => {
  const messages = receiver.received.length;
  const first = (receiver.received[0]?.at ?? Number.POSITIVE_INFINITY) - began;
  process.stdout.write(
    `person ${i}: ${messages} messages, ${countsOf(receiver)} alerts, the first after ${first} ms\n`,
  );
  if (messages > MESSAGES_MAX) faults.push(`person ${i} got ${messages} messages`);
  if (countsOf(receiver) !== ALERTS) faults.push(`person ${i} was told of ${countsOf(receiver)} alerts`);
  if (first > FIRST_MS_MAX) faults.push(`person ${i} was told after ${first} ms`);
});

// The message with the most alerts: one click acknowledges them all.
const largest = receivers[0]?.received.reduce((a, b) => (b.body.more > a.body.more ? b : a));
if (largest) {
  const path = new URL(largest.body.acknowledge_url, 'http://localhost').pathname;
  const shown = await service.app.inject({ url: path });
  const cookie = String(shown.headers['set-cookie']).split(';')[0] ?? '';
  const token = /name="form_token" value="([^"]+)"/.exec(shown.body)?.[1] ?? '';
  const clicked = Date.now();
  const done = await service.app.inject({
    method: 'POST',
    url: path,
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ form_token: token, action: 'acknowledge' }).toString(),
  });
  const all = largest.body.alerts.length + largest.body.more;
  const listed = await service.api(ann, 'GET', `/projects/${project}/alerts?status=acknowledged&per_page=1`);
  const acknowledged = Number(listed.headers['x-total']);
  process.stdout.write(
    `a click on ${all} alerts: ${done.statusCode}, ${acknowledged} acknowledged in ${Date.now() - clicked} ms\n`,
  );
  if (acknowledged !== all) faults.push(`${acknowledged} of ${all} alerts were acknowledged`);
}
for (const fault of faults) process.stdout.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
for (const receiver of receivers) receiver.close();
await service.close();
