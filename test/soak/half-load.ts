import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median } from '../bench/measure.ts';
import { FakeSidecar, recordedBlocks } from '../ingest/sources/fake-sidecar.ts';
import { firing, prometheusBody } from '../serve/alerts/made.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

// `npx node test/soak/half-load.ts [minutes]`: a server at half of what it can do. It follows a chain, answers readers
// and accepts alerts. Memory and latency must be as flat at the end as at the beginning.
const minutes = Number(process.argv[2] ?? 60);
const CALIBRATION_MS = 20_000;
const CALIBRATION_CONNECTIONS = 8;
const BLOCK_MS = 2000;
const SOURCES = 500;
const RESOLVED_OF = 5;
/** Largest ratio of the last third's median to the first third's. */
const GROWTH_MAX = { rss: 1.15, latency: 1.5 };
const MIB = 2 ** 20;

const directory = temporaryDirectory();
const data = join(directory.path, 'data');
const facts = join(directory.path, 'facts.json');
const KILLED_SERVER = fileURLToPath(new URL('../serve/alerts/killed-server.ts', import.meta.url));
const BIN = fileURLToPath(new URL('../../serve/chain-metrics', import.meta.url));
const settings = {
  ...process.env,
  DATA_DIR: data,
  LOG_LEVEL: 'warn',
  ANONYMOUS_PER_MINUTE: '0',
  ANONYMOUS_PER_DAY: '0',
  ANONYMOUS_STORE_SECONDS: '0',
  // Full within minutes, so that what grows after that is no cache.
  ALERT_CACHE_BYTES: String(32 * MIB),
};

interface Target {
  readonly project: number;
  readonly path: string;
  readonly key: string;
}

