import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { ALERTS_TOPIC, decodeEvent } from '../../aggregate/alerts/model/event.ts';
import { alertEvents } from '../../aggregate/alerts/model/tables.ts';
import { sql } from '../../infra/sql.ts';
import { Random } from '../../ingest/demo/random.ts';
import { createKey } from '../../serve/accounts/keys.ts';
import { createUser } from '../../serve/accounts/users.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { until } from '../infra/ports/opened.ts';
import { judge, type Verdict } from '../serve/alerts/accepted.ts';
import { STATE_RULES } from '../serve/alerts/made.ts';
import { Senders, type Target } from '../serve/alerts/senders.ts';
import { joinPipeline } from '../support/distributed.ts';
import { type Services, startServices } from '../support/services/index.ts';
import { freePort } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type RoleProcess, startRole } from './roles.ts';

const WINDOWS = { retryMs: 2000, namedMs: 3_600_000 };
const SERVERS = 2;
/** As many as there are partitions and one more: batches hold events of several of each. */
const PROJECTS = 4;
/** Longer than a group misses a member that says nothing. */
const PAUSED_MS = 8000;
const KAFKA_AWAY_MS = 3000;
const REFUSED_MS_MAX = 60_000;
const TIMEOUT_MS = 40_000;
/** Enough are under way at any moment; more would only slow down what happens. */
const REST_MS = 50;

/** What may happen to servers that take alerts in; each leaves as many of them as before. */
export const HAPPENINGS = {
  'a server is killed': async (deployment: Deployment, random: Random) => {
    await deployment.kill(random.whole(0, SERVERS - 1));
  },
  'all servers are killed': async (deployment: Deployment) => {
    await Promise.all(deployment.servers.map((_, i) => deployment.kill(i)));
  },
  'a server is paused until others have taken over': async (deployment: Deployment, random: Random) => {
    await deployment.pause(random.whole(0, SERVERS - 1), PAUSED_MS);
  },
  'a server is paused, another one killed meanwhile': async (deployment: Deployment, random: Random) => {
    const paused = random.whole(0, SERVERS - 1);
    const pausing = deployment.pause(paused, PAUSED_MS);
    await deployment.kill((paused + 1) % SERVERS);
    await pausing;
  },
  'Redis is emptied': async ({ environment }: Deployment) => {
    const redis = new Redis(environment.REDIS_URL as string);
    await redis.flushall();
    redis.disconnect();
  },
  'Redis is away': ({ services }: Deployment, random: Random) =>
    away(services.redis, random.whole(200, 1500)),
  'ClickHouse is away': ({ services }: Deployment, random: Random) =>
    away(services.clickhouse, random.whole(200, 1500)),
  // Servers that were killed before may still be starting: it is away until a sender has been told so.
  'Kafka is away': async ({ services }: Deployment, _random: Random, refusals: () => number) => {
    await services.kafka.stop();
    const before = refusals();
    await pause(KAFKA_AWAY_MS);
    await until('a delivery is refused while Kafka is away', () => refusals() > before, REFUSED_MS_MAX);
    await services.kafka.start();
  },
};
export type Happening = keyof typeof HAPPENINGS;

async function away(service: Services['redis'], ms: number): Promise<void> {
  await service.stop();
  await pause(ms);
  await service.start();
}

export interface AlertChaosOptions {
  /** At least so many, and as many as fit beside what happens. */
  readonly deliveries: number;
  readonly senders: number;
  readonly seed: number;
  readonly happenings: readonly Happening[];
  readonly onStep?: (done: number, happened: number) => void;
}

export interface AlertChaosReport extends Verdict {
  readonly kills: number;
  readonly attempts: number;
  /** How many requests were answered with each status; 0 stands for no answer. */
  readonly statuses: Readonly<Record<number, number>>;
}

/**
 * Senders rotate behind servers that share the projects among them, while one thing happens after the other. Then
 * what is stored is compared with the log, with what the senders were told, and with the slow reference.
 */
export async function deliverInChaos(options: AlertChaosOptions): Promise<AlertChaosReport> {
  const random = new Random(options.seed);
  await using deployment = await Deployment.start();
  const { targets, token } = await deployment.prepare();
  let next = 0;
  const senders = new Senders({
    address: () => deployment.addresses[next++ % SERVERS] as string,
    targets,
    token,
    senders: options.senders,
    seed: options.seed,
    timeoutMs: TIMEOUT_MS,
    restMs: REST_MS,
  });
  let isOver = false;
  const happen = async () => {
    try {
      for (const [i, name] of options.happenings.entries()) {
        options.onStep?.(senders.done, i);
        await pause(random.whole(100, 1000));
        await HAPPENINGS[name](deployment, random, () => senders.statuses.get(503) ?? 0);
      }
    } finally {
      isOver = true;
    }
  };
  await Promise.all([happen(), senders.run(() => !isOver || senders.done < options.deliveries)]);
  options.onStep?.(senders.done, options.happenings.length);
  const { operator, kills } = deployment;
  await operator.runtime.log.waitUntilConsumed(ALERTS_TOPIC, 'grouping');
  const projects = [...new Set(targets.map(({ project }) => project))];
  const verdict = await judge(operator.runtime.store, projects, senders.marks, WINDOWS);
  const faults = [...verdict.faults, ...(await unlikeTheLog(operator)), ...(await unlikeAReplay(operator))];
  return {
    ...verdict,
    faults,
    kills,
    attempts: senders.attempts,
    statuses: Object.fromEntries(senders.statuses),
  };
}

