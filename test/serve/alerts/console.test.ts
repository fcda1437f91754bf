import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { canRun } from '../../support/needed.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service } from './service.ts';

const AMTOOL = '/usr/bin/amtool';

let service: Service;
let ann: Person;
let browser: Browser;
let project: number;
beforeAll(async () => {
  service = await Service.open({ ALERT_RETRY_WINDOW_SECONDS: '0' });
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann, { name: 'Render  farm' });
});

describe('the page of an integration', () => {
  test('has configurations that amtool and a shell take as they are', async () => {
    const list = `/projects/${project}/integrations`;
    const { body } = await browser.submitAndFollow(list, list, { type: 'prometheus', name: 'Alertmanager' });
    const snippet = (name: string) =>
      plain(new RegExp(`id="snippet-${name}"[^>]*>([^<]+)<`).exec(body)?.[1] ?? '');
    expect(body).toContain('Waiting for the first alert');
    expect(snippet('grafana')).toMatch(/url: http:.*\/prometheus\/alerts\/notify\.json\n/);
    if (canRun(AMTOOL)) {
      using directory = temporaryDirectory();
      const file = join(directory.path, 'alertmanager.yml');
      writeFileSync(file, snippet('alertmanager'));
      const { stdout, stderr } = spawnSync(AMTOOL, ['check-config', file], { encoding: 'utf8' });
      expect(stderr + stdout).toContain('SUCCESS');
      expect(stdout).toContain('1 receivers');
    }
    // The address of the page is the one that the service listens on, and it does not listen here.
    const [created, resolved] = snippet('curl').split('\n\n');
    const sent = [created, resolved].map((text = '') => {
      const asked = text.replace(/^\s*curl /, 'printf "%s\\n" ');
      const { stdout } = spawnSync('bash', ['-c', asked], { encoding: 'utf8' });
      const [, url = '', , authorization = '', , , , payload = ''] = stdout.split('\n');
      return {
        path: new URL(url).pathname,
        key: authorization.replace('Authorization: Bearer ', ''),
        payload,
      };
    });
    const answers = [];
    for (const { payload, ...source } of sent) answers.push((await service.send(source, payload)).body);
    expect(answers).toEqual([[{ iid: 1, title: 'Disk of node-7 is full' }], []]);
    expect((await service.api(ann, 'GET', `/projects/${project}/alerts/1`)).body.status).toBe('resolved');
    const { body: alert } = await browser.get(`/projects/${project}/alerts/1`);
    const [, path = ''] = /<dt>Integration<\/dt><dd><a href="([^"]+)">Alertmanager</.exec(alert) ?? [];
    expect(alert).toMatch(/\d\d:\d\d:\d\d UTC<\/time><span>first event/);
    expect((await browser.get(path)).body).toMatch(
      /\d\d:\d\d:\d\d UTC<\/time><\/th><td><span class="tag">1 /,
    );
    // A developer may not open the page of the integration.
    const { user } = await service.person(`dev-${project}`, PASSWORD);
    const added = { username: user.username, access_level: 30 };
    await service.api(ann, 'POST', `/projects/${project}/members`, added);
    const seen = await (await signedIn(service, user)).get(`/projects/${project}/alerts/1`);
    expect(seen.body).toContain('<dt>Integration</dt><dd>Alertmanager</dd>');
    const { body: analytics } = await browser.get(`/projects/${project}/analytics`);
    expect(analytics).toContain('<th scope="col" class="number">Events</th>');
    expect(analytics).toContain('<td class="number">1</td>');
  });
});

