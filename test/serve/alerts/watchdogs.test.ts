import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WATCHDOGS_MAX } from '../../../serve/alerts/integrations/beat-recorder.ts';
import { until } from '../../infra/ports/opened.ts';
import { Beating, MINUTE } from './beating.ts';
import type { Source } from './service.ts';

const EU = { alertname: 'Watchdog', cluster: 'eu' };
const US = { alertname: 'Watchdog', cluster: 'us' };
const MISSING_EU = { title: 'Tool is silent: cluster=eu', status: 'triggered', monitoring_tool: 'Heartbeat' };
const FOUND_EU = { ...MISSING_EU, status: 'resolved' };

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
const forget = (id: string) => beating.api('DELETE', source, `/heartbeats/${id}`);

/** So many minutes, in each of which these Watchdogs beat. */
async function beat(minutes: number, sets: readonly Record<string, string>[]): Promise<void> {
  const server = await beating.server(false);
  for (let i = 0; i < minutes; i++) {
    for (const labels of sets) await beating.fire(source, labels);
    await beating.pass(1, server);
  }
}

describe('a Watchdog', () => {
  test('opens no alert: it is a beat, and each label set has its own', async () => {
    expect(await beating.fire(source, EU)).toMatchObject({ status: 200, body: [] });
    await beating.fire(source, US);
    expect(await alerts()).toEqual([]);
    const at = new Date(beating.now).toISOString();
    const watched = { type: 'watchdog', state: 'beating', last_beat_at: at, alert_iid: null };
    const found = await beating.heartbeats(source);
    expect(found).toHaveLength(2);
    expect(found).toEqual(
      expect.arrayContaining(
        ['eu', 'us'].map((cluster) => ({
          ...watched,
          id: expect.stringMatching(/^[0-9a-f]{16}$/),
          integration_id: source.id,
          labels: ['alertname=Watchdog', `cluster=${cluster}`],
        })),
      ),
    );
    const { body } = await beating.api('GET', source, `/integrations/${source.id}/deliveries`);
    expect(body.map(({ outcomes }: { outcomes: object }) => outcomes)).toEqual([
      { heartbeat: 1 },
      { heartbeat: 1 },
    ]);
  });

  test('that is missing opens one alert, which the next beat resolves, while another one goes on', async () => {
    await beat(6, [EU, US]);
    expect(await alerts()).toEqual([]);
    const last = new Date(beating.now - MINUTE).toISOString();
    await beat(4, [US]);
    expect(await alerts()).toMatchObject([
      {
        ...MISSING_EU,
        severity: 'critical',
        started_at: last,
        description: `No beat of alertname=Watchdog, cluster=eu for 5 minutes. The last one was at ${last}.`,
      },
    ]);
    expect(await beating.heartbeats(source)).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ state: 'missing', alert_iid: 1 })]),
    );
    await beat(3, [US]);
    expect(await alerts()).toHaveLength(1);
    await beat(1, [EU, US]);
    expect(await alerts()).toMatchObject([FOUND_EU]);
  });

  test('is not replaced by other alerts of its integration, and a resolved one is no beat', async () => {
    await beat(1, [EU]);
    const server = await beating.server(false);
    for (let i = 0; i < 5; i++) {
      await beating.fire(source, { alertname: 'DiskFull' });
      await beating.fire(source, EU, { status: 'resolved', endsAt: new Date(beating.now).toISOString() });
      await beating.pass(1, server);
    }
    const found = await alerts();
    expect(found.map(({ title }: { title: string }) => title).sort()).toEqual(['It broke', MISSING_EU.title]);
  });

  test('is missed after a restart, and gets a whole period after a time in which no server listened', async () => {
    await beat(1, [EU]);
    beating.wait(60);
    const after = await beating.server(true);
    await after.heartbeats.check();
    await beating.pass(4, after);
    expect(await alerts()).toEqual([]);
    await beating.pass(1, after);
    await beating.pass(2, await beating.server(true));
    expect(await alerts()).toMatchObject([MISSING_EU]);
  });

  test('is forgotten by a member, which resolves its alert; its next beat is watched again', async () => {
    await beat(1, [EU]);
    await beating.pass(5, await beating.server(false));
    expect(await alerts()).toMatchObject([MISSING_EU]);
    const [{ id = '' } = {}] = await beating.heartbeats(source);
    expect((await forget('0123456789abcdef')).status).toBe(404);
    expect((await forget(id)).status).toBe(204);
    expect(await beating.heartbeats(source)).toEqual([]);
    await beating.pass(6, await beating.server(false));
    expect(await alerts()).toMatchObject([FOUND_EU]);
    await beat(1, [EU]);
    await beating.pass(5, await beating.server(false));
    expect(await alerts()).toMatchObject([MISSING_EU, FOUND_EU]);
  });

  test('is forgotten after 30 days without a beat', async () => {
    await beat(1, [EU]);
    const server = await beating.server(false);
    await beating.pass(5, server);
    await beating.listen(29 * 24 * 60);
    await beating.pass(1, server);
    expect(await beating.heartbeats(source)).toHaveLength(1);
    await beating.listen(24 * 60);
    await beating.pass(1, server);
    expect(await beating.heartbeats(source)).toEqual([]);
    expect(await alerts()).toMatchObject([FOUND_EU]);
  });

  test.each([
    ['deleted', () => beating.api('DELETE', source, `/integrations/${source.id}`)],
    ['without matchers', () => beating.change(source, { heartbeat_matchers: '' })],
  ])('is watched no longer when its integration is %s', async (_name, end) => {
    await beat(1, [EU]);
    await beating.pass(5, await beating.server(false));
    expect(await alerts()).toMatchObject([MISSING_EU]);
    await end();
    await beating.pass(1, await beating.server(true));
    expect(await alerts()).toMatchObject([FOUND_EU]);
  });

  test('is an alert like any other in an integration without a heartbeat', async () => {
    await beating.change(source, { heartbeat_minutes: 0 });
    await beating.fire(source, EU, { note: 1 });
    expect(await alerts()).toMatchObject([{ title: 'It broke' }]);
    expect(await beating.heartbeats(source)).toEqual([]);
  });

  test('is replayed as it was decided, though its integration has other matchers by then', async () => {
    await beat(1, [EU]);
    await beating.change(source, { heartbeat_matchers: 'alertname="Other"' });
    const pipeline = await beating.service.pipeline.alerts();
    const [replayed] = await pipeline.replay({ projects: [source.project], dryRun: true });
    expect(replayed).toMatchObject({ events: 1, alerts: 0, differing: 0, refused: null });
  });

  test(`is set aside beyond ${WATCHDOGS_MAX} label sets, which the page says`, async () => {
    const numbers = Array.from({ length: WATCHDOGS_MAX + 20 }, (_, i) => i);
    await Promise.all(
      numbers.map((i) => beating.fire(source, { alertname: 'Watchdog', run: String(i) }, { note: i })),
    );
    await until('all are stored', async () => (await beating.heartbeats(source)).length >= WATCHDOGS_MAX);
    expect(await alerts()).toEqual([]);
    const domain = await beating.server(false);
    const entry = await domain.cache.find(source.id);
    await until('it is counted', async () => {
      // A beat that finds the store busy is lost; a sender beats again.
      domain.beats.record(entry as never, [{ beat: 'one more', labels: [] }]);
      return (await domain.refusals.latest(source.id)).length > 0;
    });
    expect(await domain.refusals.latest(source.id)).toMatchObject([
      { count: expect.any(Number), message: expect.stringContaining('More than 100 label sets') },
    ]);
    expect(await beating.heartbeats(source)).toHaveLength(WATCHDOGS_MAX);
  });
});

