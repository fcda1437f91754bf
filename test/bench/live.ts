/**
 * A live ecosystem: blocks of many chains arrive one by one, as often as told, and all metrics are computed. How long a
 * block takes until the API counts it, minute by minute.
 *
 *     npx node test/bench/live.ts --rate 12 --chains 50 --minutes 30
 *     npx node test/bench/live.ts --rate 1 --minutes 5 --distributed
 */
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Chain } from '../../ingest/chains/chain.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { buildServer } from '../../serve/application/compose/compose-server.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { startRole } from '../distributed/roles.ts';
import { joinPipeline } from '../support/distributed.ts';
import { isTimed, recordedBlockAt, recordedLines } from '../support/recordings.ts';
import { startServices } from '../support/services/index.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { BENCH_SETTINGS } from './history.ts';
import { type Figure, report } from './measure.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '12' },
    chains: { type: 'string', default: '50' },
    minutes: { type: 'string', default: '5' },
    distributed: { type: 'boolean', default: false },
  },
});
const [rate, chainCount, minutes] = [values.rate, values.chains, values.minutes].map(Number) as [
  number,
  number,
  number,
];
const POLL_MS = 50;
const GOAL = rate > 1 ? { p50: 3, p99: 10 } : { p50: 1, p99: 1 };

interface Live {
  /** Takes one line of a chain. */
  readonly feed: (chain: Chain, line: string) => Promise<unknown>;
  /** The rows of a path of the API. */
  readonly get: (path: string) => Promise<Record<string, unknown>[]>;
  readonly chains: readonly Chain[];
  readonly close: () => Promise<void>;
}

async function embedded(): Promise<Live> {
  const directory = temporaryDirectory();
  const pipeline = await openPipeline(readConfig({ ...BENCH_SETTINGS, DATA_DIR: directory.path }));
  const app = await buildServer(pipeline);
  return {
    ...liveOf(pipeline),
    get: async (url) => {
      const answer = await app.inject({ url });
      return rowsIn(url, answer.statusCode, answer.json());
    },
    close: async () => {
      await app.close();
      await pipeline.close();
      directory[Symbol.dispose]();
    },
  };
}

async function distributed(): Promise<Live> {
  const services = await startServices();
  const environment = services.environment({ KAFKA_PARTITIONS: '6' });
  const producer = await joinPipeline(environment, 'ingest');
  const settings = { ...environment, ...BENCH_SETTINGS };
  const roles = await Promise.all(['load', 'work', 'serve'].map((role) => startRole(role, settings)));
  return {
    ...liveOf(producer),
    get: async (path) => {
      const answer = await fetch(`${roles[2]?.url}${path}`);
      return rowsIn(path, answer.status, await answer.json());
    },
    close: async () => {
      for (const role of roles) await role.kill('SIGTERM');
      await producer.close();
      await services.close();
    },
  };
}

/** A busy server has none yet: it is asked again soon, as a reader would. */
function rowsIn(path: string, status: number, body: unknown): Record<string, unknown>[] {
  if (status === 503) return [];
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body as Record<string, unknown>[];
}

const liveOf = (pipeline: Pipeline): Pick<Live, 'feed' | 'chains'> => ({
  feed: async (chain, line) => {
    await pipeline.ingest(Readable.from([Buffer.from(`${line}\n`)]), { name: chain.name, chain: chain.name });
  },
  chains: pipeline.registry.chains
    .filter(({ relay_chain }) => relay_chain !== 'westend')
    .slice(0, chainCount),
});

const templates = recordedLines('blocks')
  .map(({ line }) => line)
  .filter(isTimed);

const blockOf = (chain: number, height: number): string =>
  recordedBlockAt(templates[(chain * 31 + height * 7) % templates.length] as string, {
    height,
    time: Date.now(),
    hash: (of) => `0x${(chain * 1e9 + of).toString(16).padStart(64, '0')}`,
  });

