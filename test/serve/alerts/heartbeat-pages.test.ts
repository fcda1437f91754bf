import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let browser: Browser;
let source: Source;
let page: string;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
  source = await service.source(ann, await service.project(ann));
  page = `/projects/${source.project}/integrations/${source.id}`;
});
afterAll(() => service?.close());

const heartbeats = async () =>
  (await service.api(ann, 'GET', `/projects/${source.project}/heartbeats`)).body as { id: string }[];
const card = async () => {
  const { body } = await browser.get(page);
  return /<h2>Heartbeats<\/h2>[\s\S]*?<\/section>/.exec(body)?.[0] ?? '';
};

test('the page of an integration sets its heartbeat, lists its beats and forgets them', async () => {
  expect(await card()).toBe('');
  const fields = { name: 'Tool', active: 'on', heartbeat: '5', heartbeat_matchers: 'alertname="Alive' };
  const refused = await browser.submit(page, `${page}/save`, fields);
  expect(refused.statusCode).toBe(422);
  expect(plain(refused.body)).toContain('the quote is not closed');
  expect(plain(refused.body)).toContain('value="alertname="Alive"');
  await browser.submit(page, `${page}/save`, { ...fields, heartbeat_matchers: 'alertname="Alive"' });
  expect(plain(await card())).toContain('Every request');
  expect(await card()).not.toContain('Forget</button>');

  const labels = { alertname: 'Alive', cluster: '<eu>' };
  await service.send(source, prometheusBody([firing({ labels })]));
  const isBeating = async () => plain(await card()).includes('cluster=<eu>');
  await until('it is listed', isBeating);
  expect(plain(await card())).not.toContain('Every request');

  const [{ id = '' } = {}] = await heartbeats();
  const { body } = await browser.submitAndFollow(page, `${page}/heartbeats/${id}/forget`, {});
  expect(plain(body)).toContain('Heartbeat forgotten.');
  expect(plain(body)).toContain('No heartbeats yet.');
  expect(await heartbeats()).toEqual([]);
  const again = await browser.submit(page, `${page}/save`, { ...fields, heartbeat_matchers: '' });
  expect(again.statusCode).toBe(303);
});
