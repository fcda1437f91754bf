import { setTimeout as pause } from 'node:timers/promises';
import { readFailedMetrics } from '../../aggregate/runner/failures.ts';
import { sql } from '../../infra/sql.ts';
import { Random } from '../../ingest/demo/random.ts';
import { blocks } from '../../ingest/raw/tables.ts';
import { readSkippedHeights } from '../../ingest/sources/skipped-heights.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { until } from '../infra/ports/opened.ts';
import { FakeSidecar, recordedBlocks } from '../ingest/sources/fake-sidecar.ts';
import type { InputLine } from '../reference/input.ts';
import { contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { Mirror } from '../support/mirror.ts';
import { ingestLines } from '../support/pipeline.ts';
import { startServices } from '../support/services/index.ts';
import { contentOfCleanRun, everythingRecorded } from './clean-run.ts';
import {
  type Deployment,
  HAPPENINGS,
  type Happening,
  killed,
  MORE_HAPPENINGS,
  startSkewed,
} from './happenings.ts';
import type { RoleProcess } from './roles.ts';

export interface ChaosReport {
  /** What was done to the deployment, and how often. */
  readonly done: Readonly<Record<string, number>>;
  /** Rows that differ from a clean run at the end. */
  readonly faults: readonly string[];
}

const PROCESS_ROLES = ['ingest', 'load', 'load', 'work', 'work', 'serve'];
/** The chain that `ingest` follows, block by block; all others are fed as files. */
const FOLLOWED = 'polkadot';
/** Everything has been taken in and computed so long after the last fault. */
const SETTLED_MS_MAX = 180_000;
const FOLLOWED_POLL_MS = 200;
/** A server that waits for a service is left. */
const READ_MS_MAX = 2000;

export interface ChaosOptions {
  readonly seed: number;
  /** How much of what is recorded is taken in, from 0 to 1. */
  readonly share: number;
  readonly kills: number;
  /** Whether what takes longer happens too. */
  readonly isLong?: boolean;
  readonly onStep?: (report: ChaosReport) => void;
}

/**
 * Feeds lines in random portions and follows a chain that grows, while processes die and services go; then compares
 * with a clean run. The clock of each process is wrong by days. Every process is killed as often as any other, and
 * everything else happens at least once.
 */
export async function live({
  seed,
  share,
  kills,
  isLong = false,
  onStep,
}: ChaosOptions): Promise<ChaosReport> {
  const random = new Random(seed);
  const chain = recordedBlocks(FOLLOWED);
  const lines = everythingRecorded().filter(({ chain }) => chain !== FOLLOWED && random.chance(share));
  const followed = [...chain.values()].map((line) => ({ line, chain: FOLLOWED }));
  const expected = await contentOfCleanRun([...lines, ...followed]);

  await using source = await new FakeSidecar([...chain.values()]).listen();
  await using services = await startServices();
  const environment = services.environment({
    SERVICE_WAIT_SECONDS: '120',
    LOG_LEVEL: 'warn',
    METRIC_ATTEMPTS: '1000',
    METRIC_RETRY_SECONDS_MAX: '2',
    FOLLOW: `${FOLLOWED}=${source.url}`,
    FOLLOW_SNAPSHOTS: 'false',
    ...{ ANONYMOUS_PER_MINUTE: '0', ANONYMOUS_PER_DAY: '0', ANONYMOUS_STORE_SECONDS: '0' },
  });
  const [first = 0, last = 0] = [Math.min(...chain.keys()), Math.max(...chain.keys())];
  source.finalized = first;
  const processes = await Promise.all(
    PROCESS_ROLES.map((role) => startSkewed(role, environment, random, true)),
  );
  const producer = await joinPipeline(environment, 'ingest');
  const roles = PROCESS_ROLES.map((name, i) => ({ name, process: processes[i] as RoleProcess }));
  const deployment: Deployment = { services, environment, roles, producer };
  const copy = new Mirror();
  const report = { done: {} as Record<string, number>, faults: [] as string[] };
  try {
    const feeding = feed(producer, lines, random);
    // A failure is thrown where it is waited for.
    feeding.catch(() => undefined);
    // A chain of which nothing is stored is followed from its newest block on, whenever that is.
    await until('the first block is followed', () => isFollowed(producer, 1), SETTLED_MS_MAX);
    const schedule = scheduleOf(kills, isLong, random);
    for (const [step, [what, happen]] of schedule.entries()) {
      await pause(random.whole(100, 1300));
      source.finalized = Math.max(first, Math.floor(first + ((last - first) * step) / schedule.length));
      await happen(deployment, random);
      report.done[what] = (report.done[what] ?? 0) + 1;
      onStep?.(report);
      // Where it meets what is away it stays as it was.
      await copy.follow(reading(deployment, READ_MS_MAX)).catch(() => undefined);
    }
    source.finalized = last;
    await Promise.race([caughtUp(deployment, feeding, followed.length, random), tooLate(deployment)]);
    report.faults.push(...differences(await contentOf(producer), expected));
    const read = reading(deployment, SETTLED_MS_MAX);
    await copy.follow(read);
    report.faults.push(...(await copy.differences(read)).filter(isOfAnyClock));
  } finally {
    await Promise.all(deployment.roles.map(({ process }) => process.kill()));
    await producer.close();
  }
  return report;
}

const reading =
  ({ roles }: Deployment, msMax: number) =>
  async (url: string) => {
    const server = roles.find(({ name }) => name === 'serve')?.process.url;
    const answer = await fetch(`${server}${url}`, { signal: AbortSignal.timeout(msMax) });
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    return answer.json();
  };

/** Its rates of the running day depend on the clock of the server. */
const isOfAnyClock = (difference: string) => !difference.startsWith('/api/daily-tps ');

async function caughtUp(
  deployment: Deployment,
  feeding: Promise<void>,
  followed: number,
  random: Random,
): Promise<void> {
  const { producer, roles, environment } = deployment;
  // A process that found a service gone while it started has ended, and whoever runs it starts it again.
  for (const role of roles) {
    if (role.process.child.exitCode !== null)
      role.process = await startSkewed(role.name, environment, random, false);
  }
  await feeding;
  while (!(await isFollowed(producer, followed))) await pause(FOLLOWED_POLL_MS);
  await producer.waitUntilComputed();
}

/** What stands still says where: whatever waits for a service for good would be found only by waiting for good. */
async function tooLate({ roles, producer }: Deployment): Promise<never> {
  await pause(SETTLED_MS_MAX, undefined, { ref: false });
  const { log, store } = producer.runtime;
  const facts = {
    lag: await log.lag(),
    pending: [...(await producer.aggregator.pending())],
    failed: await readFailedMetrics(store),
    followed: await store.rows(
      sql`SELECT count() AS n, max(number) AS newest FROM ${blocks} FINAL WHERE chain = ${FOLLOWED}`,
    ),
    skipped: await readSkippedHeights(store),
  };
  const words = roles.map(({ name, process }) => `${name} (${process.child.exitCode}): ${process.said()}`);
  throw new Error(
    `after ${SETTLED_MS_MAX} ms it has not caught up: ${JSON.stringify(facts)}\n${words.join('\n')}`,
  );
}

function scheduleOf(
  kills: number,
  isLong: boolean,
  random: Random,
): (readonly [what: string, happen: Happening])[] {
  const others = Object.entries({ ...HAPPENINGS, ...(isLong ? MORE_HAPPENINGS : {}) });
  const more = Array.from({ length: Math.floor(kills / 5) }, () => random.pick(others));
  const deaths = Array.from({ length: kills }, (_, i) => {
    const place = i % PROCESS_ROLES.length;
    return [`${PROCESS_ROLES[place]} is killed`, killed(place)] as const;
  });
  return random.shuffled([...deaths, ...others, ...more]);
}

async function isFollowed(pipeline: Pipeline, count: number): Promise<boolean> {
  const [row] = await pipeline.runtime.store.rows<{ n: number }>(
    sql`SELECT count() AS n FROM ${blocks} FINAL WHERE chain = ${FOLLOWED}`,
  );
  return row?.n === count;
}

async function feed(producer: Pipeline, lines: readonly InputLine[], random: Random): Promise<void> {
  for (let at = 0; at < lines.length; ) {
    const some = lines.slice(at, at + random.whole(1, 40));
    at += some.length;
    await ingestLines(producer, some);
  }
}
