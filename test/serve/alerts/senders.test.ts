import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pause, until } from '../../infra/ports/opened.ts';
import { canRun } from '../../support/needed.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  ALERTMANAGER,
  freePort,
  PROMETHEUS,
  type Running,
  sendWebhook,
  startAlertmanager,
  startPrometheus,
} from './programs.ts';

const isPossible = canRun(ALERTMANAGER, PROMETHEUS);
const SERVER = fileURLToPath(new URL('killed-server.ts', import.meta.url));

interface Facts {
  readonly token: string;
  readonly targets: readonly { readonly project: number; readonly path: string; readonly key: string }[];
}

let directory: TemporaryDirectory;
let port: number;
let server: ChildProcess;
let facts: Facts;
const running: Running[] = [];

async function startServer(): Promise<void> {
  server = spawn(process.execPath, [SERVER, join(directory.path, 'facts.json'), String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      DATA_DIR: join(directory.path, 'data'),
      LOG_LEVEL: 'fatal',
      ALERT_RETRY_WINDOW_SECONDS: '2',
    },
  });
  for await (const line of createInterface({ input: server.stdout as NonNullable<typeof server.stdout> })) {
    if (line.startsWith('port ')) break;
  }
}

async function stopServer(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const closed = once(server, 'exit');
  server.kill(signal);
  await closed;
}

beforeAll(async () => {
  if (!isPossible) return;
  directory = temporaryDirectory();
  port = await freePort();
  await startServer();
  facts = JSON.parse(readFileSync(join(directory.path, 'facts.json'), 'utf8')) as Facts;
});
afterAll(async () => {
  for (const one of running) await one.stop();
  if (server?.exitCode === null) await stopServer('SIGKILL');
  directory?.[Symbol.dispose]();
});

interface AttemptResult {
  readonly title: string;
  readonly status: string;
  readonly severity: string;
  readonly event_count: number;
  readonly ended_at: string | null;
  readonly query: string | null;
  readonly description: string;
  readonly runbook: string | null;
  readonly monitoring_tool: string;
}

async function alertsOf(search: string): Promise<AttemptResult[]> {
  const reply = await fetch(
    `http://127.0.0.1:${port}/api/v4/projects/${facts.targets[1]?.project}/alerts?search=${search}&order_by=created_at&sort=asc`,
    { headers: { authorization: `Bearer ${facts.token}` } },
  );
  return (await reply.json()) as AttemptResult[];
}

const webhook = () => ({
  directory: directory.path,
  webhook: `http://127.0.0.1:${port}${facts.targets[1]?.path}`,
  key: facts.targets[1]?.key ?? '',
});

async function alertmanager(name: string, cluster?: { port: number; peer: number }): Promise<Running> {
  const started = await startAlertmanager(name, { ...webhook(), ...(cluster ? { cluster } : {}) });
  running.push(started);
  return started;
}

const raised = (alertname: string, instance: string) => ({
  labels: { alertname, instance, severity: 'page' },
  annotations: { summary: `${alertname} of ${instance}` },
  generatorURL: 'http://p.example/graph?g0.expr=up+%3D%3D+0&g0.tab=1',
  startsAt: new Date().toISOString(),
});

