import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../serve/accounts/keys.ts';
import { createUser } from '../../serve/accounts/users.ts';
import { createPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import { StoredSchema } from '../../serve/application/compose/stored-schema.ts';
import { pause, until } from '../infra/ports/opened.ts';
import { run } from '../serve/application/cli/program.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines } from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';
import { type Services, startServices } from '../support/services/index.ts';
import { freePort } from '../support/services/service.ts';
import { testConfig } from '../support/test-config.ts';
import { type RoleProcess, startRole } from './roles.ts';

const PATIENT_MS = 60_000;
/** As the liveness probe of the guide gives a busy process. */
const PROBE_MS = 10_000;
const SERIES = '/api/daily-tps?relay_chain=polkadot&chain=polkadot';

/** A process whose probes are watched from its beginning. */
class Watched {
  readonly name: string;
  readonly probes: string;
  readonly process: RoleProcess;
  private constructor(name: string, probes: string, process: RoleProcess) {
    this.name = name;
    this.probes = probes;
    this.process = process;
  }

  static async start(name: string, more: Record<string, string> = {}): Promise<Watched> {
    const OPERATOR_PORT = String(await freePort());
    const process = await startRole(name, { ...environment, OPERATOR_PORT, ...more }, false);
    const watched = new Watched(name, `http://127.0.0.1:${OPERATOR_PORT}/health`, process);
    processes.push(watched);
    await until(`${name} answers probes`, async () => (await watched.probe('live')) === 200, PATIENT_MS);
    return watched;
  }

  /** The status of a probe; 0 where it was not answered in time. */
  async probe(name: 'live' | 'ready' | 'startup'): Promise<number> {
    const signal = AbortSignal.timeout(PROBE_MS);
    return fetch(`${this.probes}/${name}`, { signal }).then(
      async (answer) => {
        await answer.body?.cancel();
        return answer.status;
      },
      () => 0,
    );
  }

  becomes(status: number): Promise<void> {
    const isSo = async () => (await this.probe('ready')) === status;
    return until(`${this.name} answers ready with ${status}: ${this.process.said()}`, isSo, PATIENT_MS);
  }
}

let services: Services;
let environment: Record<string, string>;
let operator: Pipeline;
const processes: Watched[] = [];
const ports = { serve: 0, late: 0 };
let intake: { path: string; authorization: string };

const get = (path: string, port = ports.serve) => fetch(`http://127.0.0.1:${port}${path}`);
const statusOf = async (path: string, port = ports.serve) => {
  const answer = await get(path, port);
  await answer.body?.cancel();
  return answer.status;
};
const send = (port = ports.serve) =>
  fetch(`http://127.0.0.1:${port}${intake.path}`, {
    method: 'POST',
    headers: { authorization: intake.authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'Disk full' }),
  });
const named = (name: string) => processes.find((one) => one.name === name) as Watched;

beforeAll(async () => {
  services = await startServices();
  [ports.serve, ports.late] = [await freePort(), await freePort()];
  environment = services.environment({
    LOG_LEVEL: 'warn',
    MIGRATE_ON_START: 'false',
    SECRETS_KEY: randomBytes(32).toString('base64'),
    REDIS_SECONDS_MAX: '1',
    ALERT_LOG_SECONDS_MAX: '1',
    SERVICE_WAIT_SECONDS: '300',
  });
});
afterAll(async () => {
  await operator?.close();
  await Promise.all(processes.map(({ process }) => process.kill()));
  await services.close();
});

describe('processes that may not migrate the schema', () => {
  test('wait, alive and not ready, until jobs have, of which two at once do no harm', async () => {
    const waiting = await Promise.all([
      Watched.start('ingest'),
      Watched.start('load'),
      Watched.start('work'),
      Watched.start('serve', { PORT: String(ports.serve) }),
    ]);
    // `ingest` only publishes: it needs no schema.
    await named('ingest').becomes(200);
    const writers = waiting.slice(1);
    await pause(1000);
    for (const one of writers) {
      expect([await one.probe('live'), await one.probe('startup'), await one.probe('ready')]).toEqual([
        200, 503, 503,
      ]);
    }
    const jobs = await Promise.all([
      run(['migrate'], { env: environment }),
      run(['migrate'], { env: environment }),
    ]);
    expect(jobs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(jobs.map(({ stdout }) => stdout.trim()).sort()).toEqual([
      'The schema is current.',
      'The schema is migrated.',
    ]);
    for (const one of writers) await one.becomes(200);
    operator = await joinPipeline(environment);
  });

  test('then load, compute and serve, and take in alerts', async () => {
    await ingestLines(
      operator,
      recordedLines('blocks').filter(({ chain }) => chain === 'polkadot'),
    );
    await operator.waitUntilComputed();
    await until('it is served', async () => (await (await get(SERIES)).text()).length > 2, PATIENT_MS);
    const accounts = operator.accounts();
    const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
    const key = { name: 'test', scopes: ['api' as const], expires_ms: 0 };
    const { text: token } = await createKey(accounts, user, 'personal', key);
    const post = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const url = `http://127.0.0.1:${ports.serve}/api/v4/projects${path}`;
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as { id: string; url: string; authorization_key: string };
    };
    const { id } = await post('', { name: 'Watch' });
    const made = await post(`/${id}/integrations`, { type: 'HTTP', name: 'HTTP' });
    intake = { path: new URL(made.url).pathname, authorization: `Bearer ${made.authorization_key}` };
    expect((await send()).status).toBe(200);
  });
});

