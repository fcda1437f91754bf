import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { consequenceMeasures } from '../../../serve/alerts/consequences/consequence-measures.ts';
import type { Progress } from '../../../serve/alerts/consequences/progress.ts';
import { type AlertDomain, openAlertDomain } from '../../../serve/alerts/domain.ts';
import { INCIDENTS } from '../../../serve/alerts/projects/incident-follower.ts';
import type { Project } from '../../../serve/alerts/projects/tables.ts';
import { consequenceProgress } from '../../../serve/alerts/projects/tables.ts';
import { openPipeline, type Pipeline } from '../../../serve/compose.ts';
import type { User } from '../../../serve/identity/accounts/tables.ts';
import { createUser } from '../../../serve/identity/accounts/users.ts';
import { readConfig } from '../../../serve/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { firing, prometheusBody } from './made.ts';
import { Receiver } from './receiver.ts';

// Rounds of consequences one by one: nothing runs by itself here.

const directory = temporaryDirectory();
let pipeline: Pipeline;
let domain: AlertDomain;
let ann: User;
let project: Project;
beforeAll(async () => {
  const env = { DATA_DIR: directory.path, LOG_LEVEL: 'fatal', ALERT_PRIVATE_TARGETS: 'true' };
  pipeline = await openPipeline(readConfig(env));
  domain = openAlertDomain({
    runtime: pipeline.runtime,
    accounts: pipeline.accounts(),
    pipeline: await pipeline.alerts(),
    settings: pipeline.config,
    publicUrl: () => '',
    measures: consequenceMeasures(),
  });
  const account = { username: 'ann', email: 'ann@example.org', password: null };
  ann = await createUser(pipeline.accounts(), account);
  project = await domain.projects.create(ann, { name: 'Watch', makes_incidents: true });
});
afterAll(async () => {
  await pipeline?.close();
  directory[Symbol.dispose]();
});

async function deliver(items: readonly object[], { id } = project): Promise<void> {
  const alerts = await pipeline.alerts();
  const body = Buffer.from(JSON.stringify(prometheusBody(items)));
  const head = {
    project: Number(id),
    integration: 'tool',
    endpoint: 'prometheus' as const,
    mapping: null,
    groups_by_payload: true,
    idempotency_key: '',
  };
  await alerts.deliver(head, body, alerts.parse(head, body));
  await alerts.waitUntilWritten();
}

describe('rounds', () => {
  test('of a webhook continue past events that it is not told of', async () => {
    const to = await Receiver.open();
    const { webhook } = await domain.webhooks.create(project, { url: to.url, events: ['resolved'] });
    const items = Array.from({ length: 1000 }, (_, i) => firing({ fingerprint: `f${i}` }));
    await deliver(items);
    await deliver([{ ...items[0], status: 'resolved', endsAt: '2026-11-21T04:00:00Z' }]);
    const run = () => domain.webhookOutbox.run(Number(project.id), webhook.id);
    while ((await run()).dueMs !== null);
    to.close();
    expect(to.accepted.map(({ event }) => event)).toEqual(['resolved']);
  });

  test('of a webhook end with its project', async () => {
    const to = await Receiver.open(() => 503);
    const other = await domain.projects.create(ann, { name: 'Ends' });
    const { webhook } = await domain.webhooks.create(other, { url: to.url });
    await deliver([firing()], other);
    const run = () => domain.webhookOutbox.run(Number(other.id), webhook.id);
    expect((await run()).dueMs).not.toBeNull();
    await domain.projects.delete(other.id);
    expect((await run()).dueMs).toBeNull();
    to.close();
    expect(to.requests).toHaveLength(1);
  });

  test('of a webhook say that its receiver fails, also while nothing is due, until it accepts a request', async () => {
    const to = await Receiver.open(() => 503);
    const failing = await domain.projects.create(ann, { name: 'Fails' });
    const { webhook } = await domain.webhooks.create(failing, { url: to.url });
    await deliver([firing()], failing);
    const number = Number(failing.id);
    const run = () => domain.webhookOutbox.run(number, webhook.id);
    expect(await run()).toMatchObject({ isFailing: true });
    const progress = (await domain.progress.get(number, webhook.id)) as Progress;
    await domain.progress.save(progress, { retry_ms: 0 });
    expect(await run()).toMatchObject({ isBroken: true });
    expect(to.requests).toHaveLength(1);
    to.answer = () => 200;
    await domain.webhooks.change(failing, webhook.id, { name: 'mended' });
    expect(await run()).toMatchObject({ isBroken: false });
    to.close();
    expect(to.accepted).toHaveLength(1);
  });

  test('of incidents miss no event while a sweep finds the projects of an older version', async () => {
    const number = Number(project.id);
    const { name } = consequenceProgress;
    await pipeline.runtime.store.run(
      `ALTER TABLE chain_metrics.${name} DELETE WHERE project = ${number} SETTINGS mutations_sync = 1`,
    );
    const { projects } = domain;
    const numbers = projects.numbers.bind(projects);
    projects.numbers = async () => {
      // An event arrives while the sweep is under way, and the round of an earlier one has begun.
      await domain.incidentFollower.run(number);
      await deliver([firing({ fingerprint: 'new' })]);
      return numbers();
    };
    await domain.incidentFollower.unfinished();
    projects.numbers = numbers;
    while ((await domain.incidentFollower.run(number)).dueMs !== null);
    const { position } = (await domain.progress.get(number, INCIDENTS)) ?? { position: 0 };
    expect(position).toBeGreaterThan(0);
    const { total } = await domain.incidents.list(pipeline.runtime.store, project.id, {
      number: 1,
      size: 20,
    });
    expect(total).toBe(1);
  });
});