describe('the list of alerts', () => {
  const list = () => `/projects/${project}/alerts`;
  const statusOf = async (iid: number) =>
    (await service.api(ann, 'GET', `${list()}/${iid}`)).body.status as string;

  test('changes the selected alerts, and says how many and which it could not change', async () => {
    const source = await service.source(ann, project);
    const send = (name: string, more = {}) =>
      service.send(source, { title: name, fingerprint: name, ...more });
    for (const name of ['a', 'b', 'c']) await send(name);
    await send('a', { end_time: '2026-11-21' });
    await send('a');
    const change = async (fields: Record<string, string | readonly string[]>) => {
      const page = await browser.submitAndFollow(list(), `${list()}/bulk`, { back: 'status=all', ...fields });
      return plain(/<p class="note[^>]*>([^<]*)</.exec(page.body)?.[1] ?? '');
    };
    expect(await change({ status: 'acknowledged', iid: ['2', '3', '99'] })).toBe(
      '2 alerts acknowledged. Not found: #99.',
    );
    expect(await change({ status: 'acknowledged', iid: ['2', '2', 'x', '-1', '4'] })).toBe(
      '1 alert acknowledged. 1 alert already had that status.',
    );
    expect([await statusOf(2), await statusOf(3), await statusOf(4)]).toEqual(Array(3).fill('acknowledged'));
    expect(await change({ status: 'triggered', iid: ['1', '2'] })).toContain(
      '1 alert reopened. Not changed, because another unresolved alert has the same fingerprint: #1.',
    );
    expect(await change({ status: 'resolved' })).toBe('Select alerts first.');
    expect(await change({ status: 'gone', iid: '2' })).toBe('Select alerts first.');
    const many = Array.from({ length: 101 }, (_, i) => String(i + 1));
    expect(await change({ status: 'resolved', iid: many })).toBe('Select at most 100 alerts.');
    expect(await statusOf(3)).toBe('acknowledged');
  });

  test('is narrowed by severity and by labels, which the address holds, and counts what each would show', async () => {
    const source = await service.source(ann, project);
    const hosts = ['db-1', 'db-2', 'db-3', 'db-4'];
    await service.send(source, { title: 'one', severity: 'high', service: 'storage & <i>more</i>', hosts });
    await service.send(source, {
      title: 'two',
      severity: 'low',
      service: 'web',
      platform_environment_name: 'test',
    });
    const page = await browser.get(list());
    const chip = plain(/<a class="chip" href="([^"]*service=storage[^"]*)"/.exec(page.body)?.[1] ?? '');
    const narrowed = await browser.get(chip);
    expect(narrowed.body).toContain('>one</a>');
    expect(narrowed.body).not.toContain('>two</a>');
    expect(narrowed.body).not.toContain('<i>more');
    expect(narrowed.body).toContain('Remove Service: storage &#38; ');
    expect(narrowed.body).toMatch(/high <span class="count">1</);
    expect(narrowed.body).toMatch(/low <span class="count">0</);
    expect((await browser.get(`${list()}?host=db-4`)).body).toContain('>one</a>');
    const labels = { alertname: 'A', pod: 'a=b&c', instance: 'h1' };
    await service.send(source, prometheusBody([firing({ labels })]));
    const label = `${list()}?label=${encodeURIComponent('pod=a=b&c')}`;
    expect((await browser.get(label)).body).toContain('It broke</a>');
    expect((await browser.get(label)).body).toContain('Label: pod=a=b&#38;c');
    expect((await browser.get(`${list()}?label=pod%3Da`)).body).toContain('No alerts match');
    const found = (search: string) =>
      service.api(ann, 'GET', `/projects/${project}/alerts?${new URLSearchParams({ label: search })}`);
    expect((await found('pod=a=b&c')).body).toMatchObject([
      { labels: ['alertname=A', 'instance=h1', 'pod=a=b&c'] },
    ]);
    expect((await found('pod=a')).body).toEqual([]);
    const low = await browser.get(`${list()}?severity=low`);
    expect(low.body).not.toContain('>one</a>');
    expect(low.body).toMatch(/high <span class="count">1</);
    expect(low.body).toMatch(/Open <span class="count">1</);
  });

  test('keeps named filters of a user, opens with one of them, and bounds their number', async () => {
    const save = (fields: Record<string, string>) =>
      browser.submitAndFollow(`${list()}?status=open`, `${list()}/filters`, fields);
    await save({ name: 'Disks\u202e <b>', back: 'search=disk&severity=high&page=3&unknown=1' });
    expect((await browser.get(list())).statusCode).toBe(200);
    const second = await save({ name: 'Mine', back: 'assignee=none&status=all', default: 'on' });
    expect(second.body).toContain('Disks &#60;b&#62;</a>');
    expect(second.body).toContain('?status=open&#38;search=disk&#38;severity=high"');
    expect((await browser.get(list())).headers.location).toBe(`${list()}?status=all&assignee=none`);
    expect((await browser.get(`${list()}?status=open`)).statusCode).toBe(200);
    const other = await signedIn(service, (await service.person('bob', PASSWORD)).user);
    expect((await other.get(list())).statusCode).toBe(404);
    const id = /filters\/([\w-]+)"(?:(?!<\/form>)[\s\S])*Do not open with Mine/.exec(second.body)?.[1] ?? '';
    const act = (what: string) =>
      browser.submit(`${list()}?status=open`, `${list()}/filters/${id}`, { do: what });
    await act('not-default');
    expect((await browser.get(list())).statusCode).toBe(200);
    await act('delete');
    expect((await browser.get(list())).body).not.toContain('>Mine</a>');
    expect((await act('delete')).statusCode).toBe(404);
    for (let i = 1; i <= 19; i++) await save({ name: `Filter ${i}` });
    expect((await save({ name: 'One more' })).body).toContain('up to 20 filters');
    expect((await save({ name: 'Filter 1', default: 'on' })).body).toContain('Filter saved.');
  });

  test('is read once for all who follow it, and answers 304 while nothing changes', async () => {
    const source = await service.source(ann, project);
    await service.send(source, { title: 'first' });
    const statements: string[] = [];
    const { store } = service.pipeline.runtime;
    const rows = store.rows.bind(store);
    store.rows = (statement, options) => {
      if (options?.lane === 'readers') statements.push(statement.text);
      return rows(statement, options);
    };
    const follow = (headers = {}) => browser.get(`${list()}/live?status=open`, headers);
    const answers = await Promise.all(Array.from({ length: 5 }, () => follow()));
    store.rows = rows;
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(5).fill(200));
    expect(answers[0]?.body).toContain('>first</a>');
    expect(answers[0]?.body).not.toContain('form_token');
    expect(statements).toHaveLength(3);
    const etag = String(answers[0]?.headers.etag);
    expect((await follow({ 'if-none-match': etag })).statusCode).toBe(304);
    await service.send(source, { title: 'second' });
    await until(
      'the change is seen',
      async () => (await follow({ 'if-none-match': etag })).statusCode === 200,
    );
    expect((await follow()).body).toContain('>second</a>');
    expect((await new Browser(service.app).get(`${list()}/live`)).statusCode).toBe(303);
  });
});

