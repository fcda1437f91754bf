import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import kafkajs from 'kafkajs';
import { sql } from '../../infra/clickhouse/sql.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import { blocks } from '../../ingest/raw/tables.ts';
import type { Pipeline } from '../../serve/compose.ts';
import { until } from '../infra/ports/opened.ts';
import { FakeSidecar, recordedBlocks } from '../ingest/sources/fake-sidecar.ts';
import type { InputLine } from '../reference/input.ts';
import { contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines } from '../support/pipeline.ts';
import { Random } from '../support/random.ts';
import { type Services, startServices } from '../support/services/index.ts';
import { contentOfCleanRun, everythingRecorded } from './clean-run.ts';
import { type RoleProcess, startRole } from './roles.ts';

export interface ChaosReport {
  /** What was done to the deployment, and how often. */
  readonly done: Readonly<Record<string, number>>;
  /** Rows that differ from a clean run at the end. */
  readonly faults: readonly string[];
}

interface Deployment {
  readonly services: Services;
  readonly environment: Record<string, string>;
  readonly roles: { name: string; process: RoleProcess }[];
  readonly producer: Pipeline;
}

const PROCESS_ROLES = ['ingest', 'load', 'load', 'work', 'work', 'serve'];
/** The chain that `ingest` follows, block by block; all others are fed as files. */
const FOLLOWED = 'polkadot';
const AWAY_MS_MAX = 2500;
const GUESTS = 3;
/** Everything has been taken in and computed so long after the last fault. */
const SETTLED_MS_MAX = 180_000;
const FOLLOWED_POLL_MS = 200;

type Happening = (deployment: Deployment, random: Random) => Promise<void>;

const killed =
  (place: number): Happening =>
  async ({ roles, environment }) => {
    const role = roles[place] as Deployment['roles'][number];
    await role.process.kill();
    role.process = await startRole(role.name, environment, false);
  };

/** What else may happen at any moment; each leaves the deployment as many processes and services as before. */
const HAPPENINGS: Readonly<Record<string, Happening>> = {
  'processes come and go at once': async ({ environment }, random) => {
    const guests = Array.from({ length: GUESTS }, async () => {
      const guest = await startRole(random.pick(['load', 'load', 'work']), environment, false);
      await pause(random.whole(500, 4000));
      await guest.kill(random.chance(0.5) ? 'SIGTERM' : 'SIGKILL');
    });
    await Promise.all(guests);
  },
  'ClickHouse is away': ({ services }, random) => away(services.clickhouse, random),
  'Redis is away': ({ services }, random) => away(services.redis, random),
  'Kafka is away': ({ services }, random) => away(services.kafka, random),
  'Redis is emptied': async ({ environment }) => {
    const redis = new Redis(environment.REDIS_URL as string);
    await redis.flushall();
    redis.disconnect();
  },
  'poison is published': ({ producer }, random) => poison(producer, random),
  'the topics are read again from their start': readAgain,
};

async function away(service: Services['redis'], random: Random): Promise<void> {
  await service.stop();
  await pause(random.whole(200, AWAY_MS_MAX));
  await service.start();
}

/** Forgets how far the log was read, which Kafka lets nobody do while anybody reads. */
async function readAgain({ environment, roles }: Deployment): Promise<void> {
  const loads = roles.filter(({ name }) => name === 'load');
  await Promise.all(loads.map(({ process }) => process.kill('SIGTERM')));
  const admin = new kafkajs.Kafka({
    brokers: (environment.KAFKA_BROKERS as string).split(','),
    logLevel: kafkajs.logLevel.NOTHING,
  }).admin();
  await admin.connect();
  const groups = Object.values(TOPICS).map((topic) => `load.${topic}`);
  // Members that were killed count for as long as their sessions last; a group that was never there is gone too.
  const areGone = () =>
    admin.deleteGroups(groups).then(
      () => true,
      ({ groups: left }) => !left?.some(({ error }: { error: { type: string } }) => isHeld(error)),
    );
  await until('nobody reads', areGone, 30_000);
  await admin.disconnect();
  for (const role of loads) role.process = await startRole(role.name, environment, false);
}

const isHeld = ({ type }: { type: string }) => type !== 'GROUP_ID_NOT_FOUND';

export interface ChaosOptions {
  readonly seed: number;
  /** How much of what is recorded is taken in, from 0 to 1. */
  readonly share: number;
  readonly kills: number;
  readonly onStep?: (report: ChaosReport) => void;
}

/**
 * Feeds lines in random portions and follows a chain that grows, while processes die and services go; then compares
 * with a clean run. Every process is killed as often as any other, and everything else happens at least once.
 */
