import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Alert } from '../../../../aggregate/alerts/model/alert.ts';
import { alerts } from '../../../../aggregate/alerts/model/tables.ts';
import { sql } from '../../../../infra/sql.ts';
import { Random } from '../../../../ingest/demo/random.ts';
import { pageNotifications, pages } from '../../../../serve/alerts/model/oncall-tables.ts';
import type { AlertPage } from '../../../../serve/alerts/paging/escalation.ts';
import type { PageNotification } from '../../../../serve/alerts/paging/page-reader.ts';
import { openPipeline, type Pipeline } from '../../../../serve/application/compose/compose.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { testConfig } from '../../../support/test-config.ts';
import { fastClock } from './fast-clock.ts';
import { PageReceiver, type ReceivedPage } from './team.ts';

const PAGER = fileURLToPath(new URL('killed-pager.ts', import.meta.url));
/** Of the policy of the killed pager. */
const STEPS = 3;
const CYCLES = 2;
/** The part of requests that the receiver does not accept. */
const FAILURES = 0.1;

export interface PagerOutcome {
  readonly kills: number;
  readonly pages: number;
  readonly messages: number;
  readonly duplicates: number;
  readonly faults: readonly string[];
}

interface KillOptions {
  readonly kills: number;
  readonly alerts: number;
  readonly seed: number;
}

/** Kills a pager at random moments, and compares what is stored at the end with what its receiver was sent. */
export async function killPager(options: KillOptions): Promise<PagerOutcome> {
  using directory = temporaryDirectory();
  const receiver = await PageReceiver.open();
  const env = { ...environmentOf(options, receiver), DATA_DIR: directory.path };
  try {
    await killAgainAndAgain(options, env, 1);
    const pipeline = await openPipeline(testConfig(env));
    try {
      return { kills: options.kills, ...(await verdictOf(pipeline, receiver.received)) };
    } finally {
      await pipeline.close();
    }
  } finally {
    receiver.close();
  }
}

/**
 * The same with two pagers on the services of an environment, of which one is killed while the other works. Alerts are
 * grouped by this process, which lives on.
 */
export async function killPagers(
  options: KillOptions,
  services: Readonly<Record<string, string>>,
): Promise<PagerOutcome> {
  const receiver = await PageReceiver.open();
  const env = { ...services, ...environmentOf(options, receiver) };
  const clock = fastClock(Number(env.STARTED_MS));
  const pipeline = await openPipeline(testConfig(env), { clock, roles: new Set(['serve']) });
  try {
    await pipeline.alerts();
    await killAgainAndAgain(options, { ...env, LOCK_MS: '2000' }, 2);
    return { kills: options.kills, ...(await verdictOf(pipeline, receiver.received)) };
  } finally {
    await pipeline.close();
    receiver.close();
  }
}

function environmentOf({ alerts, seed }: KillOptions, receiver: PageReceiver) {
  const random = new Random(seed);
  receiver.answer = () => (random.chance(FAILURES) ? 503 : 200);
  return {
    LOG_LEVEL: 'fatal',
    ALERT_PRIVATE_TARGETS: 'true',
    PAGE_BUNDLE_SECONDS: '0',
    STARTED_MS: String(Date.now()),
    RECEIVER: receiver.url,
    ALERTS: String(alerts),
    SEED: String(seed),
  };
}

async function killAgainAndAgain(
  { kills, seed }: KillOptions,
  env: Record<string, string>,
  pagers: number,
): Promise<void> {
  const random = new Random(seed);
  const living: ChildProcess[] = [];
  for (let kill = 0; kill < kills; kill++) {
    while (living.length < pagers) living.push(await start(env));
    await pause(random.whole(50, 1500));
    const [killed] = living.splice(random.whole(0, pagers - 1), 1) as [ChildProcess];
    const exit = once(killed, 'exit');
    killed.kill('SIGKILL');
    const [code] = await exit;
    if (code !== null) throw new Error(`the pager ended by itself, with ${code}`);
  }
  for (const one of living) one.kill('SIGKILL');
  const last = await start({ ...env, FINISH: '1' });
  const [code] = await once(last, 'exit');
  if (code !== 0) throw new Error(`the pager ended with ${code}`);
}

