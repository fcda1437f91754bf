import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { IntegrationType } from '../../../serve/alerts/integrations/integration-type.ts';
import { prometheusIntegration } from '../../../serve/alerts/integrations/prometheus.ts';
import { snippetsOf } from '../../../serve/alerts/integrations/snippets.ts';
import { pause, until } from '../../infra/ports/opened.ts';

export const ALERTMANAGER = '/usr/bin/prometheus-alertmanager';
export const PROMETHEUS = '/usr/bin/prometheus';

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

export interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

async function run(program: string, args: readonly string[], url: string, ready: string): Promise<Running> {
  let errors = '';
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr?.on('data', (bytes) => {
    errors = `${errors}${bytes}`.slice(-4000);
  });
  await until(
    `${program} answers; it said: ${errors}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`${program} ended: ${errors}`);
      const reply = await fetch(`${url}${ready}`).catch(() => null);
      return reply?.ok ?? false;
    },
    30_000,
  );
  return {
    url,
    stop: async () => {
      const closed = once(child, 'exit');
      child.kill('SIGTERM');
      await Promise.race([closed, pause(3000)]);
      child.kill('SIGKILL');
    },
  };
}

export interface AlertmanagerOptions {
  readonly directory: string;
  /** URL of our webhook, and its key. */
  readonly webhook: string;
  readonly key: string;
  /** Of the integration; Prometheus by default. */
  readonly type?: IntegrationType;
  /** Port of the other Alertmanager of the pair, and its own. */
  readonly cluster?: { readonly port: number; readonly peer: number };
}

const SHORT_INTERVALS = `  group_wait: 200ms
  group_interval: 1s
  repeat_interval: 3s
`;

/** A real Alertmanager with the configuration that people are shown, and short intervals. */
export async function startAlertmanager(name: string, options: AlertmanagerOptions): Promise<Running> {
  const { cluster, directory, webhook, key } = options;
  const access = { id: '', generic: '', prometheus: webhook, pagerduty: webhook, key };
  const { name: type } = options.type ?? prometheusIntegration;
  const [snippet] = snippetsOf(access, { type, preset: '' });
  const grouping = /^ {2}group_by: .*\n/m;
  const configuration = snippet?.text.replace(grouping, (line) => `${line}${SHORT_INTERVALS}`) ?? '';
  const clustered = cluster && [
    `--cluster.listen-address=127.0.0.1:${cluster.port}`,
    `--cluster.peer=127.0.0.1:${cluster.peer}`,
    '--cluster.peer-timeout=1s',
    '--cluster.settle-timeout=1s',
    '--cluster.gossip-interval=50ms',
  ];
  return runAlertmanager(directory, name, configuration, clustered);
}

/** A real Alertmanager with a configuration. */
export async function runAlertmanager(
  directory: string,
  name: string,
  configuration: string,
  clustered: readonly string[] = ['--cluster.listen-address='],
): Promise<Running> {
  const port = await freePort();
  const file = join(directory, `${name}.yml`);
  writeFileSync(file, configuration);
  const args = [
    `--config.file=${file}`,
    `--storage.path=${join(directory, name)}`,
    `--web.listen-address=127.0.0.1:${port}`,
    ...clustered,
  ];
  return run(ALERTMANAGER, args, `http://127.0.0.1:${port}`, '/-/ready');
}

/** Sends alerts to an Alertmanager, as Prometheus does. */
export async function sendWebhook(alertmanager: Running, alerts: readonly object[]): Promise<void> {
  const reply = await fetch(`${alertmanager.url}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alerts),
  });
  if (!reply.ok) throw new Error(`Alertmanager refused: ${reply.status} ${await reply.text()}`);
}

/** A real Prometheus that scrapes two targets and fires an alert for each that is down. */
export function startPrometheus(
  directory: string,
  alertmanager: Running,
  targets: readonly string[],
): Promise<Running> {
  writeFileSync(
    join(directory, 'rules.yml'),
    `groups:
  - name: g
    interval: 500ms
    rules:
      - alert: ServiceDown
        expr: up == 0
        labels: { severity: page }
        annotations: { description: "{{ $labels.instance }} is down", runbook: "https://wiki.example/down" }
`,
  );
  writeFileSync(
    join(directory, 'prometheus.yml'),
    `global: { scrape_interval: 500ms, scrape_timeout: 400ms, evaluation_interval: 500ms }
rule_files: [rules.yml]
alerting:
  alertmanagers:
    - static_configs: [{ targets: ['${new URL(alertmanager.url).host}'] }]
scrape_configs:
  - job_name: watched
    static_configs: [{ targets: ${JSON.stringify(targets)} }]
`,
  );
  return runPrometheus(directory);
}

/** A real Prometheus with the file `prometheus.yml` of a directory. */
export async function runPrometheus(directory: string): Promise<Running> {
  const port = await freePort();
  return run(
    PROMETHEUS,
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--alertmanager.timeout=5s',
      '--rules.alert.resend-delay=1s',
    ],
    `http://127.0.0.1:${port}`,
    '/-/ready',
  );
}
