import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { alertEvents } from '../../aggregate/alerts/model/tables.ts';
import { DATABASE } from '../../infra/sql.ts';
import { createKey } from '../../serve/accounts/keys.ts';
import { createUser } from '../../serve/accounts/users.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { everythingRecorded } from '../distributed/clean-run.ts';
import { type RoleProcess, startRole } from '../distributed/roles.ts';
import { pause, until } from '../infra/ports/opened.ts';
import { type Running, runPrometheus } from '../serve/alerts/programs.ts';
import { Receiver } from '../serve/alerts/receiver.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines } from '../support/pipeline.ts';
import { startClickHouse } from '../support/services/clickhouse.ts';
import { addresses, startServices } from '../support/services/index.ts';
import { freePort } from '../support/services/service.ts';
import { ROOT } from '../support/source-files.ts';

// `npx node test/soak/alert-rules.ts [times faster] [fault…]`, as a user who may mount: a deployment under a real
// Prometheus with the rules of infra/prometheus. Each fault must raise its alert in time, and no other one.
// Faster means that all times of the rules are shortened; 3 is the most that leaves enough scrapes in them.

const [given = '3', ...chosen] = process.argv.slice(2);
const FASTER = Number(given);
const SCRAPE_SECONDS = 10;
const DISK = '700m';
/** What a fault may take beyond the times of its rule: to be noticed, scraped and evaluated. */
const NOTICE_MS = 60_000;
const QUIET_MS_MAX = 300_000;
const began = Date.now();
const say = (text: string) =>
  process.stdout.write(`${((Date.now() - began) / 1000).toFixed(0)} s: ${text}\n`);

interface Fault {
  readonly alert: string;
  /** The times of its rule together: how long it looks back, and how long it waits. */
  readonly minutes: number;
  readonly begin: (drill: Drill) => Promise<void>;
  readonly end: (drill: Drill) => Promise<void>;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'Kafka stops': {
    alert: 'ChainMetricsLogUnreachable',
    minutes: 1,
    begin: ({ services }) => services.kafka.stop(),
    end: ({ services }) => services.kafka.start(),
  },
  'the loader is gone': {
    alert: 'ChainMetricsLoaderStopped',
    minutes: 5,
    begin: async (drill) => {
      await drill.remove('load');
      // Resolves when a loader has them.
      ingestLines(drill.operator, drill.nextLines()).catch(() => undefined);
    },
    end: (drill) => drill.add('load'),
  },
  'the disk is full': {
    alert: 'ChainMetricsStoreUnwritable',
    minutes: 1,
    begin: async ({ disk }) => fill(join(disk, 'filler')),
    end: async ({ disk }) => rmSync(join(disk, 'filler')),
  },
  'a receiver of webhooks is broken': {
    alert: 'ChainMetricsWebhookReceiverFails',
    minutes: 5,
    begin: async (drill) => {
      drill.receiver.answer = () => 500;
      await drill.deliver('one more alert');
    },
    end: async ({ receiver }) => {
      receiver.answer = () => 200;
    },
  },
  'the writer of alerts is stalled': {
    alert: 'ChainMetricsAlertWriterStalled',
    minutes: 1,
    begin: async (drill) => {
      await drill.alterEvents('ADD CONSTRAINT stalled CHECK 0');
      await drill.deliver('an alert that cannot be stored');
    },
    end: (drill) => drill.alterEvents('DROP CONSTRAINT stalled'),
  },
};

/** Until not another page fits. */
function fill(file: string): void {
  for (let size = 2 ** 20; size >= 4096; ) {
    try {
      appendFileSync(file, Buffer.alloc(size));
    } catch {
      size /= 16;
    }
  }
}

/** A deployment with its Prometheus. */
class Drill {
  readonly directory = mkdtempSync(join(tmpdir(), 'chain-metrics-drill-'));
  readonly disk = join(this.directory, 'disk');
  readonly #roles = new Map<string, RoleProcess>();
  readonly #targets = new Map<string, string>();
  readonly #lines = everythingRecorded();
  services!: Awaited<ReturnType<typeof startServices>>;
  operator!: Pipeline;
  receiver!: Receiver;
  #clickhouse!: Awaited<ReturnType<typeof startClickHouse>>;
  #environment!: Record<string, string>;
  #prometheus!: Running;
  #hook = { path: '', key: '' };

