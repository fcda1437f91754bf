import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pagerdutyIntegration } from '../../../serve/alerts/integrations/pagerduty.ts';
import { addressesOf, snippetsOf } from '../../../serve/alerts/integrations/snippets.ts';
import { until } from '../../infra/ports/opened.ts';
import { canRun } from '../../support/needed.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../support/temporary-directory.ts';
import { ALERTMANAGER, sendWebhook, startAlertmanager } from './programs.ts';
import { type Person, Service, type Source } from './service.ts';

const run = promisify(execFile);

let directory: TemporaryDirectory;
let service: Service;
let ann: Person;
let project: number;
let source: Source;
let url: string;
beforeAll(async () => {
  directory = temporaryDirectory();
  service = await Service.open();
  ann = await service.person('ann');
  project = await service.project(ann);
  source = await service.source(ann, project, { type: 'PAGERDUTY' });
  url = await service.app.listen({ host: '0.0.0.0', port: 0 });
  url = `http://127.0.0.1:${new URL(url).port}`;
});
afterAll(async () => {
  await service?.close();
  directory?.[Symbol.dispose]();
});

async function statusesOf(search: string): Promise<string[]> {
  const { body } = await service.api(ann, 'GET', `/projects/${project}/alerts?search=${search}`);
  return body.map(({ title, status }: Record<string, string>) => `${title} ${status}`).sort();
}

describe.runIf(canRun(ALERTMANAGER))('Alertmanager', () => {
  test('fires and resolves with the configuration that people are shown', async () => {
    const manager = await startAlertmanager('pagerduty', {
      directory: directory.path,
      webhook: `${url}/v2/enqueue`,
      key: source.key,
      type: pagerdutyIntegration,
    });
    try {
      const alert = (instance: string) => ({
        labels: { alertname: 'Cycle', instance, severity: 'warning' },
        annotations: { summary: `Cycle of ${instance}` },
        startsAt: new Date().toISOString(),
      });
      const both = ['h1', 'h2'].map(alert);
      await sendWebhook(manager, both);
      await until('both have arrived', async () => (await statusesOf('Cycle')).length === 2, 20_000);
      const { body } = await service.api(ann, 'GET', `/projects/${project}/alerts?search=Cycle`);
      expect(body[0]).toMatchObject({ severity: 'medium', status: 'triggered' });
      const first = body[0].iid;
      const acknowledged = { status: 'acknowledged' };
      await service.api(ann, 'PUT', `/projects/${project}/alerts/${first}`, acknowledged);

      await sendWebhook(manager, [{ ...both[0], endsAt: new Date().toISOString() }]);
      const resolved = async () => (await statusesOf('Cycle')).filter((text) => text.endsWith(' resolved'));
      await until('one is resolved', async () => (await resolved()).length === 1, 20_000);
      expect(await statusesOf('Cycle')).toHaveLength(2);
    } finally {
      await manager.stop();
    }
  });
});

test('the commands that people are shown create an alert, acknowledge it and resolve it', async () => {
  const access = { ...addressesOf(url, { id: '' }), key: source.key };
  const shown =
    snippetsOf(access, { type: pagerdutyIntegration.name, preset: '' }).find(({ name }) => name === 'curl')
      ?.text ?? '';
  const statuses = [];
  for (const command of shown.split('\n').filter(Boolean)) {
    const { stdout } = await run('sh', ['-c', command]);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success', dedup_key: 'disk/node-7' });
    statuses.push(...(await statusesOf('Disk')));
  }
  expect(statuses.map((text) => text.split(' ').at(-1))).toEqual(['triggered', 'acknowledged', 'resolved']);
});

describe('bodies whose sender is not known yet', () => {
  const BODY_BYTES = 512 * 1024;

  /** Announces a body and never ends it. */
  function begin(localAddress: string, path: string) {
    const begun = request(`${url}${path}`, {
      method: 'POST',
      localAddress,
      agent: false,
      headers: {
        'content-length': BODY_BYTES,
        'content-type': 'application/json',
        'sentry-hook-signature': 'wrong',
      },
    });
    begun.on('error', () => undefined);
    begun.write('{');
    return begun;
  }

  async function statusFrom(localAddress: string): Promise<number | undefined> {
    const event = {
      routing_key: source.key,
      event_action: 'trigger',
      dedup_key: localAddress,
      payload: { summary: localAddress, source: 'a', severity: 'info' },
    };
    const sent = request(`${url}/v2/enqueue`, { method: 'POST', localAddress, agent: false });
    sent.end(JSON.stringify(event));
    const [answer] = await once(sent, 'response');
    answer.resume();
    return answer.statusCode;
  }

  test.each([
    ['events', '/v2/enqueue'],
    ['signed payloads', '/alerts/0123456789abcdef/notify.json'],
  ])('%s fill what one address may hold and no more, until they end', async (_what, path) => {
    const held = Array.from({ length: 150 }, () => begin('127.0.0.2', path));
    await until('its address is full', async () => (await statusFrom('127.0.0.2')) === 503);
    expect(await statusFrom('127.0.0.3')).toBe(202);
    for (const one of held) one.destroy();
    await until('there is room again', async () => (await statusFrom('127.0.0.2')) === 202);
  });
});
