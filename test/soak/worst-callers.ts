import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { dailySummary } from '../../aggregate/metrics/activity/daily-summary.ts';
import { dailyTps } from '../../aggregate/metrics/activity/daily-tps.ts';
import { dailyStakingRewards } from '../../aggregate/metrics/staking/daily-staking-rewards.ts';
import { raw, sql } from '../../infra/clickhouse/sql.ts';
import { openPipeline } from '../../serve/compose.ts';
import { readConfig } from '../../serve/settings.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

// `npx node test/soak/worst-callers.ts [seconds] [addresses]`: a server at its default settings with one caller that
// behaves, and beside it, one kind after the other, a caller that does not, from one or many addresses. Memory must be
// bounded, and the one that behaves must notice little.
const seconds = Number(process.argv[2] ?? 60);
const REWARDS = 2_000_000;
const addresses = Number(process.argv[3] ?? 1);
/** Largest ratio of the p99 beside bad callers to that of a quiet server, and most memory above that of a quiet one. */
const SLOWER_MAX = 3;
const GROWTH_BYTES_MAX = 1024 * 2 ** 20;
const MIB = 2 ** 20;
const BIN = fileURLToPath(new URL('../../serve/bin.js', import.meta.url));
const ALL_REWARDS = '/api/daily-staking-rewards?start_date=2024-01-01&end_date=2099-01-01';

const directory = temporaryDirectory();

/** Tables as they are after years: long series of many chains, and the rewards of thousands of accounts a day. */
async function fill(): Promise<void> {
  const pipeline = await openPipeline(readConfig({ DATA_DIR: directory.path, LOG_LEVEL: 'warn' }));
  const { store } = pipeline.runtime;
  for (const { table } of [dailySummary, dailyTps]) {
    await store.run(
      sql`INSERT INTO ${table} (relay_chain, chain, date) SELECT 'polkadot', concat('chain-', toString(number % 80)),
        toDate('2023-01-01') + intDiv(number, 80) FROM numbers(90000)`,
    );
  }
  const key = raw('lower(hex(sipHash128(number % 8000)))');
  await store.run(
    sql`INSERT INTO ${dailyStakingRewards.table} (relay_chain, chain, date, account, account_key, reward, num_payouts)
      SELECT 'polkadot', 'polkadot', toDate('2024-01-01') + intDiv(number, 8000), base58Encode(${key}), concat('0x', ${key}, ${key}),
        number / 7, 1 FROM numbers(${REWARDS})`,
  );
  await pipeline.close();
}

async function startServer(port: number): Promise<ChildProcess> {
  const env = { ...process.env, DATA_DIR: directory.path, PORT: String(port), LOG_LEVEL: 'warn' };
  const server = spawn(process.execPath, [BIN, 'start'], { env, stdio: ['ignore', 'inherit', 'pipe'] });
  for await (const line of createInterface({ input: server.stderr as NodeJS.ReadableStream })) {
    if (line.includes('answers on')) break;
  }
  server.stderr?.resume();
  return server;
}

const rssOf = ({ pid }: ChildProcess) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

/** Loopback has many addresses: the server sees as many callers. */
const addressOf = (n: number) => `127.0.0.${2 + (n % addresses)}`;

/** Calls until it is told to stop. */
type Caller = (port: number, stop: AbortSignal) => Promise<void>;

