import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import kafkajs from 'kafkajs';
import { readFailedMetrics } from '../../aggregate/runner/failures.ts';
import { DATABASE } from '../../infra/sql.ts';
import type { Random } from '../../ingest/demo/random.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { until } from '../infra/ports/opened.ts';
import type { Services } from '../support/services/index.ts';
import type { Service } from '../support/services/service.ts';
import { poison } from './poison.ts';
import { type RoleProcess, startRole } from './roles.ts';

/** What runs while a happening happens. */
export interface Deployment {
  readonly services: Services;
  readonly environment: Record<string, string>;
  readonly roles: { name: string; process: RoleProcess }[];
  readonly producer: Pipeline;
}

const AWAY_MS_MAX = 2500;
const GUESTS = 3;
/** As the liveness probe of the guide gives a busy process. */
const PROBE_MS = 10_000;
const ALIVE_MS_MAX = 60_000;
/** Clocks of processes are wrong by as much, either way. */
const SKEW_HOURS_MAX = 24 * 5;
const PARTITIONS_MAX = 12;
/** A metric without new blocks does not fail. */
const TOLD_MS_MAX = 15_000;
const STARTED_MS_MAX = 60_000;
const SKEWED_CLOCK = new URL('../support/skewed-clock.ts', import.meta.url).href;

export type Happening = (deployment: Deployment, random: Random) => Promise<void>;

/** Starts a process whose clock is wrong by days. */
export const startSkewed = (
  name: string,
  environment: Record<string, string>,
  random: Random,
  waits: boolean,
): Promise<RoleProcess> =>
  startRole(
    name,
    {
      ...environment,
      NODE_OPTIONS: `--import ${SKEWED_CLOCK}`,
      CLOCK_SKEW_HOURS: String(random.whole(-SKEW_HOURS_MAX, SKEW_HOURS_MAX)),
    },
    waits,
  );

export const killed =
  (...places: number[]): Happening =>
  async ({ roles, environment }, random) => {
    await Promise.all(
      places.map(async (place) => {
        const role = roles[place] as Deployment['roles'][number];
        await role.process.kill();
        role.process = await startSkewed(role.name, environment, random, false);
      }),
    );
  };

/** What else may happen at any moment; each leaves the deployment as many processes and services as before. */
export const HAPPENINGS: Readonly<Record<string, Happening>> = {
  'processes come and go at once': async ({ environment }, random) => {
    const guests = Array.from({ length: GUESTS }, async () => {
      const guest = await startSkewed(random.pick(['load', 'load', 'work']), environment, random, false);
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
async function readAgain({ environment, roles }: Deployment, random: Random): Promise<void> {
  const loads = roles.filter(({ name }) => name === 'load');
  await Promise.all(loads.map(({ process }) => process.kill('SIGTERM')));
  const admin = await administrator(environment);
  const groups = Object.values(TOPICS).map((topic) => `load.${topic}`);
  // Members that were killed count for as long as their sessions last; a group that was never there is gone too.
  const areGone = () =>
    admin.deleteGroups(groups).then(
      () => true,
      ({ groups: left }) => !left?.some(({ error }: { error: { type: string } }) => isHeld(error)),
    );
  await until('nobody reads', areGone);
  await admin.disconnect();
  for (const role of loads) role.process = await startSkewed(role.name, environment, random, false);
}

const isHeld = ({ type }: { type: string }) => type !== 'GROUP_ID_NOT_FOUND';

/** What takes longer, for lives that have the time. */
export const MORE_HAPPENINGS: Readonly<Record<string, Happening>> = {
  'two processes of different roles are killed at once': (deployment, random) => {
    const places = random.shuffled(deployment.roles.map((_, place) => place));
    const [first = 0] = places;
    const other = places.find((place) => deployment.roles[place]?.name !== deployment.roles[first]?.name);
    return killed(first, other ?? first)(deployment, random);
  },
  'Redis is emptied again and again while rounds run': async (deployment, random) => {
    for (let i = 0; i < 5; i++) {
      await HAPPENINGS['Redis is emptied']?.(deployment, random);
      await pause(random.whole(50, 600));
    }
  },
  'ClickHouse hangs': ({ services, roles }, random) => hanging(services.clickhouse, roles, random),
  'Redis hangs': ({ services, roles }, random) => hanging(services.redis, roles, random),
  'Kafka hangs': ({ services, roles }, random) => hanging(services.kafka, roles, random),
  'partitions are increased': morePartitions,
  'a metric fails': failingMetric,
};

/** While a service hangs, every process that has started answers that it lives. */
async function hanging(service: Service, roles: Deployment['roles'], random: Random): Promise<void> {
  await service.pause();
  try {
    const end = Date.now() + random.whole(1000, 8000);
    while (Date.now() < end) {
      for (const { name, process } of roles) await requireLife(name, process);
      await pause(250);
    }
  } finally {
    await service.resume();
  }
}

async function requireLife(name: string, process: RoleProcess): Promise<void> {
  if (process.url === '' || isOver(process)) return;
  await until(`${name} says that it lives`, async () => (await probe(process, 'live')) === 200, ALIVE_MS_MAX);
}

/** The status of a probe; 0 where it was not answered in time. */
async function probe({ url }: RoleProcess, name: 'live' | 'startup'): Promise<number> {
  if (url === '') return 0;
  return fetch(`${url}/health/${name}`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.status;
    },
    () => 0,
  );
}

const isOver = ({ child }: RoleProcess) => child.exitCode !== null || child.signalCode !== null;

async function morePartitions({ environment }: Deployment): Promise<void> {
  const admin = await administrator(environment);
  const { topics } = await admin.fetchTopicMetadata({ topics: Object.values(TOPICS) });
  const topicPartitions = topics
    .map(({ name, partitions }) => ({ topic: name, count: 2 * partitions.length }))
    .filter(({ count }) => count <= PARTITIONS_MAX);
  if (topicPartitions.length > 0) await admin.createPartitions({ topicPartitions });
  await admin.disconnect();
}

/** Its failure is told, whatever else happens meanwhile; with its table it is whole again. */
async function failingMetric({ producer, roles }: Deployment): Promise<void> {
  // One that starts would make the table that lacks.
  for (const { name, process } of roles) {
    const hasStarted = async () => isOver(process) || (await probe(process, 'startup')) === 200;
    await until(`${name} has started`, hasStarted, STARTED_MS_MAX);
  }
  const { store } = producer.runtime;
  const rename = (from: string, to: string) =>
    store.run(`RENAME TABLE ${DATABASE}.${from} TO ${DATABASE}.${to}`);
  await rename('daily_tps', 'daily_tps_hidden');
  const isTold = async () => (await readFailedMetrics(store)).some(({ metric }) => metric === 'daily_tps');
  await until('the failure is told', isTold, TOLD_MS_MAX).catch(() => undefined);
  await rename('daily_tps_hidden', 'daily_tps');
}

async function administrator(environment: Record<string, string>): Promise<kafkajs.Admin> {
  const brokers = (environment.KAFKA_BROKERS as string).split(',');
  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  return admin;
}
