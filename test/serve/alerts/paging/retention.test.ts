import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sql, sql } from '../../../../infra/sql.ts';
import { pageLog, pageNotifications, pages } from '../../../../serve/alerts/model/oncall-tables.ts';
import { type AlertPage, newPage } from '../../../../serve/alerts/paging/escalation.ts';
import { newNotification } from '../../../../serve/alerts/paging/page-notification.ts';
import { PageRetention } from '../../../../serve/alerts/paging/page-retention.ts';
import { PageStore } from '../../../../serve/alerts/paging/page-store.ts';
import { openPipeline, type Pipeline } from '../../../../serve/application/compose/compose.ts';
import { PATIENT, readyDirectory } from '../../../support/pipeline.ts';
import { testConfig } from '../../../support/test-config.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2027, 2, 22, 9);

let pipeline: Pipeline;
let directory: Awaited<ReturnType<typeof readyDirectory>>;
let store: PageStore;
let retention: PageRetention;
beforeAll(async () => {
  directory = await readyDirectory();
  const env = { DATA_DIR: directory.path, LOG_LEVEL: 'error', ...PATIENT };
  pipeline = await openPipeline(testConfig(env), { clock: { now: () => NOW } });
  store = new PageStore(pipeline.runtime.store);
  retention = new PageRetention({
    ...{ store: pipeline.runtime.store, clock: { now: () => NOW } },
    ...{ locks: pipeline.accounts().locks, settings: { RETENTION_PAGES_DAYS: 30 } },
  });
});
afterAll(async () => {
  await pipeline?.close();
  directory[Symbol.dispose]();
});

/** A page that closed days ago or is still open, with a message and an entry of its log. */
async function makePage(alert: number, closedDaysAgo: number | null): Promise<AlertPage> {
  const at = NOW - 60 * DAY;
  const named = { project: 1, alert, policy: 'p1', route: 'default', severity: 'high' };
  const created = { name: 'created' as const, position: alert, at, by: '' };
  const page = newPage(named, created, { delayMs: 0, suppression: null, now: at });
  await store.save([page]);
  const told = { kind: 'triggered' as const, destination: 'c1', user: '', due_ms: at, now: at };
  await store.add([newNotification(page, told)]);
  await store.log([{ page, at, what: 'step 1', by: '' }]);
  if (closedDaysAgo === null) return page;
  const closed_ms = NOW - closedDaysAgo * DAY;
  const closed: AlertPage = { ...page, version: 1, state: 'closed', next_ms: 0, closed_ms };
  await store.save([closed]);
  return { ...closed, version: 2 };
}

const alertsIn = async (table: Sql): Promise<number[]> => {
  const rows = await pipeline.runtime.store.rows<{ alert: number }>(
    sql`SELECT DISTINCT alert FROM ${table} ORDER BY alert`,
  );
  return rows.map(({ alert }) => alert);
};

test('closed pages are deleted after the set days, with all their rows, messages and log', async () => {
  await makePage(1, 31);
  await makePage(2, 29);
  await makePage(3, null);
  expect(await retention.deleteOld()).toBe(1);
  for (const table of [pages, pageNotifications, pageLog])
    expect(await alertsIn(sql`${table}`)).toEqual([2, 3]);
  expect(await retention.deleteOld()).toBe(0);
});

test('a page that is reopened while old ones are deleted stays', async () => {
  const page = await makePage(4, 40);
  const { run } = pipeline.runtime.store;
  pipeline.runtime.store.run = async (statement) => {
    pipeline.runtime.store.run = run.bind(pipeline.runtime.store);
    await store.save([{ ...page, state: 'triggered', closed_ms: 0, next_ms: NOW }]);
    await pipeline.runtime.store.run(statement);
  };
  await retention.deleteOld();
  expect(await store.ofAlerts(1, [4])).toMatchObject([{ state: 'triggered', next_ms: NOW }]);
});