/** Looks at probes while a service is away: only those who need it may be not ready, and all live. */
async function watchWhileAway(
  service: keyof Services & ('kafka' | 'redis' | 'clickhouse'),
  needing: string[],
) {
  await Promise.all(needing.map((name) => named(name).becomes(503)));
  for (let look = 0; look < 5; look++) {
    // All at once: each of those that are not ready asks for as long as a probe may take.
    await Promise.all(
      processes.map(async (one) => {
        const answers = [one.probe('live'), one.probe('startup'), one.probe('ready')];
        const expected = [200, 200, needing.includes(one.name) ? 503 : 200];
        expect([service, one.name, ...(await Promise.all(answers))]).toEqual([
          service,
          one.name,
          ...expected,
        ]);
      }),
    );
    await pause(300);
  }
}

const ready = () => Promise.all(processes.map((one) => one.becomes(200)));

describe('while a service does not answer', () => {
  test('Kafka: the metrics API answers and is ready for it, and alerts get 503 with Retry-After', async () => {
    await services.kafka.pause();
    await watchWhileAway('kafka', ['ingest', 'load']);
    expect(await statusOf(`${SERIES}&start_date=2020-01-01`)).toBe(200);
    const refused = await send();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    await services.kafka.resume();
    await ready();
    await until('alerts are taken in', async () => (await send()).status === 200, PATIENT_MS);
  });

  test('Redis: what needs no lock is answered, a sign-in gets 503', async () => {
    await services.redis.pause();
    await watchWhileAway('redis', ['ingest', 'load', 'work']);
    for (let i = 0; i < 3; i++) expect(await statusOf(`${SERIES}&start_date=2020-01-0${i + 2}`)).toBe(200);
    const signIn = await fetch(`http://127.0.0.1:${ports.serve}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', username: 'ann', password: 'secret' }),
    });
    expect([signIn.status, signIn.headers.get('retry-after')]).toEqual([503, '5']);
    await services.redis.resume();
    await ready();
  });

  test('ClickHouse: what is cached is answered, everything else gets 503', async () => {
    expect(await statusOf(SERIES)).toBe(200);
    await services.clickhouse.pause();
    await watchWhileAway('clickhouse', ['load', 'work', 'serve']);
    expect(await statusOf(SERIES)).toBe(200);
    await services.clickhouse.resume();
    await ready();
    await services.clickhouse.stop();
    await named('serve').becomes(503);
    expect(await statusOf(SERIES)).toBe(200);
    const refused = await get(`${SERIES}&start_date=2020-02-01`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    await services.clickhouse.start();
    await ready();
    expect(await statusOf(`${SERIES}&start_date=2020-02-01`)).toBe(200);
  });

  test('at the start of a server: it starts without Kafka and Redis, and uses them when they are there', async () => {
    await Promise.all([services.kafka.stop(), services.redis.stop()]);
    const late = await Watched.start('serve', { PORT: String(ports.late) });
    await late.becomes(200);
    expect(await statusOf(SERIES, ports.late)).toBe(200);
    expect((await send(ports.late)).status).toBe(503);
    await Promise.all([services.kafka.start(), services.redis.start()]);
    await until('alerts are taken in', async () => (await send(ports.late)).status === 200, PATIENT_MS);
    expect(await late.process.kill('SIGTERM')).toBe(0);
    processes.pop();
    await ready();
  });

  test('at the start of every role: it lives and waits for what it needs', async () => {
    await services.clickhouse.stop();
    const late = await Watched.start('serve', { PORT: String(ports.late) });
    expect([await late.probe('startup'), await late.probe('ready')]).toEqual([503, 503]);
    await services.clickhouse.start();
    await late.becomes(200);
    expect(await late.process.kill('SIGTERM')).toBe(0);
    processes.pop();
    await ready();
  });
});

describe('a migration by another version', () => {
  test('is waited for by those that write: they end, and start when it is taken back; servers go on', async () => {
    const config = testConfig(environment);
    const next = await createPipeline(config, { roles: new Set() });
    const { runtime } = next;
    await runtime.connect(new Set(['store', 'keyValue']));
    const newer = new StoredSchema({ runtime, config, roles: new Set(), waits: false, version: 'next' });
    expect(await newer.migrate()).toBe(true);
    for (const name of ['load', 'work']) {
      const { process } = named(name);
      await until(`${name} ends`, () => process.child.exitCode !== null, PATIENT_MS);
      expect([process.child.exitCode, process.said()]).toEqual([
        1,
        expect.stringContaining('another version'),
      ]);
    }
    expect([await named('serve').probe('ready'), await statusOf(SERIES)]).toEqual([200, 200]);
    const [again, server] = [await Watched.start('work'), await Watched.start('serve', { PORT: '0' })];
    await server.becomes(200);
    expect([await again.probe('live'), await again.probe('startup')]).toEqual([200, 503]);
    await expect
      .poll(async () => (await fetch(`${again.probes}/ready`)).text(), { timeout: PATIENT_MS })
      .toContain('Not ready: the process waits for the schema of the store; see its log for the reason.');
    expect((await run(['migrate'], { env: environment })).stdout).toBe('The schema is migrated.\n');
    await again.becomes(200);
    await next.close();
  });
});

describe('a graceful stop', () => {
  test('is not ready first, answers for a while, and ends within its time', async () => {
    const PORT = String(await freePort());
    const server = await Watched.start('serve', { PORT, STOP_DELAY_SECONDS: '8' });
    await server.becomes(200);
    const ended = server.process.kill('SIGTERM');
    await server.becomes(503);
    expect([await server.probe('live'), await statusOf(SERIES, Number(PORT))]).toEqual([200, 200]);
    expect(await ended).toBe(0);
    processes.pop();
  });
});