describe('what ends for good', () => {
  test('a project ends when its name was typed, and not before', async () => {
    const end = `/projects/${project}/settings/delete`;
    const page = await browser.get(end);
    expect(page.body).toContain('Delete the project Render  farm?');
    for (const name of ['', 'Render', 'render farm']) {
      expect((await browser.submit(end, end, { name })).statusCode).toBe(422);
    }
    expect((await browser.submit(end, end, { confirmed: '', name: 'Render farm' })).statusCode).toBe(422);
    expect((await browser.get(`/projects/${project}/settings`)).statusCode).toBe(200);
    const ended = await browser.submitAndFollow(end, end, { name: ' Render farm ' });
    expect(ended.body).toContain('deleted.');
    expect((await browser.get(`/projects/${project}/settings`)).statusCode).toBe(404);
  });

  test('an integration and its key end when that was confirmed, and not before', async () => {
    const source = await service.source(ann, project);
    const one = `/projects/${project}/integrations/${source.id}`;
    const status = async () => (await service.send(source, { title: 'x' })).status;
    for (const end of [`${one}/reset`, `${one}/delete`]) {
      const unasked = await browser.submit(one, end, {});
      expect(unasked.statusCode).toBe(422);
      expect(unasked.body).toContain('Tool?');
      expect(unasked.body).toMatch(/Last delivery<\/dt><dd>(Never|<time)/);
    }
    expect(await status()).toBe(200);
    const shown = await browser.submitAndFollow(`${one}/reset`, `${one}/reset`, {});
    expect(shown.body).toContain('id="secret"');
    expect(await status()).toBe(401);
    await browser.submit(`${one}/delete`, `${one}/delete`, {});
    expect((await browser.get(one)).statusCode).toBe(404);
  });
});
