import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { createUser } from '../../../../serve/accounts/users.ts';
import { createAlertMetrics } from '../../../../serve/alerts/composition/alert-metrics.ts';
import { openAlertDomain } from '../../../../serve/alerts/composition/domain.ts';
import { pageNotifications, pages } from '../../../../serve/alerts/model/oncall-tables.ts';
import { type AlertPage, newPage } from '../../../../serve/alerts/paging/escalation.ts';
import { newNotification } from '../../../../serve/alerts/paging/page-notification.ts';
import type { PageNotification } from '../../../../serve/alerts/paging/page-reader.ts';
import { openPipeline } from '../../../../serve/application/compose/compose.ts';
import { PATIENT, readyDirectory } from '../../../support/pipeline.ts';
import { testConfig } from '../../../support/test-config.ts';
import { MailServer } from '../../mail/mail-server.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A service elsewhere that expects a heartbeat each minute. */
let watcher: Server;
let beats: { method?: string | undefined; body: string }[];
let answer: number;
let mail: MailServer;
let now = Date.UTC(2027, 2, 22, 9);
let open: Awaited<ReturnType<typeof openProcesses>>;
beforeAll(async () => {
  mail = await MailServer.open();
  watcher = createServer((request, reply) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (answer < 300) beats.push({ method: request.method, body });
      reply.writeHead(answer).end();
    });
  });
  await new Promise<void>((done) => watcher.listen(0, '127.0.0.1', done));
  open = await openProcesses();
});
beforeEach(() => {
  answer = 200;
  beats = [];
});
/** No page, figure or heartbeat of a test counts in the next one. */
afterEach(async () => {
  now += HOUR;
  await open.forget();
});
afterAll(async () => {
  await open?.close();
  watcher.close();
  mail?.close();
});

/** Two processes over one store, which work only when they are told to. */
async function openProcesses() {
  const directory = await readyDirectory();
  const env = {
    ...{ DATA_DIR: directory.path, LOG_LEVEL: 'error', ...PATIENT },
    ...{ SMTP_URL: mail.url, SMTP_FROM: 'alerts@example.org', SMTP_REQUIRE_TLS: 'false' },
    PAGING_HEARTBEAT_URL: `http://127.0.0.1:${(watcher.address() as AddressInfo).port}/beat`,
  };
  const pipeline = await openPipeline(testConfig(env), { clock: { now: () => now } });
  const alerts = await pipeline.alerts();
  const accounts = pipeline.accounts();
  const processes = [0, 1].map(() => {
    const metrics = createAlertMetrics();
    const domain = openAlertDomain({
      ...{ runtime: pipeline.runtime, accounts, pipeline: alerts, settings: pipeline.config },
      ...{ publicUrl: () => 'http://localhost', metrics },
    });
    return { domain, metrics };
  }) as [Opened, Opened];
  const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
  const { id } = await processes[0].domain.projects.create(user, { name: 'Watched' });
  return {
    ...{ processes, user, projectId: id, store: processes[0].domain.pageStore },
    forget: async () => {
      const { store, keyValue } = pipeline.runtime;
      await keyValue.delete('paging-heartbeat');
      for (const table of [pages, pageNotifications]) await store.run(sql`TRUNCATE TABLE ${table}`);
    },
    close: async () => {
      await pipeline.close();
      directory[Symbol.dispose]();
    },
  };
}

interface Opened {
  readonly domain: ReturnType<typeof openAlertDomain>;
  readonly metrics: ReturnType<typeof createAlertMetrics>;
}

/** The samples of a gauge, by their only label. */
async function samplesOf(gauge: { get(): Promise<{ values: { labels: object; value: number }[] }> }) {
  const { values } = await gauge.get();
  return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(), value]));
}

let alerts = 0;
const pageDue = (agoMs: number, state: AlertPage['state'] = 'triggered'): AlertPage => {
  const named = { project: Number(open.projectId), alert: ++alerts, policy: 'p1', route: 'default' };
  const created = { name: 'created' as const, position: alerts, at: now - agoMs, by: '' };
  const page = newPage({ ...named, severity: 'high' }, created, { delayMs: 0, suppression: null, now });
  return { ...page, state };
};
const closed = (page: AlertPage): AlertPage => ({ ...page, version: 1, state: 'closed', next_ms: 0 });

const messageDue = (destination: string, agoMs: number, more: Partial<PageNotification> = {}) => {
  const told = { kind: 'triggered' as const, destination, user: '', due_ms: now - agoMs, now: now - agoMs };
  return { ...newNotification(pageDue(0), told), ...more };
};

test('the gauges say how many pages are open, and how long the oldest has been due', async () => {
  const [first, second] = open.processes;
  const page = pageDue(90_000);
  await open.store.save([page, pageDue(-HOUR, 'waiting'), pageDue(-HOUR, 'exhausted')]);
  await expect(first.domain.pagerHealth.look()).resolves.toBeUndefined();
  expect(await samplesOf(first.metrics.pages)).toMatchObject({ waiting: 1, triggered: 1, exhausted: 1 });
  expect(await samplesOf(first.metrics.oldestDue)).toEqual({ '': 90 });
  await open.store.save([closed(page)]);
  now += 20_000;
  await second.domain.pagerHealth.look();
  expect(await samplesOf(second.metrics.oldestDue), 'the other process shows what was read').toEqual({
    '': 90,
  });
  now += 10_000;
  await second.domain.pagerHealth.look();
  expect(await samplesOf(second.metrics.oldestDue)).toEqual({ '': 0 });
  expect(await samplesOf(second.metrics.pages)).toMatchObject({ triggered: 0, exhausted: 1 });
});

