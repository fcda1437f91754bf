import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SystemStatus } from '../../aggregate/status/status.ts';
import { DATABASE, raw, sql } from '../../infra/sql.ts';
import { blocks, deadLetters, extrinsics } from '../../ingest/raw/tables.ts';
import { createKey } from '../../serve/accounts/keys.ts';
import { createUser } from '../../serve/accounts/users.ts';
import { exportRaw } from '../../serve/application/cli/raw-exporter.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { LocalClient } from '../../serve/application/operations/client.ts';
import { DirectoryTarget } from '../../serve/raw-export/directory-target.ts';
import { pause, until } from '../infra/ports/opened.ts';
import { run } from '../serve/application/cli/program.ts';
import { type CollectedSpan, Collector } from '../support/collector.ts';
import { contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { guideBlocks } from '../support/guide-blocks.ts';
import { ingestLines } from '../support/pipeline.ts';
import { recordedBlockAt } from '../support/recordings.ts';
import { type Services, startServices } from '../support/services/index.ts';
import { isInstalled } from '../support/services/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { contentOfCleanRun, everythingRecorded } from './clean-run.ts';
import { type RoleProcess, startRole } from './roles.ts';

// Every third line says as much of sharing the work, in less time.
const lines = everythingRecorded().filter((_, i) => i % 3 === 0);
const [START = '', KCAT = ''] = guideBlocks('distributed', 'services');
let services: Services;
let environment: Record<string, string>;
const roles: RoleProcess[] = [];
let operator: Pipeline;
let collector: Collector;

beforeAll(async () => {
  services = await startServices();
  collector = await Collector.open();
  const traces = { ...collector.settings, OTEL_BSP_SCHEDULE_DELAY: '500', OTEL_BSP_MAX_QUEUE_SIZE: '100000' };
  // On a machine that does other work an answer of Redis may take longer than operators would wait.
  // A round that finds a load before the load asks for one has no cause, and then its trace ends.
  const rounds = { REDIS_SECONDS_MAX: '30', SWEEP_SECONDS: '60' };
  environment = services.environment({ LOG_LEVEL: 'warn', ...rounds, ...traces });
  roles.push(
    ...(await Promise.all(
      ['load', 'load', 'work', 'work', 'serve', 'serve'].map((role) => startRole(role, environment)),
    )),
  );
  operator = await joinPipeline(environment, 'ingest');
});
afterAll(async () => {
  await operator.close();
  await Promise.all(roles.map((role) => role.kill()));
  await services.close();
  await collector.close();
});

const serving = () => (roles[4] as RoleProcess).url;

// Seven processes and three services on two cores, beside other tests.
describe('two load and two work processes at once', { timeout: 240_000 }, () => {
  test('make the tables that one process makes', async () => {
    await ingestLines(operator, lines);
    await operator.waitUntilComputed();
    expect(differences(await contentOf(operator), await contentOfCleanRun(lines))).toEqual([]);
  });

  test('share the work: each of them has loaded, and lag is told', async () => {
    const figures = await Promise.all(
      roles.slice(0, 2).map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
    );
    const messages = figures.map((text) =>
      Number(/^chain_metrics_load_messages_total(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1]),
    );
    expect(messages.reduce((a, b) => a + b, 0)).toBeGreaterThanOrEqual(lines.length);
    expect(Math.min(...messages)).toBeGreaterThan(0);
    for (const text of figures)
      expect(text).toMatch(/log_lag_messages\{topic="chain.blocks.v1",group="load"\} 0/);
  });

  test('the same again changes nothing', async () => {
    const before = await contentOf(operator);
    await ingestLines(operator, lines);
    await operator.waitUntilComputed();
    expect(differences(await contentOf(operator), before)).toEqual([]);
  });
});

describe('a metric whose table is renamed', { timeout: 120_000 }, () => {
  const DAYS = [Date.UTC(2029, 0, 1), Date.UTC(2029, 0, 2)] as const;
  const rename = (from: string, to: string) =>
    operator.runtime.store.run(`RENAME TABLE ${DATABASE}.${from} TO ${DATABASE}.${to}`);
  const blockOf = (time: number) => {
    const { line } = lines.find(({ chain }) => chain === 'polkadot') as { line: string };
    const hash = (of: number) => `0x${of.toString(16).padStart(64, '0')}`;
    const height = 80_000_000 + DAYS.indexOf(time);
    return [{ chain: 'polkadot', line: recordedBlockAt(line, { height, time, hash }) }];
  };
  const read = async (path: string) => {
    const answer = await fetch(`${serving()}${path}`);
    return { headers: answer.headers, text: await answer.text() };
  };
  const answer = async (path: string) =>
    (await read(`/api/${path}?relay_chain=polkadot&chain=polkadot`)).headers;
  const isAsOf = (path: string, time: number) =>
    until(
      `${path} is as of ${time}`,
      async () => (await answer(path)).get('x-data-as-of') === new Date(time).toISOString(),
      60_000,
    );
  const PATHS = ['daily-uptime', 'daily-fees'] as const;

  test('stands still and is told while the others stay fresh, and catches up with its table', async () => {
    await ingestLines(operator, blockOf(DAYS[0]));
    for (const path of PATHS) await isAsOf(path, DAYS[0]);
    // A round that ran beside the load computes its day once more.
    await operator.waitUntilComputed();
    await rename('uptime_hour', 'hidden');
    await ingestLines(operator, blockOf(DAYS[1]));
    await isAsOf('daily-fees', DAYS[1]);
    const isTold = async () => (await answer('daily-uptime')).get('x-pending-reason') === 'failed';
    await until('the answers tell it', isTold);
    await isAsOf('daily-uptime', DAYS[0]);
    expect((await read('/metrics')).text).toMatch(
      /^chain_metrics_failed_metric_seconds\{metric="uptime_hour"\} [\d.]+$/m,
    );
    const { metrics } = JSON.parse((await read('/api/status')).text) as SystemStatus;
    expect(metrics.find(({ metric }) => metric === 'daily_uptime')).toMatchObject({
      pending_from: '2029-01-02',
      pending_reason: 'failed',
      failures: [{ metric: 'uptime_hour', relay_chains: ['polkadot'], from_day: '2029-01-02' }],
    });
    await rename('hidden', 'uptime_hour');
    await isAsOf('daily-uptime', DAYS[1]);
    expect((await answer('daily-uptime')).get('x-pending-reason')).toBeNull();
  });
});

test('raw tables are exported from the server as they are stored', async () => {
  using place = temporaryDirectory();
  const options = {
    client: new LocalClient(operator),
    chains: ['polkadot'],
    days: {},
    onProgress: () => undefined,
  };
  const tables = ['blocks', 'extrinsics'];
  const write = async () => {
    const target = await DirectoryTarget.open(place.path);
    try {
      return await exportRaw({ ...options, target, tables });
    } finally {
      await target.close();
    }
  };
  const rowsOf = async (table: typeof blocks | typeof extrinsics) => {
    const [row] = await operator.runtime.store.rows<{ rows: number }>(
      sql`SELECT uniqExact(${raw(table === blocks ? 'number' : '(number, extrinsic_index)')}) AS rows FROM ${table}
        WHERE relay_chain = 'polkadot' AND chain = 'polkadot' AND toYear(time) > 1970`,
    );
    return row?.rows ?? 0;
  };
  const { rows, tables: first } = await write();
  expect(rows).toBe((await rowsOf(blocks)) + (await rowsOf(extrinsics)));
  expect(first.blocks?.written).toBeGreaterThan(0);
  expect((await write()).tables).toMatchObject({ blocks: { written: 0, unchanged: first.blocks?.written } });
});

test('status names the address of the store, and not a data directory', async () => {
  const { stdout } = await run(['status'], { env: environment });
  expect(stdout.split('\n')[0]).toBe(`store           ${environment.CLICKHOUSE_URL}`);
});

test('each process was started as the guide says', () => {
  const commands = roles.map(({ child }) => `chain-metrics ${child.spawnargs.slice(2).join(' ')}`);
  const shown = [...START.matchAll(/^PROFILE=distributed (?:[A-Z_]+=\S+ )?(.+?) *(?:#.*)?$/gm)].map(
    ([, command]) => command,
  );
  expect([...new Set(commands)]).toEqual(shown);
});

describe('a foreign producer', () => {
  const stored = () =>
    operator.runtime.store.rows(
      sql`SELECT number FROM ${blocks} FINAL WHERE number > 90000000 ORDER BY number`,
    );

  /** Writes blocks of a day of its own, as a part of the trace. */
  async function produce(numbers: readonly number[]): Promise<void> {
    const { line } = lines.find(({ chain }) => chain === 'polkadot') as { line: string };
    const payload = JSON.parse(line.replace(/"now":\s*"?\d{13}"?/, `"now":"${Date.UTC(2030, 0, 1)}"`));
    const envelope = (number: number) =>
      JSON.stringify({
        schema: 'block/1',
        chain: 'polkadot',
        payload: { ...payload, number: String(number) },
      });
    const traceparent = `00-${PRODUCER.trace}-${PRODUCER.span}-01`;
    const command = KCAT.replace('localhost:9092', environment.KAFKA_BROKERS as string)
      .replace(/'\{.*\}'/, '"$ENVELOPES"')
      .replace('kcat -P', `kcat -P -H traceparent=${traceparent}`);
    const ENVELOPES = numbers.map(envelope).join('\n');
    const kcat = spawn('bash', ['-c', command], { env: { ...process.env, ENVELOPES } });
    expect((await once(kcat, 'exit'))[0]).toBe(0);
    const before = 90_000_000;
    const newest = Math.max(...numbers) - before;
    await until('they are stored', async () => (await stored()).length === newest);
  }

  test('writes envelopes with kcat, and they are served', async () => {
    if (!(await isInstalled('kcat'))) throw new Error('kcat is not installed: apt-get install kcat');
    await produce([90_000_001, 90_000_002]);
    const served = async () => {
      await pause(300);
      const day = 'relay_chain=polkadot&chain=polkadot&start_date=2030-01-01&end_date=2030-01-02';
      const answer = await fetch(`${serving()}/api/daily-tps?${day}`);
      return (await answer.text()).includes('"num_blocks":2');
    };
    await until('it is served', served);
  });

  test('has its trace continued by those that load and compute', async () => {
    const inTrace = (name: string) =>
      collector.find(`${name} in the trace`, (span) => span.trace === PRODUCER.trace && span.name === name);
    const load = await inTrace('process chain.blocks.v1');
    expect(load).toMatchObject({
      parent: PRODUCER.span,
      attributes: { 'messaging.system': 'kafka', 'chain_metrics.chain': 'polkadot' },
    });
    const round = inTrace('compute round');
    let isTraced = false;
    round.then(
      () => {
        isTraced = true;
      },
      () => undefined,
    );
    // A round continues the trace of one load of those that asked for it: another block asks again.
    for (let next = 90_000_003; !isTraced && next < 90_000_010; next++) {
      await produce([next]);
      await pause(5000);
    }
    const window = await inTrace('compute daily_tps');
    expect([load, await round, window].map(rolesOf)).toEqual(['load', 'work', 'work']);
  });

  test('what is no envelope becomes a dead letter with its reason, and the rest goes on', async () => {
    const good = JSON.stringify({ schema: 'block/1', chain: 'nowhere', payload: { number: '1' } });
    await operator.runtime.log.publish('chain.blocks.v1', [
      { key: 'x', value: Buffer.from('\u0000 garbage') },
      { key: 'x', value: Buffer.alloc(0) },
      { key: 'x', value: Buffer.from(good) },
      { key: 'x', value: Buffer.from('{"payload_last":true,"schema":"block/1","payload":{') },
    ]);
    await operator.waitUntilLoaded();
    const letters = () =>
      operator.runtime.store.rows<{ reason: string; topic: string }>(
        sql`SELECT topic, reason FROM ${deadLetters} FINAL`,
      );
    await until('all four are buried', async () => (await letters()).length === 4);
    expect((await letters()).every(({ reason }) => reason.length > 3)).toBe(true);
    const [log] = await Promise.all([
      operator.runtime.log.readDeadLetters('chain.blocks.v1', ['0', '1', '2', '3']),
    ]);
    expect(log.filter((bytes) => bytes?.includes('garbage'))).toHaveLength(1);
  });
});

/** A program of others that traces what it produces. */
const PRODUCER = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' };
const rolesOf = ({ resource }: CollectedSpan) => (resource['chain_metrics.roles'] as string[]).join();
const processOf = ({ resource }: CollectedSpan) => resource['service.instance.id'];

describe('an alert', { timeout: 240_000 }, () => {
  test('that one server takes and another decides on is one trace, up to its row', async () => {
    const accounts = operator.accounts();
    const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
    const { text: token } = await createKey(accounts, user, 'personal', {
      name: 'test',
      scopes: ['api'],
      expires_ms: 0,
    });
    const post = async (url: string, key: string, body: object, more = {}) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more };
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as { id: string; url: string; authorization_key: string };
    };
    const projects = `${serving()}/api/v4/projects`;
    const { id } = await post(projects, token, { name: 'Watch' });
    const source = await post(`${projects}/${id}/integrations`, token, { type: 'HTTP', name: 'Tool' });
    const { pathname } = new URL(source.url);
    const senders = roles.slice(4).map(({ url }, i) => ({ url, trace: `${i}`.padStart(32, 'd') }));
    for (const { url, trace } of senders) {
      const traceparent = `00-${trace}-${PRODUCER.span}-01`;
      await post(`${url}${pathname}`, source.authorization_key, { title: `of ${url}` }, { traceparent });
    }
    const deciders = new Set<unknown>();
    const takers = new Set<unknown>();
    for (const { trace } of senders) {
      const find = (name: string) =>
        collector.find(name, (span) => span.trace === trace && span.name.startsWith(name));
      const row = await find('insert alert_events');
      const decision = await find('process alerts.v1');
      const request = await find('POST /');
      expect(decision.parent).toBe(request.id);
      expect(processOf(row)).toBe(processOf(decision));
      deciders.add(processOf(decision));
      takers.add(processOf(request));
    }
    // A project is decided on by one of them.
    expect([deciders.size, takers.size]).toEqual([1, 2]);
  });
});

describe('a graceful stop', () => {
  test('drains, commits and ends with 0 within its time', async () => {
    const codes = await Promise.all(roles.splice(0).map((role) => role.kill('SIGTERM')));
    expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
