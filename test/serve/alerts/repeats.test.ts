import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { firing, prometheusBody } from './made.ts';
import { Receiver } from './receiver.ts';
import { type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let receiver: Receiver;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', ALERT_RETRY_WINDOW_SECONDS: '0' });
  ann = await service.person('ann');
});
beforeEach(async () => {
  receiver = await Receiver.open();
});
afterEach(() => receiver.close());
afterAll(() => service?.close());

async function opened(fields: object = {}): Promise<Source> {
  const project = await service.project(ann, { creates_incidents: true, ...fields });
  await service.api(ann, 'POST', `/projects/${project}/hooks`, { url: receiver.url });
  return service.source(ann, project);
}
const alertOf = async ({ project }: Source, iid = 1) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts/${iid}`)).body;
const outcomesOf = async ({ project }: Source) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts/1/history`)).body
    .map(({ outcome }: { outcome: string }) => outcome)
    .reverse();
const setStatus = ({ project }: Source, status: string) =>
  service.api(ann, 'PUT', `/projects/${project}/alerts/1`, { status });
const incidentOf = async ({ project }: Source) =>
  (await service.api(ann, 'GET', `/projects/${project}/incidents`)).body[0];
const untilIncident = (source: Source, wanted: object) =>
  until(`the incident is ${JSON.stringify(wanted)}`, async () => {
    const incident = (await incidentOf(source)) ?? {};
    return Object.entries(wanted).every(([name, value]) => incident[name] === value);
  });
const over = { end_time: '2026-11-21' };

describe('a repeat', () => {
  test('shows its title, description and payload', async () => {
    const source = await opened();
    await service.send(source, { fingerprint: 'f', title: 'first', description: '80 %', load: 80 });
    await service.send(source, { fingerprint: 'f', title: 'second', description: '98 %', load: 98 });
    await setStatus(source, 'acknowledged');
    expect(await alertOf(source)).toMatchObject({
      ...{ title: 'second', description: '98 %', event_count: 2 },
      payload: { fingerprint: 'f', title: 'second', description: '98 %', load: 98 },
    });
  });

  test('of the Prometheus format shows its own item of the newest delivery', async () => {
    const source = await opened();
    const item = (fingerprint: string, value: string) =>
      firing({ fingerprint, annotations: { summary: fingerprint, value } });
    await service.send(source, prometheusBody([item('one', '1'), item('two', '1')]));
    await service.send(source, prometheusBody([item('two', '2'), item('three', '2'), item('one', '2')]));
    for (const iid of [1, 2, 3])
      expect((await alertOf(source, iid)).other_annotations, `alert ${iid}`).toEqual({ value: '2' });
    expect((await alertOf(source, 1)).payload.fingerprint).toBe('one');
  });

  test('that ends the alert, is a retry, or belongs to the next alert shows nothing on it', async () => {
    const source = await opened();
    await service.send(source, { fingerprint: 'f', title: 'fires' }, { 'idempotency-key': 'k' });
    await service.send(source, { fingerprint: 'f', title: 'fires' }, { 'idempotency-key': 'k' });
    await service.send(source, { fingerprint: 'f', title: 'over', ...over });
    await service.send(source, { fingerprint: 'f', title: 'fires again' });
    expect(await alertOf(source)).toMatchObject({ title: 'fires', payload: { title: 'fires' } });
    expect(await alertOf(source, 2)).toMatchObject({ payload: { title: 'fires again' } });
  });

  test('that raises the severity is an event of webhooks, incidents and the history', async () => {
    const source = await opened();
    for (const severity of ['low', 'low', 'high', 'medium', 'critical'])
      await service.send(source, { fingerprint: 'f', title: 'worse', severity });
    await untilIncident(source, { severity: 'critical', state: 'opened' });
    await until('webhooks are told', () => receiver.accepted.length === 3);
    expect(receiver.accepted.map(({ event }) => event)).toEqual(['created', 'raised', 'raised']);
    expect(receiver.accepted.at(-1)?.alert).toMatchObject({ severity: 'critical', event_count: 5 });
    expect((await outcomesOf(source)).filter((outcome: string) => outcome !== 'changed')).toEqual([
      ...['created', 'grouped', 'raised', 'grouped', 'raised'],
    ]);
  });

  test('raises the incident that a member made, and none that is not there', async () => {
    const source = await opened({ creates_incidents: false });
    await service.send(source, { fingerprint: 'f', severity: 'low' });
    await service.send(source, { fingerprint: 'f', severity: 'medium' });
    await until('webhooks are told', () => receiver.accepted.length === 2);
    expect(await incidentOf(source)).toBeUndefined();
    await service.api(ann, 'POST', `/projects/${source.project}/alerts/1/incident`);
    expect(await incidentOf(source)).toMatchObject({ severity: 'medium' });
    await service.send(source, { fingerprint: 'f', severity: 'critical' });
    await untilIncident(source, { severity: 'critical' });
  });

  test('that raises and ends the alert in one delivery raises and closes its incident', async () => {
    const source = await opened();
    const item = (severity: string, status = 'firing') =>
      firing({ status, labels: { alertname: 'A', severity }, endsAt: '2026-11-21T04:00:00Z' });
    await service.send(source, prometheusBody([item('s4')]));
    await untilIncident(source, { severity: 'low' });
    await service.send(source, prometheusBody([item('s1'), item('s1', 'resolved')]));
    await untilIncident(source, { severity: 'critical', state: 'closed' });
  });
});

