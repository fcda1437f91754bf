import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let project: number;
let source: Source;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
  project = await service.project(ann);
  source = await service.source(ann, project);
});
afterAll(() => service?.close());

const attributes = (id: string) => ({
  specversion: '1.0',
  id,
  source: '/nodes/7',
  type: 'com.example.disk',
  subject: 'Größe "C"',
});
const STRUCTURED = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
const BATCH = { 'content-type': 'application/cloudevents-batch+json' };
const binary = (id: string) => ({
  'ce-specversion': '1.0',
  'ce-id': id,
  'ce-source': '/nodes/7',
  'ce-type': 'com.example.disk',
  'ce-subject': '"Gr%C3%B6%C3%9Fe \\"C\\""',
});

const alertOf = async (iid: number) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts/${iid}`)).body;

async function dryRun() {
  const pipeline = await service.pipeline.alerts();
  return pipeline.replay({ projects: [project], dryRun: true });
}

test('an event is the same alert in its body and in headers', async () => {
  const data = { title: 'Disk is full', used: 98.5 };
  const [{ iid }] = (await service.send(source, { ...attributes('e1'), data }, STRUCTURED)).body;
  const alert = await alertOf(iid);
  expect(alert.title).toBe('Disk is full');
  expect(alert.labels).toEqual(['source=/nodes/7', 'subject=Größe "C"', 'type=com.example.disk']);
  // The same event counts once, another one of the same problem once more.
  expect(await service.send(source, data, binary('e1'))).toMatchObject({ status: 200, body: [{ iid }] });
  expect(await service.send(source, data, binary('e2'))).toMatchObject({ status: 200, body: [] });
  const repeated = await alertOf(iid);
  expect(repeated).toMatchObject({ event_count: 2, labels: alert.labels });
  expect(repeated.payload).toEqual({ ...attributes('e2'), datacontenttype: 'application/json', data });
  expect(await dryRun()).toMatchObject([{ refused: null, differing: 0 }]);
});

test('a batch is one request with several alerts, each with its own payload', async () => {
  const events = ['a', 'b'].map((title) => ({ ...attributes(title), data: { title } }));
  const { status, body } = await service.send(source, [...events, { id: 'no event' }], BATCH);
  expect(status).toBe(200);
  expect(body.map(({ title }: { title: string }) => title)).toEqual(['a', 'b']);
  expect((await alertOf(body[1].iid)).payload).toEqual(events[1]);
  expect(await service.send(source, events, BATCH)).toMatchObject({ status: 200, body });
  expect(await alertOf(body[1].iid)).toMatchObject({ event_count: 1 });
  expect(await dryRun()).toMatchObject([{ refused: null, differing: 0 }]);
});

test('a binary event without a body has no data', async () => {
  const [{ title }] = (await service.send(source, '', binary('empty'))).body;
  expect(title).toBe('com.example.disk');
});

test.each<[string, unknown, Record<string, string>, number, string]>([
  ['without an id', {}, { 'ce-specversion': '1.0' }, 422, 'id, source, type: required'],
  ['whose data is no JSON', '{', binary('broken'), 400, 'not JSON'],
  ['whose body is cut into the envelope', '{},"id":"other","x":{}', binary('cut'), 400, 'not JSON'],
  ['whose data is XML', '<a/>', { ...binary('xml'), 'content-type': 'application/xml' }, 415, 'JSON'],
  ['of another version', { specversion: '2.0' }, STRUCTURED, 422, 'specversion: expected 1.0'],
])('an event %s is refused', async (_what, body, headers, status, reason) => {
  const reply = await service.send(source, body, headers);
  expect(reply.status).toBe(status);
  expect(reply.body.message).toContain(reason);
});

test('data cannot stand in a header', async () => {
  const [{ iid }] = (
    await service.send(source, { title: 'Body' }, { ...binary('header'), 'ce-data': '{"title":"Header"}' })
  ).body;
  expect((await alertOf(iid)).payload.data).toEqual({ title: 'Body' });
});
