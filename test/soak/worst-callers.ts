import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { dailySummary } from '../../aggregate/metrics/activity/daily-summary.ts';
import { dailyTps } from '../../aggregate/metrics/activity/daily-tps.ts';
import { dailyStakingRewards } from '../../aggregate/metrics/staking/daily-staking-rewards.ts';
import { raw, sql } from '../../infra/sql.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { badCallers, day } from './bad-callers.ts';

// `npx node test/soak/worst-callers.ts [seconds] [addresses]`: a server at its default settings with one caller that
// behaves, and beside it, one kind after the other, a caller that does not, from one or many addresses. Memory must be
// bounded, and the one that behaves must notice little.
const seconds = Number(process.argv[2] ?? 60);
const REWARDS = 2_000_000;
const addresses = process.argv[3] ?? '1';
/** Largest ratio of the p99 beside bad callers to that of a quiet server, and most memory above that of a quiet one. */
const SLOWER_MAX = 3;
const GROWTH_BYTES_MAX = 1024 * 2 ** 20;
const MIB = 2 ** 20;
const BIN = fileURLToPath(new URL('../../serve/chain-metrics', import.meta.url));
const BAD_CALLERS = fileURLToPath(new URL('bad-callers.ts', import.meta.url));

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
  const server = spawn(BIN, ['start'], { env, stdio: ['ignore', 'inherit', 'pipe'] });
  for await (const line of createInterface({ input: server.stderr as NodeJS.ReadableStream })) {
    if (line.includes('answers on')) break;
  }
  server.stderr?.resume();
  return server;
}

const rssOf = ({ pid }: ChildProcess) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

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
  for (const [i, name] of Object.keys(badCallers).entries()) {
    // In a process of its own: what it takes to be a bad caller is no part of what the other one waits.
    const caller = fork(BAD_CALLERS, [name, String(port), addresses]);
    const beside = await measure(port, server, (i + 1) * 100_000 + 7);
    caller.kill('SIGKILL');
    await once(caller, 'exit');
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
