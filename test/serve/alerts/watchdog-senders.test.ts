import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readGuides } from '../../../serve/guides/guides.ts';
import { until } from '../../infra/ports/opened.ts';
import { canRun } from '../../support/needed.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import {
  ALERTMANAGER,
  freePort,
  PROMETHEUS,
  type Running,
  runAlertmanager,
  runPrometheus,
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
    env: { ...process.env, DATA_DIR: join(directory.path, 'data'), LOG_LEVEL: 'fatal' },
  });
  for await (const line of createInterface({ input: server.stdout as NonNullable<typeof server.stdout> })) {
    if (line.startsWith('port ')) break;
  }
}

async function killServer(): Promise<void> {
  const closed = once(server, 'exit');
  server.kill('SIGKILL');
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
  if (server?.exitCode === null && server.signalCode === null) await killServer();
  directory?.[Symbol.dispose]();
});

const target = () => facts.targets[1] as Facts['targets'][number];
const integration = () => target().path.split('/')[2] ?? '';

async function api(path: string, change?: object) {
  const reply = await fetch(`http://127.0.0.1:${port}/api/v4/projects/${target().project}${path}`, {
    headers: { authorization: `Bearer ${facts.token}`, 'content-type': 'application/json' },
    ...(change === undefined ? {} : { method: 'PUT', body: JSON.stringify(change) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: each endpoint has its own type of response
  return (await reply.json()) as any;
}

/** The configuration of the guide, with short intervals. */
function configuration(): string {
  const guide = [...readGuides().values()].flat().find(({ name }) => name === 'alerts');
  const text = /^```yml\n([\s\S]*?)^```$/m.exec(guide?.text ?? '')?.[1] ?? '';
  return text
    .replace('group_interval: 1m', 'group_wait: 200ms\n      group_interval: 2s')
    .replace('repeat_interval: 50s', 'repeat_interval: 1s')
    .replace('http://localhost:3000', `http://127.0.0.1:${port}`)
    .replace('INTEGRATION/', `${integration()}/`)
    .replace('INTEGRATION_KEY', target().key)
    .replace('receivers:\n', 'receivers:\n  - name: chain-metrics\n');
}

/** A Prometheus whose Watchdog always fires, under the name of its cluster. */
function startWatched(cluster: string, alertmanager: Running): Promise<Running> {
  const place = join(directory.path, cluster);
  mkdirSync(place, { recursive: true });
  writeFileSync(
    join(place, 'rules.yml'),
    `groups:
  - name: g
    interval: 500ms
    rules:
      - alert: Watchdog
        expr: vector(1)
        labels: { severity: none }
        annotations: { summary: Always fires }
`,
  );
  writeFileSync(
    join(place, 'prometheus.yml'),
    `global: { evaluation_interval: 500ms, external_labels: { cluster: ${cluster} } }
rule_files: [rules.yml]
alerting:
  alertmanagers:
    - static_configs: [{ targets: ['${new URL(alertmanager.url).host}'] }]
`,
  );
  return runPrometheus(place);
}

const statuses = async () =>
  (await api('/alerts')).map(({ title, status }: { title: string; status: string }) => `${title} ${status}`);
const beating = async () =>
  (await api('/heartbeats'))
    .filter(({ state }: { state: string }) => state === 'beating')
    .map(({ labels }: { labels: string[] }) => labels.join())
    .sort();

describe.runIf(isPossible)('two Prometheus servers behind one Alertmanager', () => {
  test('beat by their Watchdogs; the one that is killed is missed until it is back', async () => {
    await api(`/integrations/${integration()}`, { heartbeat_minutes: 1 });
    const alertmanager = await runAlertmanager(directory.path, 'watchdog', configuration());
    running.push(alertmanager);
    const eu = await startWatched('eu', alertmanager);
    running.push(await startWatched('us', alertmanager));
    const both = ['alertname=Watchdog,cluster=eu', 'alertname=Watchdog,cluster=us'];
    await until('both beat', async () => String(await beating()) === String(both), 30_000);
    await killServer();
    await startServer();
    expect(await beating()).toEqual(both);
    await eu.stop();
    const missing = 'PROMETHEUS is silent: cluster=eu';
    await until('it is missed', async () => String(await statuses()) === `${missing} triggered`, 120_000);
    expect(await beating()).toEqual(both.slice(1));
    running.push(await startWatched('eu', alertmanager));
    await until('it is back', async () => String(await statuses()) === `${missing} resolved`, 60_000);
    expect(await beating()).toEqual(both);
  }, 240_000);
});
