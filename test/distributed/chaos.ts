import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Engine } from '../../aggregate/engine.ts';
import type { InputLine } from '../reference/input.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import { joinEngine } from '../support/distributed.ts';
import { ingestLines } from '../support/engine.ts';
import type { Random } from '../support/random.ts';
import { type Services, startServices } from '../support/services/index.ts';
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
  readonly producer: Engine;
}

const ROLES = ['load', 'load', 'work', 'work', 'serve'];
const AWAY_MS_MAX = 2500;

/** What may happen to a deployment at any moment; each leaves it as many processes and services as before. */
const HAPPENINGS: Readonly<Record<string, (deployment: Deployment, random: Random) => Promise<void>>> = {
  'a process is killed': async (deployment, random) => {
    const role = random.pick(deployment.roles);
    await role.process.kill();
    role.process = await startRole(role.name, deployment.environment, false);
  },
  'a process comes and goes': async ({ environment }, random) => {
    const guest = await startRole(random.pick(['load', 'work']), environment, false);
    await pause(random.whole(500, 4000));
    await guest.kill(random.chance(0.5) ? 'SIGTERM' : 'SIGKILL');
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
};

async function away(service: Services['redis'], random: Random): Promise<void> {
  await service.stop();
  await pause(random.whole(200, AWAY_MS_MAX));
  await service.start();
}

export interface ChaosOptions {
  readonly lines: readonly InputLine[];
  readonly expected: Content;
  readonly random: Random;
  readonly kills: number;
  readonly onStep?: (report: ChaosReport) => void;
}

/** Feeds lines in random portions while processes die and services go, then compares with a clean run. */
export async function live({ lines, expected, random, kills, onStep }: ChaosOptions): Promise<ChaosReport> {
  await using services = await startServices();
  const environment = services.environment({ SERVICE_WAIT_SECONDS: '120', JOB_ATTEMPTS: '100' });
  const processes = await Promise.all(ROLES.map((role) => startRole(role, environment)));
  const producer = await joinEngine(environment, 'ingest');
  const roles = ROLES.map((name, i) => ({ name, process: processes[i] as RoleProcess }));
  const deployment: Deployment = { services, environment, roles, producer };
  const report = { done: {} as Record<string, number>, faults: [] as string[] };
  const note = (what: string) => {
    report.done[what] = (report.done[what] ?? 0) + 1;
    onStep?.(report);
  };
  try {
    const feeding = feed(producer, lines, random);
    // A failure is thrown where it is waited for.
    feeding.catch(() => undefined);
    const named = Object.entries(HAPPENINGS);
    while ((report.done['a process is killed'] ?? 0) < kills) {
      await pause(random.whole(100, 1500));
      const [what, happen] = random.chance(0.6) ? (named[0] as (typeof named)[number]) : random.pick(named);
      await happen(deployment, random);
      note(what);
    }
    await feeding;
    await producer.settle();
    report.faults.push(...differences(await contentOf(producer), expected));
  } finally {
    await Promise.all(deployment.roles.map(({ process }) => process.kill()));
    await producer.close();
  }
  return report;
}

async function feed(producer: Engine, lines: readonly InputLine[], random: Random): Promise<void> {
  for (let at = 0; at < lines.length; ) {
    const some = lines.slice(at, at + random.whole(1, 40));
    at += some.length;
    await ingestLines(producer, some);
  }
}

const POISON = ['garbage', '{"schema":"block/9"}', '{"payload_last":true,"schema":"block/1","payload":{', ''];

function poison(producer: Engine, random: Random): Promise<void> {
  const messages = Array.from({ length: 5 }, () => ({
    key: String(random.whole(1, 100)),
    value: Buffer.from(`${random.pick(POISON)}${random.whole(1, 1e9)}`),
  }));
  return producer.runtime.log.publish('chain.blocks.v1', messages);
}