/** Creates a project with an integration in the data directory. */
async function createProject(): Promise<{ token: string; target: Target }> {
  const server = spawn(process.execPath, [KILLED_SERVER, facts, '0'], {
    env: settings,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) if (line.startsWith('port ')) break;
  server.kill('SIGTERM');
  await once(server, 'exit');
  const { token, targets } = JSON.parse(readFileSync(facts, 'utf8'));
  return { token, target: targets[1] };
}

async function startServer(port: number, source: string): Promise<ChildProcess> {
  const server = spawn(BIN, ['start', '--sample'], {
    env: { ...settings, PORT: String(port), FOLLOW: `polkadot=${source}`, FOLLOW_SNAPSHOTS: 'false' },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  for await (const line of createInterface({ input: server.stderr as NodeJS.ReadableStream })) {
    if (line.includes('answers on')) break;
  }
  server.stderr?.resume();
  return server;
}

const [template = ''] = recordedBlocks('polkadot').values();
const digest = (number: number) => `0x${number.toString(16).padStart(64, '0')}`;

/** The recorded block at another height, of now. */
function blockAt(number: number): string {
  const block = JSON.parse(template);
  const timestamp = block.extrinsics.find(
    ({ method }: { method: { pallet: string } }) => method.pallet === 'timestamp',
  );
  timestamp.args.now = String(Date.now());
  return JSON.stringify({
    ...block,
    number: String(number),
    hash: digest(number),
    parentHash: digest(number - 1),
  });
}

type Request = () => Promise<void>;
let sent = 0;

/** One request in RESOLVED_OF resolves the alert that the one before it has fired. */
function alertRequest(origin: string, { path, key }: Target): Request {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return async () => {
    const n = sent++;
    const isOver = n % RESOLVED_OF === RESOLVED_OF - 1;
    const source = Math.floor(n / RESOLVED_OF) % SOURCES;
    const startsAt = new Date(Date.now() - 60_000 + (n % 1000)).toISOString();
    const alert = firing({
      startsAt,
      labels: { alertname: 'Load', instance: `host-${source}` },
      fingerprint: source.toString(16).padStart(16, '0'),
      ...(isOver ? { status: 'resolved', endsAt: new Date().toISOString() } : {}),
    });
    await expectOk(
      await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(prometheusBody([alert])) }),
    );
  };
}

/** Answers from the cache, distinct ones that are not, and the list of alerts. */
function readRequest(origin: string, token: string, { project }: Target): Request {
  let n = 0;
  const daily = (from: number) => {
    const start = new Date(Date.UTC(2020, 0, 1) + (from % 2000) * 86_400_000).toISOString().slice(0, 10);
    return `/api/daily-tps?relay_chain=polkadot&start_date=${start}&limit=${100 + (from % 900)}`;
  };
  const paths = [
    () => '/api/daily-tps?relay_chain=polkadot&chain=polkadot',
    () => daily(n),
    () => '/api/explorer/recent-extrinsics?relay_chain=polkadot',
    () => `/api/v4/projects/${project}/alerts?per_page=20&page=${1 + (n % 5)}`,
  ];
  return async () => {
    const path = (paths[n++ % paths.length] as () => string)();
    const headers: Record<string, string> = path.startsWith('/api/v4')
      ? { authorization: `Bearer ${token}` }
      : {};
    await expectOk(await fetch(origin + path, { headers }), path);
  };
}

async function expectOk(response: Response, path = 'an alert'): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 200)}`);
}

/** Requests a second when each connection sends the next one after the answer. */
async function calibrate(requests: readonly Request[]): Promise<number[]> {
  const until = performance.now() + CALIBRATION_MS;
  const counts = requests.map(async (request) => {
    let count = 0;
    const loop = async () => {
      for (; performance.now() < until; count++) await request();
    };
    await Promise.all(Array.from({ length: CALIBRATION_CONNECTIONS }, loop));
    return (count * 1000) / CALIBRATION_MS;
  });
  return Promise.all(counts);
}

/** Sends at a fixed rate, whatever the answers take; waits count from the time at which a request was due. */
class Load {
  waits: number[] = [];
  readonly failures: string[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(perSecond: number, request: Request) {
    const started = performance.now();
    let due = 0;
    this.#timer = setInterval(() => {
      const elapsed = performance.now() - started;
      for (; (due * 1000) / perSecond < elapsed; due++) {
        const dueAt = started + (due * 1000) / perSecond;
        request().then(
          () => this.waits.push(performance.now() - dueAt),
          (error: Error) => this.failures.push(`${error.message} ${error.cause ?? ''}`),
        );
      }
    }, 5);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The p50 and p99 since the last call, in milliseconds. */
  take(): [number, number] {
    const sorted = this.waits.sort((a, b) => a - b);
    this.waits = [];
    const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
    return [at(0.5), at(0.99)];
  }
}

const { token, target } = await createProject();
const source = await new FakeSidecar([blockAt(40_000_000)]).listen();
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const server = await startServer(port, source.url);
const mining = setInterval(() => {
  source.put(blockAt(++source.finalized));
  source.best = source.finalized;
}, BLOCK_MS);

const reads = readRequest(origin, token, target);
const alerts = alertRequest(origin, target);
const [readsMax = 0, alertsMax = 0] = await calibrate([reads, alerts]);
const line = (...cells: readonly (string | number)[]) =>
  process.stdout.write(`${cells.map((cell) => String(cell).padStart(12)).join('')}\n`);
process.stdout.write(`at most ${readsMax.toFixed(0)} reads and ${alertsMax.toFixed(0)} alerts a second\n`);
line('minute', 'RSS MiB', 'read p50', 'read p99', 'alert p50', 'alert p99', 'failures');

const readLoad = new Load(readsMax / 2, reads);
const alertLoad = new Load(alertsMax / 2, alerts);
const samples: { rss: number; readP99: number; alertP99: number }[] = [];
for (let minute = 1; minute <= minutes; minute++) {
  await pause(60_000);
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  const rss = (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / MIB;
  const [[readP50, readP99], [alertP50, alertP99]] = [readLoad.take(), alertLoad.take()];
  samples.push({ rss, readP99, alertP99 });
  const failures = readLoad.failures.length + alertLoad.failures.length;
  line(minute, ...[rss, readP50, readP99, alertP50, alertP99].map((one) => one.toFixed(1)), failures);
}
readLoad.stop();
alertLoad.stop();
clearInterval(mining);
server.kill('SIGKILL');
await once(server, 'exit');
await source[Symbol.asyncDispose]();
directory[Symbol.dispose]();

// The first tenth warms up.
const steady = samples.slice(Math.ceil(samples.length / 10));
const third = Math.max(1, Math.floor(steady.length / 3));
const growth = (of: (sample: (typeof samples)[number]) => number) =>
  median(steady.slice(-third).map(of)) / median(steady.slice(0, third).map(of));
const failures = [...readLoad.failures, ...alertLoad.failures];
const verdicts = [
  { name: 'resident memory', ratio: growth(({ rss }) => rss), max: GROWTH_MAX.rss },
  { name: 'p99 of a read', ratio: growth(({ readP99 }) => readP99), max: GROWTH_MAX.latency },
  { name: 'p99 of an alert', ratio: growth(({ alertP99 }) => alertP99), max: GROWTH_MAX.latency },
];
for (const { name, ratio, max } of verdicts) {
  process.stdout.write(
    `${name}: last third ${ratio.toFixed(2)} of the first, at most ${max}${ratio > max ? ': not flat' : ''}\n`,
  );
}
process.stdout.write(`${failures.length} failures ${[...new Set(failures)].slice(0, 5).join('\n')}\n`);
process.exit(failures.length === 0 && verdicts.every(({ ratio, max }) => ratio <= max) ? 0 : 1);
