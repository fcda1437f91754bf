/**
 * `TEST_SERVICES=processes npx node test/bench/work-processes.ts [days] [blocks] [rounds]`: a history of many days
 * computed again by one `work` process and by two, each on a core of its own and with one window at a time. The store and
 * the other services run on the same cores, so it shows how much of the work is shared, and not what two machines with
 * a store of their own would do.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { computedWindows } from '../../aggregate/runner/ledger.ts';
import { DAY_MS } from '../../infra/days.ts';
import { sql } from '../../infra/sql.ts';
import { blocks, dirtyDays } from '../../ingest/raw/tables.ts';
import { type RoleProcess, startRole } from '../distributed/roles.ts';
import { joinPipeline } from '../support/distributed.ts';
import { writeHistory } from '../support/made-history.ts';
import { startServices } from '../support/services/index.ts';
import { BENCH_SETTINGS } from './history.ts';
import { median } from './measure.ts';

const [days = 1500, count = 30_000, rounds = 1] = process.argv.slice(2).map(Number);
const GOAL = 1.7;
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK']));
const FROM = '2020-01-01';
const UNTIL = new Date(Date.parse(FROM) + days * DAY_MS).toISOString().slice(0, 10);
const CHAINS = ['polkadot', 'asset-hub-polkadot', 'moonbeam', 'acala', 'hydration'];

interface Rebuild {
  readonly seconds: number;
  /** Seconds of processor time. */
  readonly store: number;
  readonly work: readonly number[];
  /** Windows that were being computed at a time, on average: that much was shared, however busy the machine was. */
  readonly atOnce: number;
  /** Both cores together: what nobody used, on a machine that may do other work. */
  readonly idle: number;
}

await using services = await startServices();
// As an operator has it: what looks for lost work each second in tests would weigh as much as the windows.
const environment = services.environment({ ...BENCH_SETTINGS, WORK_CONCURRENCY: '1', SWEEP_SECONDS: '5' });
const operator = await joinPipeline(environment, 'ingest');
const first = await startWork(0);
const { store } = operator.runtime;
await writeHistory(store, { blocks: count, chains: CHAINS, relay_chain: 'polkadot', from: FROM, days });
await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
  SELECT DISTINCT 'blocks', '', relay_chain, chain, toDate(assumeNotNull(time)), 1 FROM ${blocks}`);
await operator.waitUntilComputed();

const measured: Rebuild[][] = [[], []];
let windows = 0;
for (let round = 0; round < rounds; round++) {
  const alone = await rebuildBy([first]);
  const second = await startWork(1);
  const both = await rebuildBy([first, second]);
  await second.kill('SIGTERM');
  console.log(`one: ${described(alone)}\ntwo: ${described(both)}`);
  measured[0]?.push(alone);
  measured[1]?.push(both);
}
await first.kill('SIGTERM');
await operator.close();

const [one, two] = measured.map((some) => median(some.map(({ seconds }) => seconds))) as [number, number];
const cores = availableParallelism();
const spent = median((measured[0] as Rebuild[]).map(total));
console.log(`${windows} windows of ${days} days: ${(one / two).toFixed(2)} times as fast, goal ${GOAL}`);
console.log(
  `With one process ${((spent / one / cores) * 100).toFixed(0)} % of ${cores} cores were busy, so this machine allows ${((one * cores) / spent).toFixed(2)}`,
);
process.exit(0);

/** A process that stays on one core. */
async function startWork(core: number): Promise<RoleProcess> {
  const role = await startRole('work', environment);
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(role.child.pid)]);
  return role;
}

async function rebuildBy(works: readonly RoleProcess[]): Promise<Rebuild> {
  if (services.clickhouse.pid === undefined) throw new Error('the store is no process: set TEST_SERVICES');
  const pids = [services.clickhouse.pid, ...works.map(({ child }) => child.pid as number)];
  const before = pids.map(processorSeconds);
  const [idleBefore, began] = [idleSeconds(), performance.now()];
  windows = await operator.aggregator.rebuild(materializedMetrics, FROM, UNTIL);
  const seconds = (performance.now() - began) / 1000;
  const [store = 0, ...work] = pids.map((pid, i) => processorSeconds(pid) - (before[i] as number));
  const idle = idleSeconds() - idleBefore;
  return { seconds, store, work, idle, atOnce: (await computingSeconds(began)) / seconds };
}

/** Of all windows that were computed since then. */
async function computingSeconds(began: number): Promise<number> {
  const since = new Date(performance.timeOrigin + began).toISOString();
  const [row] = await store.rows<{ seconds: number }>(
    sql`SELECT sum(milliseconds) / 1000 AS seconds FROM ${computedWindows} WHERE computed_at >= parseDateTime64BestEffort(${since}, 3)`,
  );
  return row?.seconds ?? 0;
}

function processorSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Of all cores since the machine was started. */
function idleSeconds(): number {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.trim().split(/\s+/) ?? [];
  return Number(fields[4]) / TICKS_PER_SECOND;
}

function total({ store, work }: Rebuild): number {
  return work.reduce((sum, own) => sum + own, store);
}

function described({ seconds, store, work, idle, atOnce }: Rebuild): string {
  const own = work.map((busy) => busy.toFixed(1)).join(' and ');
  return `${seconds.toFixed(1)} s, ${atOnce.toFixed(2)} windows at a time; processor time of the store ${store.toFixed(1)} s, of work ${own} s; ${idle.toFixed(1)} s of the cores were idle`;
}