const FAILING = { attempts: 2, status: 500, fault: 'answered with 500' };

test.each<[string, () => PageNotification[], number]>([
  ['one that nobody sends', () => [messageDue('idle', 70_000)], 70],
  [
    'one whose process died',
    () => [messageDue('dead', 80_000, { state: 'sending', started_ms: now - 40_000 })],
    40,
  ],
  ['none that its receiver refused', () => [messageDue('down', 300_000, FAILING)], 0],
  ['none behind such a one', () => [messageDue('down', 300_000, FAILING), messageDue('down', 60_000)], 0],
  [
    'none that waits to be bundled',
    () => [messageDue('busy', 90_000, { state: 'sent', sent_ms: now - 80_000 }), messageDue('busy', 60_000)],
    0,
  ],
  ['none that is due later', () => [messageDue('later', -60_000)], 0],
])('of messages, the oldest due is %s', async (_name, made, seconds) => {
  const [process] = open.processes;
  await open.store.add(made());
  await process.domain.pagerHealth.look();
  expect(await samplesOf(process.metrics.oldestDue)).toEqual({ '': seconds });
});

test('silences are counted until they end', async () => {
  const [{ domain, metrics }] = open.processes;
  const { projectId, user } = open;
  const matchers = [{ name: 'host', value: 'db', isRegex: false, isEqual: true }];
  const fields = { matchers, created_by: 'ann', comment: 'repair', annotations: {} };
  for (const hours of [0, 3])
    await domain.silences.create(projectId, user.id, {
      ...fields,
      starts_ms: now + hours * HOUR,
      ends_ms: now + (hours + 2) * HOUR,
    });
  await domain.pagerHealth.look();
  expect(await samplesOf(metrics.silences)).toEqual({ active: 1, pending: 1 });
  now += 2 * HOUR;
  await domain.pagerHealth.look();
  expect(await samplesOf(metrics.silences)).toEqual({ active: 0, pending: 1 });
});

test('schedules that a policy uses are counted by their coverage', async () => {
  const [{ domain, metrics }] = open.processes;
  const { projectId, user } = open;
  const scheduleFrom = async (name: string, starts_at: string | null) => {
    const schedule = await domain.schedules.create(projectId, { name, time_zone: 'UTC' }, user.id);
    const fields = { name, unit: 'days' as const, length: 1, turns: [[user.id]] };
    const options = { author: user.id, effective: null, isDryRun: false };
    if (starts_at !== null)
      await domain.schedules.createRotation(schedule, { ...fields, starts_at }, options);
    return { type: 'schedule' as const, id: schedule.id };
  };
  const today = new Date(now).toISOString().slice(0, 10);
  await scheduleFrom('Unused', null);
  const targets = [
    await scheduleFrom('Always', '2027-01-01T00:00'),
    await scheduleFrom('Never', null),
    await scheduleFrom('Late', `${today}T23:00`),
  ];
  const steps = [{ targets, delay_minutes: 5, important: false }];
  const numbers = { repeats: 0, reminder_hours: 0, ack_timeout_minutes: 0 };
  await domain.policies.create(projectId, user.id, { name: 'Ops', steps, ...numbers });
  await domain.pagerHealth.look();
  expect(await samplesOf(metrics.oncallSchedules)).toEqual({ covered: 1, gap_now: 2, gap_within_day: 0 });
});

test('the watcher gets one empty POST a minute from all processes together', async () => {
  const looks = async () => {
    for (const { domain } of open.processes) await domain.pagerHealth.look();
  };
  await looks();
  await looks();
  expect(beats).toEqual([{ method: 'POST', body: '' }]);
  await open.forget();
  await looks();
  expect(beats).toHaveLength(2);
});

test('a heartbeat that the watcher does not take is sent again by the next look', async () => {
  const [first, second] = open.processes;
  answer = 503;
  await expect(first.domain.pagerHealth.look()).rejects.toThrow('answered with 503');
  answer = 200;
  await second.domain.pagerHealth.look();
  expect(beats).toHaveLength(1);
});

test('the watcher hears nothing while something has been due for two minutes', async () => {
  const [{ domain }] = open.processes;
  await open.store.save([pageDue(121_000)]);
  await expect(domain.pagerHealth.look()).rejects.toThrow('a page has been due for 121 s');
  expect(beats).toEqual([]);
});

test('the mail server is checked', async () => {
  const [{ domain, metrics }] = open.processes;
  await domain.pagerHealth.look();
  expect(await samplesOf(metrics.smtpUp)).toEqual({ '': 1 });
  await mail.close();
  await expect(domain.pagerHealth.look()).rejects.toThrow('SMTP_URL: no mail can be sent: ');
  expect(await samplesOf(metrics.smtpUp)).toEqual({ '': 0 });
});