const live = await (values.distributed ? distributed() : embedded());
const key = (relay: unknown, chain: unknown) => `${relay}/${chain}`;
/** When the blocks of each chain were handed over that the API does not count yet. */
const waiting = new Map(live.chains.map((chain) => [key(chain.relay_chain, chain.name), [] as number[]]));
const counted = new Map<string, number>();
const latencies: { at: number; seconds: number }[] = [];
const days = new Set<string>();
const failures: unknown[] = [];
let isFeeding = true;

async function look(): Promise<void> {
  const [from] = [...days].sort();
  const path = (relay: string) => `/api/daily-tps?relay_chain=${relay}&start_date=${from}`;
  for (const relay of ['polkadot', 'kusama']) {
    const totals = new Map<string, number>();
    for (const { relay_chain, chain, num_blocks } of await live.get(path(relay))) {
      const of = key(relay_chain, chain);
      totals.set(of, (totals.get(of) ?? 0) + Number(num_blocks));
    }
    const now = performance.now();
    for (const [of, total] of totals) {
      const seen = waiting.get(of)?.splice(0, total - (counted.get(of) ?? 0)) ?? [];
      counted.set(of, total);
      for (const began of seen) latencies.push({ at: began, seconds: (now - began) / 1000 });
    }
  }
}

const began = performance.now();
const blocks = Math.round(rate * minutes * 60);
const before = process.cpuUsage();
const looking = (async () => {
  while (isFeeding || [...waiting.values()].some((own) => own.length > 0)) {
    await pause(POLL_MS);
    if (days.size > 0) await look();
  }
})();
const feeding: Promise<unknown>[] = [];
for (let i = 0; i < blocks; i++) {
  await pause(Math.max(0, began + (i * 1000) / rate - performance.now()));
  const at = i % live.chains.length;
  const chain = live.chains[at] as Chain;
  days.add(new Date().toISOString().slice(0, 10));
  waiting.get(key(chain.relay_chain, chain.name))?.push(performance.now());
  const line = blockOf(at, 1_000_000 + Math.floor(i / live.chains.length));
  feeding.push(live.feed(chain, line).catch((error) => failures.push(error)));
}
await Promise.all(feeding);
isFeeding = false;
await looking;
const { user, system } = process.cpuUsage(before);
await live.close();
if (failures.length > 0) throw failures[0];

const at = (share: number, of: readonly number[]) =>
  of[Math.min(of.length - 1, Math.floor(of.length * share))] as number;
function percentiles(of: readonly { seconds: number }[]) {
  const sorted = of.map(({ seconds }) => seconds).sort((a, b) => a - b);
  return { p50: at(0.5, sorted), p99: at(0.99, sorted), most: sorted.at(-1) as number };
}
const shown = ({ p50, p99 }: { p50: number; p99: number }) =>
  `p50 ${p50.toFixed(2)} s, p99 ${p99.toFixed(2)} s`;
const byMinute = Map.groupBy(latencies, (one) => Math.floor((one.at - began) / 60_000));
const all = percentiles(latencies);
const cpu = (user + system) / 1e6;
const figure: Figure = {
  work: `${rate} blocks a second of ${live.chains.length} chains, ${minutes} minutes, ${values.distributed ? 'distributed' : 'embedded'}`,
  peer: '',
  figure: `${shown(all)}, slowest ${all.most.toFixed(1)} s`,
  goal: `p50 <= ${GOAL.p50} s, p99 <= ${GOAL.p99} s`,
  met: all.p50 <= GOAL.p50 && all.p99 <= GOAL.p99,
  details: [
    `${latencies.length} of ${blocks} blocks; this process took ${(cpu / (minutes * 60)).toFixed(2)} s of processor time a second`,
    ...[...byMinute].map(([minute, own]) => `minute ${minute + 1}: ${shown(percentiles(own))}`),
  ],
};
report([figure]);
process.exit(0);