describe.runIf(isPossible)('Alertmanager', () => {
  test('fires, groups, repeats, resolves, and fires again as a new alert', async () => {
    const manager = await alertmanager('one');
    const alerts = ['h1', 'h2'].map((instance) => raised('Cycle', instance));
    await sendWebhook(manager, alerts);
    await until('both have arrived', async () => (await alertsOf('Cycle')).length === 2);
    const first = await alertsOf('Cycle');
    expect(first.map(({ title }) => title).sort()).toEqual(['Cycle of h1', 'Cycle of h2']);
    expect(first[0]).toMatchObject({
      status: 'triggered',
      severity: 'high',
      query: 'up == 0',
      monitoring_tool: 'Prometheus',
    });

    await until(
      'they are repeated',
      async () => (await alertsOf('Cycle')).every((alert) => alert.event_count >= 2),
      20_000,
    );
    expect(await alertsOf('Cycle')).toHaveLength(2);

    await sendWebhook(manager, [{ ...alerts[0], endsAt: new Date().toISOString() }]);
    const statuses = async () =>
      (await alertsOf('Cycle')).map(({ title, status }) => `${title} ${status}`).sort();
    await until(
      'one is resolved',
      async () => String(await statuses()) === 'Cycle of h1 resolved,Cycle of h2 triggered',
      20_000,
    );

    await pause(1100);
    await sendWebhook(manager, [raised('Cycle', 'h1')]);
    await until('it fires again', async () => (await alertsOf('Cycle')).length === 3);
    expect(await statuses()).toEqual([
      'Cycle of h1 resolved',
      'Cycle of h1 triggered',
      'Cycle of h2 triggered',
    ]);
  });

  test('loses nothing while our server is unreachable, killed or stopped', async () => {
    const manager = await alertmanager('away');
    await stopServer('SIGKILL');
    const alerts = ['a', 'b', 'c'].map((instance) => raised('Away', instance));
    await sendWebhook(manager, alerts);
    await pause(1500);
    await startServer();
    await until('all have arrived', async () => (await alertsOf('Away')).length === 3);
    await stopServer('SIGTERM');
    const over = alerts.map((alert) => ({ ...alert, endsAt: new Date().toISOString() }));
    await sendWebhook(manager, over);
    await pause(500);
    await startServer();
    await until(
      'all are resolved',
      async () => (await alertsOf('Away')).every(({ status }) => status === 'resolved'),
      30_000,
    );
    expect(await alertsOf('Away')).toHaveLength(3);
  });

  test('counts alerts of a pair once, also when one of the two is killed', async () => {
    const ports = [await freePort(), await freePort()] as const;
    const left = await alertmanager('left', { port: ports[0], peer: ports[1] });
    const right = await alertmanager('right', { port: ports[1], peer: ports[0] });
    const alerts = ['x', 'y'].map((instance) => raised('Pair', instance));
    for (const manager of [left, right]) await sendWebhook(manager, alerts);
    await until('both have arrived', async () => (await alertsOf('Pair')).length === 2);
    await left.stop();
    const over = alerts.map((alert) => ({ ...alert, endsAt: new Date().toISOString() }));
    await sendWebhook(right, over);
    await until(
      'the other one tells that it is over',
      async () => (await alertsOf('Pair')).every(({ status }) => status === 'resolved'),
      30_000,
    );
    expect(await alertsOf('Pair')).toHaveLength(2);
  });
});

describe.runIf(isPossible)('Prometheus', () => {
  test('reports two targets that go down one after the other, and one that recovers', async () => {
    const manager = await alertmanager('rules');
    const ports = [await freePort(), await freePort()] as const;
    const targets = ports.map((of) => `127.0.0.1:${of}`);
    running.push(await startPrometheus(directory.path, manager, targets));
    await until('both are down', async () => (await alertsOf('ServiceDown')).length === 2);
    const down = await alertsOf('ServiceDown');
    expect(down.map(({ description }) => description).sort()).toEqual(
      targets.map((of) => `${of} is down`).sort(),
    );
    expect(down[0]).toMatchObject({
      severity: 'high',
      query: 'up == 0',
      runbook: 'https://wiki.example/down',
    });

    const target = createServer((_request, reply) => reply.end('up_since 1\n')).listen(ports[0], '127.0.0.1');
    try {
      await until(
        'one is up again',
        async () =>
          (await alertsOf('ServiceDown')).find(({ description }) =>
            description.startsWith(targets[0] as string),
          )?.status === 'resolved',
        40_000,
      );
      const other = (await alertsOf('ServiceDown')).find(({ status }) => status === 'triggered');
      expect(other?.description).toBe(`${targets[1]} is down`);
    } finally {
      target.closeAllConnections();
      target.close();
    }
  });
});

describe.runIf(isPossible)('many alerts of one rule', () => {
  test('arrive through Alertmanager, 1,500 of them, which would not fit into one request', async () => {
    const manager = await alertmanager('many');
    const host = (i: number) => `node-${i}.eu-central-1.compute.internal.example.org:9100`;
    const alerts = Array.from({ length: 1500 }, (_, i) => {
      const { annotations, ...alert } = raised('Storm', host(i));
      const description = `The exporter of ${host(i)} has not answered for five minutes. ${'x'.repeat(300)}`;
      return { ...alert, annotations: { ...annotations, description } };
    });
    expect(JSON.stringify(alerts).length).toBeGreaterThan(2 ** 20);
    await sendWebhook(manager, alerts);
    // From another address: Alertmanager takes all connections that one may have.
    const counted = async (status: string) => {
      const query = `search=Storm&status=${status}&per_page=1`;
      const asked = get({
        ...{ host: '127.0.0.1', port, localAddress: '127.0.0.2' },
        path: `/api/v4/projects/${facts.targets[1]?.project}/alerts?${query}`,
        headers: { authorization: `Bearer ${facts.token}` },
      });
      const [reply] = (await once(asked, 'response')) as [IncomingMessage];
      reply.resume();
      return Number(reply.headers['x-total']);
    };
    await until('all have arrived', async () => (await counted('triggered')) === 1500, 60_000);
    const endsAt = new Date().toISOString();
    await sendWebhook(
      manager,
      alerts.map((alert) => ({ ...alert, endsAt })),
    );
    await until('all are resolved', async () => (await counted('resolved')) === 1500, 60_000);
  });
});
