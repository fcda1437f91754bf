import { afterEach, beforeEach, expect, test } from 'vitest';
import { createUser } from '../../../../serve/accounts/users.ts';
import { createAlertMetrics } from '../../../../serve/alerts/composition/alert-metrics.ts';
import { openAlertDomain } from '../../../../serve/alerts/composition/domain.ts';
import { openPipeline } from '../../../../serve/application/compose/compose.ts';
import { PATIENT, readyDirectory } from '../../../support/pipeline.ts';
import { testConfig } from '../../../support/test-config.ts';
import { PageReceiver } from './team.ts';

const HOUR = 3_600_000;

let now: number;
let receiver: PageReceiver;
let pager: Awaited<ReturnType<typeof openPager>>;
beforeEach(async () => {
  now = Date.UTC(2027, 2, 22, 9);
  receiver = await PageReceiver.open();
});
afterEach(async () => {
  receiver.close();
  await pager?.close();
});

/** A pager that works only when it is told to, and a channel that its policy calls. */
async function openPager(type: 'webhook' | 'pagerduty', settings: Record<string, string>, delay_seconds = 0) {
  const directory = await readyDirectory();
  const env = { DATA_DIR: directory.path, LOG_LEVEL: 'error', ALERT_PRIVATE_TARGETS: 'true', ...PATIENT };
  const pipeline = await openPipeline(testConfig(env), { clock: { now: () => now } });
  const alerts = await pipeline.alerts();
  const accounts = pipeline.accounts();
  const domain = openAlertDomain({
    ...{ runtime: pipeline.runtime, accounts, pipeline: alerts, settings: pipeline.config },
    ...{ publicUrl: () => 'http://localhost', metrics: createAlertMetrics() },
  });
  const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
  const { id } = await domain.projects.create(user, { name: 'Stopped' });
  const project = Number(id);
  const channel = await domain.channels.create(id, user.id, { name: 'Ops', type, settings });
  const targets = [{ type: 'channel' as const, id: channel.id }];
  const steps = [{ targets, delay_minutes: 60, important: false }];
  const fields = { name: 'Ops', steps, repeats: 0, reminder_hours: 0, ack_timeout_minutes: 0 };
  const policy = await domain.policies.create(id, user.id, fields);
  const { routes } = await domain.alertRoutes.get(id);
  const changed = routes.map((route) => ({ ...route, policy_id: policy.id, delay_seconds }));
  await domain.alertRoutes.put(id, changed, user.id, null);
  const head = {
    ...{
      project,
      integration: 'tool',
      endpoint: 'http' as const,
      mapping: null,
      sender_rules: null,
      heartbeat_matchers: '',
    },
    ...{ groups_by_payload: true, idempotency_key: '' },
  };
  const body = Buffer.from(JSON.stringify({ title: 'Disk full' }));
  await alerts.deliver(head, body, alerts.parse(head, body));
  return {
    setStatus: (status: 'triggered' | 'resolved') =>
      alerts.applyAction({ project, iid: 1, by: user.id, change: { status } }),
    /** Follows the events and carries out the steps, but sends nothing. */
    step: async () => {
      await domain.eventConsumers.catchUp(project, 'paging');
      await domain.pageSteps.run(project);
    },
    send: () => domain.pageDeliveries.run(project, channel.id),
    /** Does something between the notifications of a step and its page. */
    beforePage: (work: () => Promise<unknown>) => {
      const save = domain.pageStore.save.bind(domain.pageStore);
      domain.pageStore.save = async (pages) => {
        await work();
        await save(pages);
      };
    },
    close: async () => {
      await pipeline.close();
      directory[Symbol.dispose]();
    },
  };
}

test('a call that fell due before a long stop leaves after it', async () => {
  pager = await openPager('webhook', { url: receiver.url });
  await pager.step();
  now += 5 * HOUR;
  await pager.send();
  expect(receiver.events).toEqual(['triggered']);
});

test('PagerDuty is told of an end before it is told that the alert began again', async () => {
  pager = await openPager('pagerduty', { url: receiver.url, routing_key: 'a'.repeat(32) });
  receiver.answer = () => 202;
  await pager.step();
  await pager.send();
  receiver.answer = () => 503;
  await pager.setStatus('resolved');
  await pager.step();
  await pager.send();
  receiver.answer = () => 202;
  now += 1;
  await pager.setStatus('triggered');
  await pager.step();
  expect(await pager.send()).toBeGreaterThan(0);
  now += 61_000;
  await pager.send();
  await pager.send();
  expect(receiver.received.map(({ body }) => body.event_action)).toEqual(['trigger', 'resolve', 'trigger']);
});

test('a call that leaves before its page is stored is not cancelled', async () => {
  pager = await openPager('webhook', { url: receiver.url }, 60);
  await pager.step();
  now += 61_000;
  pager.beforePage(pager.send);
  await pager.step();
  expect(receiver.events).toEqual(['triggered']);
});