/** Servers on services of their own. */
class Deployment implements AsyncDisposable {
  readonly services: Services;
  readonly environment: Record<string, string>;
  readonly operator: Pipeline;
  readonly servers: RoleProcess[] = [];
  readonly addresses: string[] = [];
  readonly #ports: number[] = [];
  readonly #directory: ReturnType<typeof temporaryDirectory>;
  kills = 0;

  private constructor(
    services: Services,
    environment: Record<string, string>,
    operator: Pipeline,
    directory: ReturnType<typeof temporaryDirectory>,
  ) {
    this.services = services;
    this.environment = environment;
    this.operator = operator;
    this.#directory = directory;
  }

  static async start(): Promise<Deployment> {
    const directory = temporaryDirectory();
    const services = await startServices();
    const environment = services.environment({
      DATA_DIR: directory.path,
      SECRETS_KEY: randomBytes(32).toString('base64'),
      ALERT_RETRY_WINDOW_SECONDS: String(WINDOWS.retryMs / 1000),
      ALERT_IDEMPOTENCY_HOURS: '1',
      ALERT_CACHE_BYTES: '20000',
      ALERT_LOG_SECONDS_MAX: '1',
      ALERT_ANSWER_SECONDS_MAX: '60',
    });
    const operator = await joinPipeline(environment);
    const deployment = new Deployment(services, environment, operator, directory);
    for (let i = 0; i < SERVERS; i++) {
      const port = await freePort();
      deployment.#ports.push(port);
      deployment.addresses.push(`http://127.0.0.1:${port}`);
    }
    await Promise.all(deployment.addresses.map((_, i) => deployment.#serve(i)));
    return deployment;
  }

  /** Projects with two integrations each, and the token of somebody who owns them. */
  async prepare(): Promise<{ targets: Target[]; token: string }> {
    const accounts = this.operator.accounts();
    const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
    const { text: token } = await createKey(accounts, user, 'personal', {
      name: 'test',
      scopes: ['api'],
      expires_ms: 0,
    });
    const call = async (
      path: string,
      body: object,
    ): Promise<Record<'id' | 'url' | 'authorization_key', string>> => {
      const reply = await fetch(`${this.addresses[0]}/api/v4${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (reply.status === 201) return reply.json() as never;
      const said = await reply.text();
      // A server that has just started on a busy machine sheds load.
      if (reply.status !== 503) throw new Error(`${path}: ${reply.status} ${said}`);
      await pause(Number(reply.headers.get('retry-after')) * 1000);
      return call(path, body);
    };
    const targets: Target[] = [];
    for (let i = 0; i < PROJECTS; i++) {
      const { id } = await call('/projects', { name: `Watch ${i}` });
      for (const type of ['HTTP', 'PROMETHEUS']) {
        const made = await call(`/projects/${id}/integrations`, { type, name: type, rules: STATE_RULES });
        const path = new URL(made.url).pathname;
        targets.push({ project: Number(id), path, key: made.authorization_key });
      }
    }
    return { targets, token };
  }

  async kill(index: number): Promise<void> {
    const { child } = this.servers[index] as RoleProcess;
    // Nobody but this may end it.
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`a server ended by itself: ${this.servers[index]?.said()}`);
    }
    await this.servers[index]?.kill();
    this.kills++;
    await this.#serve(index);
  }

  /** Stops a server as a long pause of its machine would, and lets it go on. */
  async pause(index: number, ms: number): Promise<void> {
    const { child } = this.servers[index] as RoleProcess;
    child.kill('SIGSTOP');
    await pause(ms);
    child.kill('SIGCONT');
  }

  async #serve(index: number): Promise<void> {
    const environment = { ...this.environment, PORT: String(this.#ports[index]) };
    this.servers[index] = await startRole('serve', environment);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    await this.operator.close();
    await this.services.close();
    this.#directory[Symbol.dispose]();
  }
}

/** Every event of the log is stored, in its order within its project, and nothing else is. */
async function unlikeTheLog({ runtime: { log, store } }: Pipeline): Promise<string[]> {
  const logged = new Map<number, string[]>();
  const seen = new Set<string>();
  await log.consume(ALERTS_TOPIC, 'audit', async (batch) => {
    for (const { value } of batch) {
      const { id, project } = decodeEvent(value).head;
      // The log may have been given an event twice.
      if (!seen.has(id)) logged.set(project, [...(logged.get(project) ?? []), id]);
      seen.add(id);
    }
    return { durable: Promise.resolve() };
  });
  await log.waitUntilConsumed(ALERTS_TOPIC, 'audit');
  const rows = await store.rows<{ project: number; ids: string[] }>(
    sql`SELECT project, arrayMap(one -> one.2, arraySort(groupArray((position, id)))) AS ids
      FROM (SELECT project, position, id FROM ${alertEvents} FINAL) GROUP BY project`,
  );
  const stored = new Map(rows.map(({ project, ids }) => [project, ids]));
  return [...new Set([...logged.keys(), ...stored.keys()])].flatMap((project) => {
    const [one = [], other = []] = [logged.get(project), stored.get(project)];
    const at = Array.from({ length: Math.max(one.length, other.length) }).findIndex(
      (_, i) => one[i] !== other[i],
    );
    if (at === -1) return [];
    return [
      `project ${project}: the log has ${one.length} events, the store ${other.length}; number ${at + 1} differs`,
    ];
  });
}

/** The servers find nothing to change when they decide on everything anew. */
async function unlikeAReplay(operator: Pipeline): Promise<string[]> {
  const replayed = await (await operator.alerts()).replay({ projects: [], dryRun: true });
  return replayed.flatMap(({ project, refused, differing, differences }) =>
    differing === 0 && refused === null
      ? []
      : [`project ${project}: a replay differs in ${differing}: ${refused ?? JSON.stringify(differences)}`],
  );
}
