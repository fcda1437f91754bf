/**
 * A pager for tests that kill it: alerts come, are acknowledged and silenced at random while pages are carried out, by
 * a clock that runs fast. With FINISH=1 no more happens, and it ends when nothing is due any more.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseMatchers } from '../../../../aggregate/alerts/matchers/parse.ts';
import { alerts as alertsTable } from '../../../../aggregate/alerts/model/tables.ts';
import { Locks } from '../../../../infra/coordination/lock.ts';
import { sql } from '../../../../infra/sql.ts';
import { Random } from '../../../../ingest/demo/random.ts';
import { createUser, findUser } from '../../../../serve/accounts/users.ts';
import { createAlertMetrics } from '../../../../serve/alerts/composition/alert-metrics.ts';
import { openAlertDomain } from '../../../../serve/alerts/composition/domain.ts';
import { openPipeline } from '../../../../serve/application/compose/compose.ts';
import { ALL_ROLES, type ProcessRole } from '../../../../serve/settings/process-roles.ts';
import { testConfig } from '../../../support/test-config.ts';
import { fastClock } from './fast-clock.ts';

const { STARTED_MS = '0', RECEIVER = '', ALERTS = '40', SEED = '1', FINISH, LOCK_MS } = process.env;
const clock = fastClock(Number(STARTED_MS));

// With services, another process groups the alerts, and a killed pager's locks end soon.
const roles = LOCK_MS === undefined ? ALL_ROLES : new Set<ProcessRole>();
const pipeline = await openPipeline(testConfig(process.env), { clock, roles });
const alerts = await pipeline.alerts();
const opened = pipeline.accounts();
const accounts =
  LOCK_MS === undefined
    ? opened
    : { ...opened, locks: new Locks(opened.keyValue, { ttlMs: Number(LOCK_MS), waitMsMax: 20_000 }) };
const domain = openAlertDomain({
  runtime: pipeline.runtime,
  accounts,
  pipeline: alerts,
  settings: pipeline.config,
  publicUrl: () => 'http://localhost',
  metrics: createAlertMetrics(),
});
const account = { username: 'ann', email: 'ann@example.org', password: null };
const user = (await findUser(accounts, 'ann')) ?? (await createUser(accounts, account));

const project = (await domain.projects.find('1')) ?? (await domain.projects.create(user, { name: 'Killed' }));
const number = Number(project.id);
if ((await domain.alertRoutes.load(project.id)).policies.length === 0) {
  const channelOf = async (name: string) => {
    const found = (await domain.channels.list(project.id)).find((one) => one.name === name);
    const settings = { url: `${RECEIVER}/${name}` };
    return found ?? domain.channels.create(project.id, user.id, { name, type: 'webhook', settings });
  };
  const steps = [];
  for (const name of ['first', 'second', 'third']) {
    const targets = [{ type: 'channel' as const, id: (await channelOf(name)).id }];
    steps.push({ targets, delay_minutes: 1, important: false });
  }
  const fields = { name: 'Ops', steps, repeats: 1, reminder_hours: 1, ack_timeout_minutes: 0 };
  const policy =
    (await domain.policies.list(project.id))[0] ??
    (await domain.policies.create(project.id, user.id, fields));
  const { routes } = await domain.alertRoutes.get(project.id);
  const changed = routes.map((route) => ({ ...route, policy_id: policy.id }));
  await domain.alertRoutes.put(project.id, changed, user.id, null);
}
process.stdout.write('ready\n');

async function countAlerts(): Promise<number> {
  const [row] = await pipeline.runtime.store.rows<{ total: number }>(
    sql`SELECT max(iid) AS total FROM ${alertsTable} WHERE project = ${number}`,
  );
  return row?.total ?? 0;
}

const SERVICES = 4;
const SILENCE_MINUTES_MAX = 5;
const random = new Random(Number(SEED) + Date.now());
async function act(): Promise<void> {
  const count = await countAlerts();
  if (count < Number(ALERTS) && random.chance(0.5)) {
    const service = `s${count % SERVICES}`;
    const body = Buffer.from(JSON.stringify({ title: 'Trouble', service, fingerprint: `f${count}` }));
    const head = {
      ...{
        project: number,
        integration: 'tool',
        endpoint: 'http' as const,
        mapping: null,
        sender_rules: null,
        heartbeat_matchers: '',
      },
      ...{ groups_by_payload: true, idempotency_key: '' },
    };
    await alerts.deliver(head, body, alerts.parse(head, body));
  }
  if (count > 0 && random.chance(0.15)) {
    const status = random.pick(['acknowledged', 'resolved', 'triggered', 'ignored'] as const);
    const iid = random.whole(1, count);
    await alerts.applyAction({ project: number, iid, by: user.id, change: { status } });
  }
  if (random.chance(0.05)) await silenceSome();
}

/** Begins a silence of one of the services, or ends one early. */
async function silenceSome(): Promise<void> {
  const page = { number: 1, size: 20 };
  const { silences } = await domain.silences.list(project.id, ['active'], page);
  const [first] = silences;
  if (first !== undefined && random.chance(0.5)) return domain.silences.end(project.id, first.id, user.id);
  const now = clock.now();
  await domain.silences.create(project.id, user.id, {
    matchers: parseMatchers(`service="s${random.whole(0, SERVICES - 1)}"`),
    ...{ starts_ms: now, ends_ms: now + random.whole(1, SILENCE_MINUTES_MAX) * 60_000 },
    ...{ comment: '', created_by: 'ann', annotations: {} },
  });
}

/** Everything that is due now, as the jobs of a server carry it out. */
async function carryOut(): Promise<void> {
  while ((await domain.eventConsumers.run(number, 'paging')) === 0);
  await domain.suppressedPages.run(number);
  await domain.pageSteps.run(number);
  const due = await domain.pageStore.destinationsWithDue(clock.now());
  await Promise.all(due.map(({ destination }) => domain.pageDeliveries.run(number, destination)));
}

/** Fake time in which nothing new happens at the end: longer than a policy takes. */
const QUIET_MS = 20 * 60_000;
const from = clock.now();
while (FINISH === undefined || clock.now() - from < QUIET_MS) {
  if (FINISH === undefined) await act();
  await carryOut();
  await pause(5);
}
await pipeline.close();