describe('POST …/heartbeat', () => {
  const post = (payload = '', more: object = {}, method: 'POST' | 'GET' = 'POST') =>
    beating.service.app.inject({
      method,
      url: `/alerts/${source.id}/heartbeat`,
      headers: { authorization: `Bearer ${source.key}`, ...more },
      ...(payload === '' ? {} : { payload }),
    });

  test('is a beat without an alert, durable when it is answered', async () => {
    const server = await beating.server(true);
    await server.heartbeats.check();
    await beating.pass(1, server);
    expect(await post()).toMatchObject({ statusCode: 200, body: '[]' });
    expect(await beating.heartbeats(source)).toMatchObject([
      { type: 'requests', last_beat_at: new Date(beating.now).toISOString() },
    ]);
    await beating.pass(5, server);
    expect(await alerts()).toMatchObject([{ title: 'Tool is silent', status: 'triggered' }]);
    await post();
    await server.heartbeats.check();
    expect(await alerts()).toMatchObject([{ status: 'resolved' }]);
  });

  test('is watched beside the Watchdogs of its integration', async () => {
    await beat(1, [EU]);
    await post();
    await beat(5, [EU]);
    expect(await beating.heartbeats(source)).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ type: 'posted', state: 'missing', labels: [] })]),
    );
    expect(await alerts()).toMatchObject([
      { title: 'Tool is silent', description: expect.stringContaining('No beat from this source') },
    ]);
  });

  test.each([
    ['a wrong key', 401, () => post('', { authorization: 'Bearer wrong' })],
    ['a body', 422, () => post('{}', { 'content-type': 'application/json' })],
    ['GET', 405, () => post('', {}, 'GET')],
  ])('refuses %s with %i', async (_name, status, send) => {
    expect((await send()).statusCode).toBe(status);
    const [heartbeat] = await beating.heartbeats(source);
    expect(heartbeat).toMatchObject({ state: 'waiting', last_beat_at: null });
  });

  test('refuses what nobody would miss, and an inactive integration', async () => {
    await beating.change(source, { heartbeat_minutes: 0 });
    expect((await post()).statusCode).toBe(409);
    await beating.change(source, { active: false });
    expect((await post()).statusCode).toBe(403);
  });
});

describe('the matchers of heartbeats', () => {
  test.each([
    ['alertname=~"("', 'regular expression'],
    ['alertname', 'after the name'],
    ['alertname!="DiskFull"', 'without labels'],
  ])('are refused: %s', async (heartbeat_matchers, reason) => {
    const { status, body } = await beating.change(source, { heartbeat_matchers });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(reason);
  });

  test('choose the beats', async () => {
    await beating.change(source, { heartbeat_matchers: 'alertname="Alive", cluster=~"eu|ew"' });
    await beating.fire(source, { alertname: 'Alive', cluster: 'eu' });
    expect(await alerts()).toEqual([]);
    await beating.fire(source, { alertname: 'Alive', cluster: 'us' });
    await beating.fire(source, { alertname: 'Watchdog' }, { note: 1 });
    expect(await alerts()).toHaveLength(2);
  });

  test('let a generic payload beat by its title', async () => {
    const send = () =>
      beating.service.send(source, { title: 'DeadMansSwitch', start_time: new Date(beating.now) });
    await send();
    beating.wait(1);
    await send();
    await beating.untilStored(source, 'DeadMansSwitch');
    expect(await alerts()).toEqual([]);
    expect(await beating.heartbeats(source)).toHaveLength(1);
  });
});