  async start(): Promise<void> {
    mkdirSync(this.disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', this.disk]);
    this.services = await startServices();
    this.#clickhouse = await startClickHouse({ directory: join(this.disk, 'clickhouse') });
    if (this.#clickhouse.kind === 'container')
      throw new Error('a container has a disk of its own: run it where Docker is not');
    this.#environment = this.services.environment({
      ...addresses({ ...this.services, clickhouse: this.#clickhouse }),
      DATA_DIR: join(this.directory, 'data'),
      SECRETS_KEY: randomBytes(32).toString('base64'),
      LOG_LEVEL: 'error',
      ALERT_PRIVATE_TARGETS: 'true',
      ALERT_WEBHOOK_RETRY_SECONDS_MAX: '5',
    });
    this.operator = await joinPipeline(this.#environment);
    for (const role of ['load', 'work', 'serve']) await this.add(role);
    await ingestLines(this.operator, this.nextLines());
    await this.operator.waitUntilComputed();
    this.receiver = await Receiver.open();
    await this.#prepareAlerts();
    this.#writeConfiguration();
    this.#prometheus = await runPrometheus(this.directory);
  }

  async add(role: string): Promise<void> {
    const port = await freePort();
    const started = await startRole(role, { ...this.#environment, OPERATOR_PORT: String(port) });
    this.#roles.set(role, started);
    this.#targets.set(role, new URL(started.url).host);
    this.#writeTargets();
  }

  async remove(role: string): Promise<void> {
    this.#targets.delete(role);
    this.#writeTargets();
    // Before it ends, nothing may scrape it any more.
    await pause(2 * SCRAPE_SECONDS * 1000);
    await this.#roles.get(role)?.kill();
  }

  nextLines() {
    return this.#lines.splice(0, Math.ceil(this.#lines.length / 2));
  }

  async alterEvents(change: string): Promise<void> {
    await this.operator.runtime.store.run(`ALTER TABLE ${DATABASE}.${alertEvents.name} ${change}`);
  }

  async deliver(title: string): Promise<void> {
    const { path, key } = this.#hook;
    const reply = await this.#post(path, key, { title });
    if (!reply.ok) throw new Error(`${title}: ${reply.status} ${await reply.text()}`);
  }

  async firing(): Promise<Set<string>> {
    const reply = await fetch(`${this.#prometheus.url}/api/v1/alerts`);
    const { data } = (await reply.json()) as {
      data: { alerts: { state: string; labels: { alertname: string } }[] };
    };
    return new Set(
      data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname),
    );
  }

  async close(): Promise<void> {
    await this.#prometheus?.stop();
    for (const role of this.#roles.values()) await role.kill();
    await this.operator?.close();
    this.receiver?.close();
    await this.#clickhouse?.close();
    await this.services?.close();
    execFileSync('umount', ['-l', this.disk]);
    rmSync(this.directory, { recursive: true, force: true });
  }

  #post(path: string, token: string, body: object): Promise<Response> {
    return fetch(`${this.#roles.get('serve')?.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  async #prepareAlerts(): Promise<void> {
    const accounts = this.operator.accounts();
    const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
    const options = { name: 'drill', scopes: ['api'], expires_ms: 0 };
    const { text: token } = await createKey(accounts, user, 'personal', options);
    const make = async (path: string, body: object) => {
      const reply = await this.#post(`/api/v4${path}`, token, body);
      if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
      return (await reply.json()) as { id: number; url: string; authorization_key: string };
    };
    const { id } = await make('/projects', { name: 'Drill' });
    await make(`/projects/${id}/hooks`, { url: this.receiver.url });
    const made = await make(`/projects/${id}/integrations`, { type: 'HTTP', name: 'drill' });
    this.#hook = { path: new URL(made.url).pathname, key: made.authorization_key };
  }

  #writeTargets(): void {
    const file = join(this.directory, 'targets.json');
    writeFileSync(file, JSON.stringify([{ targets: [...this.#targets.values()] }]));
  }

  #writeConfiguration(): void {
    const rules = readFileSync(join(ROOT, 'infra/prometheus/alerts.yaml'), 'utf8');
    const seconds = (number: string, unit: string) =>
      `${Math.max(1, Math.ceil((Number(number) * (unit === 'h' ? 3600 : 60)) / FASTER))}s`;
    const faster = rules
      .replace(/(\[|for: |offset )(\d+)([mh])/g, (_, before, number, unit) => before + seconds(number, unit))
      .replace(/86400/g, String(86_400 / FASTER));
    writeFileSync(join(this.directory, 'alerts.yaml'), faster);
    const every = `${SCRAPE_SECONDS}s`;
    writeFileSync(
      join(this.directory, 'prometheus.yml'),
      `global: { scrape_interval: ${every}, scrape_timeout: ${every}, evaluation_interval: 2s }
rule_files: [alerts.yaml]
scrape_configs:
  - job_name: chain-metrics
    file_sd_configs: [{ files: [targets.json], refresh_interval: 1s }]
`,
    );
  }
}

/** What fired while the fault lasted, and for a while after its alert did. */
async function raise(drill: Drill, { alert, minutes, begin }: Fault): Promise<string[]> {
  const faults: string[] = [];
  const started = Date.now();
  await begin(drill);
  const msMax = (minutes * 60_000) / FASTER + NOTICE_MS;
  const seen = new Set<string>();
  let firedAt = 0;
  while (Date.now() - started < msMax || (firedAt > 0 && Date.now() - firedAt < msMax)) {
    for (const one of await drill.firing()) seen.add(one);
    if (firedAt === 0 && seen.has(alert)) {
      firedAt = Date.now();
      say(`  ${alert} fires after ${((firedAt - started) / 1000).toFixed(0)} s`);
    }
    // What else it leads to has time to show.
    if (firedAt > 0 && Date.now() - firedAt > msMax / 2) break;
    await pause(1000);
  }
  if (firedAt === 0) faults.push(`${alert} did not fire within ${msMax / 1000} s`);
  const others = [...seen].filter((one) => one !== alert);
  if (others.length > 0) faults.push(`so did ${others.join(', ')}`);
  return faults;
}

const drill = new Drill();
const faults: string[] = [];
try {
  await drill.start();
  say('the deployment runs, and Prometheus watches it');
  await pause(4 * SCRAPE_SECONDS * 1000);
  for (const [name, fault] of Object.entries(FAULTS)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    await until('nothing fires', async () => (await drill.firing()).size === 0, QUIET_MS_MAX);
    say(name);
    faults.push(...(await raise(drill, fault)).map((text) => `${name}: ${text}`));
    await fault.end(drill);
    await until(`${fault.alert} ends`, async () => !(await drill.firing()).has(fault.alert), QUIET_MS_MAX);
    say('  it has ended');
  }
} finally {
  await drill.close();
}
say(faults.length === 0 ? 'each fault raised its alert in time, and no other one' : faults.join('\n'));
process.exit(faults.length === 0 ? 0 : 1);