export async function live({ seed, share, kills, onStep }: ChaosOptions): Promise<ChaosReport> {
  const random = new Random(seed);
  const chain = recordedBlocks(FOLLOWED);
  const lines = everythingRecorded().filter(({ chain }) => chain !== FOLLOWED && random.chance(share));
  const followed = [...chain.values()].map((line) => ({ line, chain: FOLLOWED }));
  const expected = await contentOfCleanRun([...lines, ...followed]);

  await using source = await new FakeSidecar([...chain.values()]).listen();
  await using services = await startServices();
  const environment = services.environment({
    SERVICE_WAIT_SECONDS: '120',
    JOB_ATTEMPTS: '100',
    FOLLOW: `${FOLLOWED}=${source.url}`,
    FOLLOW_SNAPSHOTS: 'false',
  });
  const [first = 0, last = 0] = [Math.min(...chain.keys()), Math.max(...chain.keys())];
  source.finalized = first;
  const processes = await Promise.all(PROCESS_ROLES.map((role) => startRole(role, environment)));
  const producer = await joinPipeline(environment, 'ingest');
  const roles = PROCESS_ROLES.map((name, i) => ({ name, process: processes[i] as RoleProcess }));
  const deployment: Deployment = { services, environment, roles, producer };
  const report = { done: {} as Record<string, number>, faults: [] as string[] };
  try {
    const feeding = feed(producer, lines, random);
    // A failure is thrown where it is waited for.
    feeding.catch(() => undefined);
    const schedule = scheduleOf(kills, random);
    for (const [step, [what, happen]] of schedule.entries()) {
      await pause(random.whole(100, 1300));
      source.finalized = Math.max(first, Math.floor(first + ((last - first) * step) / schedule.length));
      await happen(deployment, random);
      report.done[what] = (report.done[what] ?? 0) + 1;
      onStep?.(report);
    }
    source.finalized = last;
    await Promise.race([caughtUp(deployment, feeding, followed.length), tooLate(deployment)]);
    report.faults.push(...differences(await contentOf(producer), expected));
  } finally {
    await Promise.all(deployment.roles.map(({ process }) => process.kill()));
    await producer.close();
  }
  return report;
}

async function caughtUp(deployment: Deployment, feeding: Promise<void>, followed: number): Promise<void> {
  const { producer, roles, environment } = deployment;
  // A process that found a service gone while it started has ended, and whoever runs it starts it again.
  for (const role of roles) {
    if (role.process.child.exitCode !== null) role.process = await startRole(role.name, environment, false);
  }
  await feeding;
  while (!(await isFollowed(producer, followed))) await pause(FOLLOWED_POLL_MS);
  await producer.waitUntilComputed();
}

/** What stands still says where: whatever waits for a service for good would be found only by waiting for good. */
async function tooLate({ roles }: Deployment): Promise<never> {
  await pause(SETTLED_MS_MAX, undefined, { ref: false });
  const words = roles.map(({ name, process }) => `${name} (${process.child.exitCode}): ${process.said()}`);
  throw new Error(`after ${SETTLED_MS_MAX} ms it has not caught up\n${words.join('\n')}`);
}

function scheduleOf(kills: number, random: Random): (readonly [what: string, happen: Happening])[] {
  const others = Object.entries(HAPPENINGS);
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

const OWN_HEAD = {
  relay_chain: 'kusama',
  chain: 'atlantis',
  number: '1',
  source: 's',
  origin: 'o',
  line: -1,
};
const DEEP = '['.repeat(20_000) + ']'.repeat(20_000);

/** A message of each kind that cannot be loaded, for either stream. */
const POISON: readonly string[] = [
  '',
  'garbage',
  'null',
  '[]',
  '{}',
  '{"schema":"block/9"}',
  '{"schema":"block/1","chain":"atlantis","payload":{}}',
  '{"schema":"block/1","chain":"polkadot","payload":{"number":"1"}}',
  `{"schema":${DEEP}}`,
  '{"schema":"snapshot/1","chain":"polkadot","kind":{"toString":1},"origin":{"line":-1,"origin":{}}}',
  `{"schema":"snapshot/1","kind":${DEEP}}`,
  '{"payload_last":true,"schema":"block/1","payload":{',
  `{"payload_last":true,${JSON.stringify(OWN_HEAD).slice(1, -1)},"payload":{"number":"1"}}`,
  `{"payload_last":true,${JSON.stringify({ ...OWN_HEAD, chain: 'kusama', line: 1 }).slice(1, -1)},"payload":{"number":"one","hash":5}}`,
  // Compressed it is short.
  '0'.repeat(12 * 2 ** 20),
];

/** Messages of every kind, each behind one key or another, so that blocks stand before and behind them. */
async function poison({ runtime: { log } }: Pipeline, random: Random): Promise<void> {
  for (const topic of Object.values(TOPICS)) {
    const messages = random
      .shuffled(POISON)
      .map((value) => ({ key: String(random.whole(1, 100)), value: Buffer.from(value) }));
    await log.publish(topic, messages);
  }
}