function open(port: number, n: number, text: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(n) });
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`;
const day = (n: number) => new Date(Date.UTC(2023, 0, 1 + (n % 300))).toISOString().slice(0, 10);

/** Keeps so many connections; each that the server closes is opened again. */
const keeping =
  (count: number, begin: (port: number, n: number) => Socket): Caller =>
  async (port, stop) => {
    let n = 0;
    const sockets = new Set<Socket>();
    while (!stop.aborted) {
      while (sockets.size < count) {
        const socket = begin(port, n++);
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      }
      await pause(200);
    }
    for (const socket of sockets) socket.destroy();
  };

const WORST: Readonly<Record<string, Caller>> = {
  'readers that take nothing': keeping(40, (port, n) =>
    open(port, n, get(`/api/daily-summary?start_date=${day(n)}&end_date=2099-12-31`)).pause(),
  ),
  'readers that hang up': async (port, stop) => {
    for (let n = 0; !stop.aborted; n++) {
      const socket = open(port, n, get(`${ALL_REWARDS}&limit=${1 + (n % 10_000)}`));
      setTimeout(() => socket.destroy(), 50);
      await pause(10);
    }
  },
  'dear questions': keeping(30, (port, n) =>
    open(
      port,
      n,
      get(
        `${ALL_REWARDS}&accounts=15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5&limit=${1 + (n % 10_000)}`,
      ),
    )
      .resume()
      .once('data', function (this: Socket) {
        this.end();
      }),
  ),
  'bodies without an end': keeping(900, (port, n) => {
    const socket = open(
      port,
      n,
      'POST /oauth/token HTTP/1.1\r\nhost: test\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 100000\r\n\r\n',
    );
    const drip = setInterval(() => socket.write('a'), 5000);
    socket.resume().once('close', () => clearInterval(drip));
    return socket;
  }),
};

interface Measured {
  readonly p99: number;
  readonly readyMax: number;
  readonly rssMax: number;
  readonly refused: number;
}

/** One caller that asks small questions, each of them new, and a probe. */
async function measure(port: number, server: ChildProcess, from: number): Promise<Measured> {
  const agent = new Agent({ keepAlive: true });
  const took: number[] = [];
  const [readyTook, rss]: number[][] = [[], []];
  let refused = 0;
  const ask = async (path: string) => {
    const began = performance.now();
    const asked = request({ port, host: '127.0.0.1', path, agent }).end();
    const [answer] = await once(asked, 'response');
    for await (const _ of answer) {
      // Read to its end.
    }
    if (answer.statusCode !== 200) refused++;
    return performance.now() - began;
  };
  const until = Date.now() + seconds * 1000;
  for (let n = from; Date.now() < until; n++) {
    took.push(
      await ask(
        `/api/daily-tps?relay_chain=polkadot&chain=chain-${n % 80}&start_date=${day(n)}&limit=${1 + (n % 999)}`,
      ),
    );
    if (n % 10 === 0) readyTook?.push(await ask('/health/ready'));
    rss?.push(rssOf(server));
    await pause(150);
  }
  agent.destroy();
  took.sort((a, b) => a - b);
  return {
    p99: took[Math.floor(took.length * 0.99)] ?? 0,
    readyMax: Math.max(...(readyTook ?? [])),
    rssMax: Math.max(...(rss ?? [])),
    refused,
  };
}

await fill();
const port = await freePort();
const server = await startServer(port);
const faults: string[] = [];
try {
  const show = (name: string, { p99, readyMax, rssMax, refused }: Measured) =>
    process.stdout.write(
      `${name.padEnd(28)} p99 ${p99.toFixed(0)} ms, ready in ${readyMax.toFixed(0)} ms at most, ${(rssMax / MIB).toFixed(0)} MiB, ${refused} refused\n`,
    );
  const quiet = await measure(port, server, 0);
  show('quiet', quiet);
  for (const [i, [name, caller]] of Object.entries(WORST).entries()) {
    const stop = new AbortController();
    const calling = caller(port, stop.signal);
    const beside = await measure(port, server, (i + 1) * 100_000 + 7);
    stop.abort();
    await calling;
    show(name, beside);
    if (beside.p99 > quiet.p99 * SLOWER_MAX)
      faults.push(`${name}: ${(beside.p99 / quiet.p99).toFixed(1)} times slower`);
    if (beside.rssMax > quiet.rssMax + GROWTH_BYTES_MAX)
      faults.push(`${name}: ${(beside.rssMax / MIB).toFixed(0)} MiB`);
    if (beside.refused > 0)
      faults.push(`${name}: ${beside.refused} requests of the other caller were refused`);
  }
} finally {
  server.kill('SIGKILL');
  directory[Symbol.dispose]();
}
process.stdout.write(faults.length === 0 ? 'bounded\n' : `${faults.join('\n')}\n`);
process.exit(faults.length === 0 ? 0 : 1);
