/**
 * Durable intake of requests of 10 alerts, against Alertmanager, which keeps them in memory, and bare Fastify.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Fastify from 'fastify';
import { ALERTMANAGER, freePort, startAlertmanager } from '../serve/alerts/programs.ts';
import { canRun } from '../support/needed.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startAlertLoad } from './alert-load.ts';
import { compare, ms, readSizes, report } from './measure.ts';

const GOAL = 1.2;
const MEASURED_MS = 3000;
const CONNECTIONS = 32;
const POLL_MS = 50;
const SERVER = fileURLToPath(new URL('../serve/alerts/killed-server.ts', import.meta.url));

if (!canRun(ALERTMANAGER)) process.exit(1);
using directory = temporaryDirectory();
const factsFile = join(directory.path, 'facts.json');
const server = spawn(process.execPath, [SERVER, factsFile, String(await freePort())], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    ...process.env,
    UV_THREADPOOL_SIZE: '16',
    DATA_DIR: join(directory.path, 'data'),
    LOG_LEVEL: 'warn',
  },
});
let ours = 0;
for await (const line of createInterface({ input: server.stdout })) {
  ours = Number(/^port (\d+)$/.exec(line)?.[1] ?? 0);
  if (ours > 0) break;
}
const { targets } = JSON.parse(readFileSync(factsFile, 'utf8'));
const [, source] = targets;
const manager = await startAlertmanager('peer', {
  directory: directory.path,
  webhook: 'http://127.0.0.1:9/',
  key: 'k',
});
const bare = Fastify();
bare.post('/', async () => []);
await bare.listen({ port: 0, host: '127.0.0.1' });

const load = startAlertLoad();
const common = { key: source.key, connections: CONNECTIONS, milliseconds: MEASURED_MS };
const waits: number[] = [];
const post = async (port: number, path: string, shape: 'list' | 'webhook') => {
  const { perSecond, p99Ms } = await load.post({ ...common, port, path, shape });
  if (port === ours) waits.push(p99Ms);
  return perSecond;
};
const { rounds } = readSizes();
/** What was accepted before is written first: above a limit of what waits, requests are refused. */
const product = async () => {
  for (let waiting = Number.POSITIVE_INFINITY; waiting > 0; ) {
    const metrics = await (await fetch(`http://127.0.0.1:${ours}/metrics`)).text();
    waiting = Number(/^chain_metrics_alert_pending_bytes (\S+)$/m.exec(metrics)?.[1]);
    if (waiting > 0) await pause(POLL_MS);
  }
  return post(ours, source.path, 'webhook');
};
const againstManager = await compare(rounds, product, () =>
  post(Number(new URL(manager.url).port), '/api/v2/alerts', 'list'),
);
const barePort = (bare.server.address() as { port: number }).port;
const againstBare = await compare(rounds, product, () => post(barePort, '/', 'webhook'));

load.stop();
await manager.stop();
await bare.close();
server.kill('SIGKILL');
await once(server, 'exit');
const figure = ({ product, peer }: { product: number; peer: number }) =>
  `${Math.round(product)} against ${Math.round(peer)} requests a second`;
report([
  {
    work: 'durable intake of 10 alerts a request',
    peer: 'Alertmanager, not durable',
    figure: figure(againstManager),
    ratio: againstManager.ratio,
    goal: `>= ${GOAL}`,
    met: againstManager.ratio >= GOAL,
    details: [`p99 of an answer: ${ms(Math.max(...waits))}`],
  },
  {
    work: 'the same',
    peer: 'bare Fastify that parses it',
    figure: figure(againstBare),
    ratio: againstBare.ratio,
    goal: 'printed',
    met: true,
  },
]);
