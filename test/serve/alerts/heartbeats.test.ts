import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { type AlertDomain, openAlertDomain } from '../../../serve/alerts/composition/domain.ts';
import { alertMeasures } from '../../../serve/alerts/composition/measures.ts';
import { type Person, Service, type Source } from './service.ts';

const MINUTE = 60_000;
const SILENT = { title: 'Tool is silent', status: 'triggered', event_count: 1 };
const RESOLVED = { ...SILENT, status: 'resolved' };

let now = Date.UTC(2026, 10, 21);
let service: Service;
let ann: Person;
let source: Source;
beforeAll(async () => {
  // The server makes no checks of its own: the lock of one that runs would let those of the tests out.
  vi.useFakeTimers({ toFake: ['setInterval'] });
  service = await Service.open({ LOG_LEVEL: 'fatal' }, { now: () => now });
  vi.useRealTimers();
  ann = await service.person('ann');
});
afterAll(() => service?.close());
beforeEach(async () => {
  source = await service.source(ann, await service.project(ann), { heartbeat_minutes: 5 });
});

/** A server that shares the memory of the others, or one that starts when all had ended. */
async function server(isFirst: boolean): Promise<AlertDomain> {
  const { accounts } = service;
  const { config: settings, runtime } = service.pipeline;
  const keyValue = isFirst ? new EmbeddedKeyValue({ now: () => now }) : runtime.keyValue;
  const pipeline = await service.pipeline.alerts();
  const options = { accounts, pipeline, settings, publicUrl: () => '', measures: alertMeasures() };
  return openAlertDomain({ ...options, runtime: { ...runtime, keyValue } });
}

const alerts = async () => (await service.api(ann, 'GET', `/projects/${source.project}/alerts`)).body;
const change = (fields: object) =>
  service.api(ann, 'PUT', `/projects/${source.project}/integrations/${source.id}`, fields);

async function pass(minutes: number, { heartbeats }: AlertDomain): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    now += MINUTE;
    await heartbeats.check();
  }
}

describe('a heartbeat', () => {
  test.each([
    ['is told', false, ['the store is closed']],
    ['is not told while its server stops', true, []],
  ])('whose check fails %s', async (_, isStopped, told) => {
    const { heartbeats } = await server(false);
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    heartbeats.check = () => {
      begun.resolve();
      return ended.promise;
    };
    const failures: string[] = [];
    heartbeats.start((error) => failures.push((error as Error).message), 1);
    await begun.promise;
    if (isStopped) heartbeats.stop();
    ended.reject(new Error('the store is closed'));
    await new Promise((turn) => setImmediate(turn));
    heartbeats.stop();
    expect([...new Set(failures)]).toEqual(told);
  });

  test('creates one alert when a source falls silent, and resolves it at its next request', async () => {
    const one = await server(false);
    await one.heartbeats.check();
    await pass(4, one);
    expect(await alerts()).toEqual([]);
    await pass(3, one);
    await (await server(false)).heartbeats.check();
    expect(await alerts()).toMatchObject([SILENT]);
    now += MINUTE;
    await service.send(source, { title: 'alive', end_time: '2026-11-21' });
    await one.heartbeats.check();
    expect(await alerts()).toMatchObject([RESOLVED]);
  });

  test('that fell silent before a restart resolves its alert when the source is heard after it', async () => {
    const before = await server(false);
    await before.heartbeats.check();
    await pass(5, before);
    const after = await server(true);
    await pass(7, after);
    expect(await alerts()).toMatchObject([SILENT]);
    after.heartbeats.heard((await after.cache.find(source.id)) as never);
    await pass(1, after);
    expect(await alerts()).toMatchObject([RESOLVED]);
    await pass(5, after);
    expect(await alerts()).toMatchObject([SILENT, RESOLVED]);
  });

  test('creates no second alert of one silence, neither after a user resolved it nor after a restart', async () => {
    const before = await server(false);
    await before.heartbeats.check();
    await pass(5, before);
    await service.api(ann, 'PUT', `/projects/${source.project}/alerts/1`, { status: 'resolved' });
    await pass(6, before);
    await pass(6, await server(true));
    expect(await alerts()).toMatchObject([RESOLVED]);
  });

  test('gives a source a whole period after a time in which no server listened', async () => {
    const before = await server(false);
    await before.heartbeats.check();
    now += 60 * MINUTE;
    const after = await server(true);
    await after.heartbeats.check();
    await pass(4, after);
    expect(await alerts()).toEqual([]);
    await pass(1, after);
    expect(await alerts()).toMatchObject([SILENT]);
  });

  test.each([
    ['deactivated', () => change({ active: false })],
    ['without a heartbeat', () => change({ heartbeat_minutes: 0 })],
    ['deleted', () => service.api(ann, 'DELETE', `/projects/${source.project}/integrations/${source.id}`)],
  ])('resolves its alert when the integration is %s', async (_name, end) => {
    const one = await server(false);
    await one.heartbeats.check();
    await pass(5, one);
    expect(await alerts()).toMatchObject([SILENT]);
    await end();
    await pass(1, await server(true));
    expect(await alerts()).toMatchObject([RESOLVED]);
  });

  test('counts anew when its integration is activated again', async () => {
    const one = await server(false);
    await one.heartbeats.check();
    await pass(5, one);
    await change({ active: false });
    await pass(1, one);
    await change({ active: true });
    await pass(5, one);
    expect(await alerts()).toMatchObject([RESOLVED]);
    await pass(1, one);
    expect(await alerts()).toMatchObject([SILENT, RESOLVED]);
  });

  test('is checked also while the alert of another project cannot be delivered', async () => {
    const pipeline = await service.pipeline.alerts();
    const other = source;
    source = await service.source(ann, await service.project(ann), { heartbeat_minutes: 5 });
    const deliver = pipeline.deliver.bind(pipeline);
    pipeline.deliver = async (request, ...more) => {
      if (request.project === other.project) throw new Error('its partition has no owner');
      return deliver(request, ...more);
    };
    const one = await server(false);
    await one.heartbeats.check();
    await pass(4, one);
    now += MINUTE;
    await expect(one.heartbeats.check()).rejects.toThrow('its partition has no owner');
    pipeline.deliver = deliver;
    expect(await alerts()).toMatchObject([SILENT]);
  });
});