describe('an alert that is reopened', () => {
  test.each(['triggered', 'acknowledged', 'ignored'])('as %s reopens its incident', async (status) => {
    const source = await opened();
    await service.send(source, { title: 'again' });
    await service.send(source, { title: 'again', ...over });
    await untilIncident(source, { state: 'closed' });
    await setStatus(source, status);
    await untilIncident(source, { state: 'opened', closed_at: null });
    await service.send(source, { title: 'again', ...over });
    await untilIncident(source, { state: 'closed' });
  });

  test('reopens the incident that a member closed, also where incidents are not closed by alerts', async () => {
    const source = await opened({ closes_incidents: false });
    await service.send(source, { title: 'closed by hand' });
    await untilIncident(source, { state: 'opened' });
    const { iid } = await incidentOf(source);
    const path = `/projects/${source.project}/incidents/${iid}`;
    expect((await service.api(ann, 'PUT', path, { state_event: 'close' })).status).toBe(200);
    expect((await alertOf(source)).status).toBe('resolved');
    await setStatus(source, 'triggered');
    await untilIncident(source, { state: 'opened' });
  });

  test('leaves the incident closed that a member closes afterwards', async () => {
    const source = await opened();
    await service.send(source, { title: 'both' });
    await service.send(source, { title: 'both', ...over });
    await untilIncident(source, { state: 'closed' });
    const { iid } = await incidentOf(source);
    await setStatus(source, 'triggered');
    const path = `/projects/${source.project}/incidents/${iid}`;
    await service.api(ann, 'PUT', path, { state_event: 'close' });
    await setStatus(source, 'resolved');
    await service.send(source, { title: 'the next alert' });
    await until('its incident is there', async () => (await incidentOf(source)).iid === 2);
    const { body } = await service.api(ann, 'GET', path);
    expect(body).toMatchObject({ state: 'closed' });
  });

  test('is told to webhooks only where it is acknowledged', async () => {
    const source = await opened();
    await service.send(source, { title: 'told' });
    for (const status of ['resolved', 'triggered', 'resolved', 'acknowledged', 'triggered'])
      await setStatus(source, status);
    await service.send(source, { title: 'told', ...over });
    await until('webhooks are told', () => receiver.accepted.length === 5);
    expect(receiver.accepted.map(({ event }) => event)).toEqual([
      ...['created', 'resolved', 'resolved', 'acknowledged', 'resolved'],
    ]);
  });
});
