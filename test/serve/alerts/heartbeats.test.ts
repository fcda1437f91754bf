import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Beating } from './beating.ts';
import type { Source } from './service.ts';

const SILENT = { title: 'Tool is silent', status: 'triggered', event_count: 1 };
const RESOLVED = { ...SILENT, status: 'resolved' };

let beating: Beating;
let source: Source;
beforeAll(async () => {
  beating = await Beating.open();
});
afterAll(() => beating?.close());
beforeEach(async () => {
  source = await beating.source();
});

const alerts = () => beating.alerts(source);
const change = (fields: object) => beating.change(source, fields);

describe('a heartbeat', () => {
  test.each([
    ['is told', false, ['the store is closed']],
    ['is not told while its server stops', true, []],
  ])('whose check fails %s', async (_, isStopped, told) => {
    const { heartbeats } = await beating.server(false);
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
    const one = await beating.server(false);
    await one.heartbeats.check();
    await beating.pass(4, one);
    expect(await alerts()).toEqual([]);
    await beating.pass(3, one);
    await (await beating.server(false)).heartbeats.check();
    expect(await alerts()).toMatchObject([SILENT]);
    beating.wait(1);
    await beating.service.send(source, { title: 'alive', end_time: '2026-11-21' });
    await beating.untilStored(source, '');
    await one.heartbeats.check();
    expect(await alerts()).toMatchObject([RESOLVED]);
  });

  test('that fell silent before a restart resolves its alert when the source is heard after it', async () => {
    const before = await beating.server(false);
    await before.heartbeats.check();
    await beating.pass(5, before);
    const after = await beating.server(true);
    await beating.pass(7, after);
    expect(await alerts()).toMatchObject([SILENT]);
    after.beats.record((await after.cache.find(source.id)) as never, []);
    await beating.untilStored(source, '');
    await beating.pass(1, after);
    expect(await alerts()).toMatchObject([RESOLVED]);
    await beating.pass(5, after);
    expect(await alerts()).toMatchObject([SILENT, RESOLVED]);
  });

  test('creates no second alert of one silence, neither after a user resolved it nor after a restart', async () => {
    const before = await beating.server(false);
    await before.heartbeats.check();
    await beating.pass(5, before);
    await beating.api('PUT', source, '/alerts/1', { status: 'resolved' });
    await beating.pass(6, before);
    await beating.pass(6, await beating.server(true));
    expect(await alerts()).toMatchObject([RESOLVED]);
  });

  test('gives a source a whole period after a time in which no server listened', async () => {
    const before = await beating.server(false);
    await before.heartbeats.check();
    beating.wait(60);
    const after = await beating.server(true);
    await after.heartbeats.check();
    await beating.pass(4, after);
    expect(await alerts()).toEqual([]);
    await beating.pass(1, after);
    expect(await alerts()).toMatchObject([SILENT]);
  });

  test.each([
    ['deactivated', () => change({ active: false })],
    ['without a heartbeat', () => change({ heartbeat_minutes: 0 })],
    ['deleted', () => beating.api('DELETE', source, `/integrations/${source.id}`)],
  ])('resolves its alert when the integration is %s', async (_name, end) => {
    const one = await beating.server(false);
    await one.heartbeats.check();
    await beating.pass(5, one);
    expect(await alerts()).toMatchObject([SILENT]);
    await end();
    await beating.pass(1, await beating.server(true));
    expect(await alerts()).toMatchObject([RESOLVED]);
  });

  test('counts anew when its integration is activated again', async () => {
    const one = await beating.server(false);
    await one.heartbeats.check();
    await beating.pass(5, one);
    await change({ active: false });
    await beating.pass(1, one);
    await change({ active: true });
    await beating.pass(5, one);
    expect(await alerts()).toMatchObject([RESOLVED]);
    await beating.pass(1, one);
    expect(await alerts()).toMatchObject([SILENT, RESOLVED]);
  });

  test('is checked also while the alert of another project cannot be delivered', async () => {
    const pipeline = await beating.service.pipeline.alerts();
    const other = source;
    source = await beating.source();
    const deliver = pipeline.deliver.bind(pipeline);
    pipeline.deliver = async (request, ...more) => {
      if (request.project === other.project) throw new Error('its partition has no owner');
      return deliver(request, ...more);
    };
    const one = await beating.server(false);
    await one.heartbeats.check();
    await beating.pass(4, one);
    beating.wait(1);
    await expect(one.heartbeats.check()).rejects.toThrow('its partition has no owner');
    pipeline.deliver = deliver;
    expect(await alerts()).toMatchObject([SILENT]);
  });
});