async function start(env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(process.execPath, [PAGER], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, UV_THREADPOOL_SIZE: '16', TZ: 'UTC', ...env },
  });
  for await (const text of child.stdout as NonNullable<typeof child.stdout>) {
    if (String(text).includes('ready')) return child;
  }
  throw new Error('the pager did not start');
}

async function verdictOf({ runtime: { store } }: Pipeline, received: readonly ReceivedPage[]) {
  const [stored, notifications, known] = await Promise.all([
    store.rows<AlertPage>(sql`SELECT * FROM ${pages} FINAL`),
    store.rows<PageNotification>(sql`SELECT * FROM ${pageNotifications} FINAL`),
    store.rows<Alert>(sql`SELECT * FROM ${alerts} FINAL`),
  ]);
  const keys = received.map(({ headers }) => String(headers['x-chain-metrics-delivery']));
  return {
    pages: stored.length,
    messages: new Set(keys).size,
    duplicates: keys.length - new Set(keys).size,
    faults: [
      ...unpaged(known, stored),
      ...wrongStates(known, stored),
      ...stored.flatMap((page) => skippedSteps(page, notifications)),
      ...lostMessages(notifications, received),
      ...unmarkedDuplicates(received),
    ],
  };
}

const unpaged = (known: readonly Alert[], stored: readonly AlertPage[]): string[] =>
  known
    .filter(({ iid }) => !stored.some(({ alert }) => alert === iid))
    .map(({ iid }) => `alert ${iid} has no page`);

const STATES: Readonly<Record<string, readonly AlertPage['state'][]>> = {
  triggered: ['triggered', 'exhausted'],
  acknowledged: ['acknowledged', 'closed'],
  resolved: ['closed'],
  ignored: ['closed'],
};

function wrongStates(known: readonly Alert[], stored: readonly AlertPage[]): string[] {
  const statuses = new Map(known.map(({ iid, status }) => [iid, status]));
  return stored
    .filter(({ alert, state }) => !STATES[statuses.get(alert) ?? '']?.includes(state))
    .map(({ alert, state }) => `alert ${alert} is ${statuses.get(alert)} and its page ${state}`);
}

/** Each round calls the steps of the policy from the first on, none left out. */
function skippedSteps(page: AlertPage, notifications: readonly PageNotification[]): string[] {
  const calls = notifications.filter(({ alert, kind }) => alert === page.alert && kind === 'triggered');
  return [...Map.groupBy(calls, ({ round }) => round)].flatMap(([round, of]) => {
    const found = [...new Set(of.map(({ cycle, step }) => (cycle - 1) * STEPS + step))].sort((a, b) => a - b);
    const isWhole = found.every((place, i) => place === i + 1) && found.length <= STEPS * CYCLES;
    return isWhole ? [] : [`alert ${page.alert}, round ${round}: steps ${found}`];
  });
}

/** What is stored as sent was received, and nothing else. */
function lostMessages(
  notifications: readonly PageNotification[],
  received: readonly ReceivedPage[],
): string[] {
  const open = notifications.filter(({ state }) => state === 'pending' || state === 'sending');
  const lost = notifications.filter(
    ({ state, message, alert }) =>
      state === 'sent' &&
      !received.some(
        ({ headers, body }) =>
          headers['x-chain-metrics-delivery'] === message &&
          // A message lists the worst 20 alerts only.
          (body.more > 0 || body.alerts.some(({ iid }: { iid: number }) => iid === alert)),
      ),
  );
  const known = new Set(notifications.map(({ message }) => message));
  const strange = received.filter(({ headers }) => !known.has(String(headers['x-chain-metrics-delivery'])));
  return [
    ...open.map(({ id, state }) => `${id} is still ${state}`),
    ...lost.map(({ id }) => `${id} is stored as sent and was not received`),
    ...strange.map(({ headers }) => `${headers['x-chain-metrics-delivery']} is not stored`),
  ];
}

function unmarkedDuplicates(received: readonly ReceivedPage[]): string[] {
  const seen = new Set<string>();
  return received.flatMap(({ headers, body }) => {
    const key = String(headers['x-chain-metrics-delivery']);
    const isMarked = !seen.has(key) || body.duplicate_possible === true;
    seen.add(key);
    return isMarked ? [] : [`${key} came twice, the second time unmarked`];
  });
}
