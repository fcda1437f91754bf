import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { type Person, Service } from '../service.ts';

const AMTOOL = '/usr/bin/amtool';

let service: Service;
let ann: Person;
let project: number;
let address: string;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
  project = await service.project(ann);
  address = await service.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => service?.close());

/** What amtool prints; it fails with what it prints as error. */
async function amtool(args: readonly string[], of = project): Promise<string> {
  const url = new URL(`/alertmanager/${of}`, address);
  url.username = 'ann';
  url.password = ann.token;
  const { stdout } = await promisify(execFile)(AMTOOL, [
    `--alertmanager.url=${url}`,
    // Its own 30 s are short for 1,000 silences on a busy machine.
    '--timeout=2m',
    ...args,
  ]);
  return stdout.trim();
}
const add = (...args: string[]) => amtool(['silence', 'add', '--comment=test', '--author=ann', ...args]);
const query = async (...args: string[]) =>
  (JSON.parse(await amtool(['silence', 'query', '-o', 'json', ...args])) as { id: string }[]).map(
    ({ id }) => id,
  );

describe('amtool', () => {
  test('adds, queries, updates and expires silences', async () => {
    const disk = await add('alertname=Disk', 'host=~web-.*');
    const load = await add('Load', 'team!=a', '--duration=3h');
    expect((await query()).sort()).toEqual([disk, load].sort());
    expect(await query('Load')).toEqual([load]);
    expect(await query('host=~web-.*')).toEqual([disk]);
    expect(await query('host=web-.*')).toEqual([]);
    expect(await query('alertname=Disk', 'host=~web-.*')).toEqual([disk]);
    const stored = await service.api(ann, 'GET', `/projects/${project}/silences/${load}`);
    expect(stored.body).toMatchObject({
      matchers: ['alertname="Load"', 'team!="a"'],
      comment: 'test',
      created_by: 'ann',
      author_id: Number(ann.user.id),
    });
    await amtool(['silence', 'update', '--duration=5h', '--comment=longer', load]);
    expect((await query()).sort()).toEqual([disk, load].sort());
    const hours =
      (Date.parse((await service.api(ann, 'GET', `/projects/${project}/silences/${load}`)).body.ends_at) -
        Date.now()) /
      3_600_000;
    expect(hours).toBeGreaterThan(4.9);
    await amtool(['silence', 'expire', disk]);
    expect(await query()).toEqual([load]);
    expect(await query('--expired')).toEqual([disk]);
    await expect(amtool(['silence', 'expire', '0d6e1f8a-52c7-4b39-9d0e-6a4b8c21f7d3'])).rejects.toThrow(
      '404',
    );
    await expect(add('alertname=~.*')).rejects.toThrow('also match an alert without labels');
  });

  test('imports 1,000 silences and expires them', async () => {
    const own = await service.project(ann);
    using directory = temporaryDirectory();
    const file = join(directory.path, 'silences.json');
    const time = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const silences = Array.from({ length: 1000 }, (_, i) => ({
      matchers: [{ name: 'n', value: String(i), isRegex: false, isEqual: true }],
      startsAt: time(-1),
      endsAt: time(5),
      createdBy: 'ann',
      comment: `import ${i}`,
    }));
    writeFileSync(file, JSON.stringify(silences));
    await amtool(['silence', 'import', file], own);
    const ids = (await amtool(['silence', 'query', '-q'], own)).split('\n');
    expect(new Set(ids).size).toBe(1000);
    expect(await amtool(['silence', 'query', '-q', 'n=999'], own)).toMatch(/^[\da-f-]{36}$/);
    await amtool(['silence', 'expire', ...ids.slice(0, 50)], own);
    expect((await amtool(['silence', 'query', '-q'], own)).split('\n')).toHaveLength(950);
  }, 120_000);

  test('queries alerts, also silenced ones', async () => {
    const source = await service.source(ann, project);
    for (const title of ['Fan', 'Noise'])
      await service.send(source, { title, fingerprint: title, service: 'lab' });
    const silence = await add('alertname=Noise');
    const alerts = async (...args: string[]) =>
      JSON.parse(await amtool(['alert', 'query', '-o', 'json', ...args]));
    expect(await alerts()).toEqual([
      expect.objectContaining({
        labels: expect.objectContaining({ alertname: 'Fan', service: 'lab', cm_integration: 'Tool' }),
        status: expect.objectContaining({ state: 'active', silencedBy: [], inhibitedBy: [] }),
        fingerprint: expect.stringMatching(/^[\da-f]{16}$/),
        generatorURL: expect.stringContaining(`/projects/${project}/alerts/1`),
      }),
    ]);
    expect(await alerts('--silenced')).toMatchObject([
      { status: { state: 'suppressed', silencedBy: [silence] } },
    ]);
    expect(await alerts('Fan', 'service=lab')).toHaveLength(1);
    expect(await alerts('service=other')).toEqual([]);
    expect(await amtool(['cluster', 'show'])).toContain('disabled');
  });
});

describe("the addresses of Alertmanager's API", () => {
  const ask = async (
    method: 'GET' | 'POST' | 'DELETE' | 'PUT',
    path: string,
    { payload, token = ann.token }: { payload?: object; token?: string } = {},
  ) => {
    const reply = await service.app.inject({
      method,
      url: `/alertmanager/${project}${path}`,
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      ...(payload === undefined ? {} : { payload }),
    });
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
    return {
      status: reply.statusCode,
      body: reply.body === '' ? null : JSON.parse(reply.body),
      headers: reply.headers,
    };
  };
  const silence = (more: object = {}) => ({
    matchers: [{ name: 'a', value: 'b', isRegex: false }],
    startsAt: new Date(Date.now() - 1000).toISOString(),
    endsAt: new Date(Date.now() + 3_600_000).toISOString(),
    createdBy: 'grafana',
    comment: '',
    ...more,
  });

  test('answer the probes of Grafana as Prometheus does', async () => {
    expect((await ask('GET', '/alertmanager/api/v2/status')).status).toBe(404);
    expect((await ask('GET', '/api/v1/status/buildinfo')).status).toBe(404);
    expect(await ask('GET', '/api/v2/status')).toMatchObject({
      status: 200,
      body: { cluster: { status: 'disabled' } },
    });
  });

  test('take what Grafana creates, and answer errors as a text', async () => {
    const created = await ask('POST', '/api/v2/silences', { payload: silence() });
    expect(created).toMatchObject({ status: 200, body: { silenceID: expect.any(String) } });
    const one = `/api/v2/silence/${created.body.silenceID}`;
    expect((await ask('GET', one)).body).toMatchObject({
      matchers: [{ name: 'a', value: 'b', isRegex: false, isEqual: true }],
      status: { state: 'active' },
      createdBy: 'grafana',
    });
    const replaced = await ask('POST', '/api/v2/silences', {
      payload: {
        ...silence({ matchers: [{ name: 'a', value: 'c', isRegex: false }] }),
        id: created.body.silenceID,
      },
    });
    expect(replaced.body.silenceID).not.toBe(created.body.silenceID);
    expect((await ask('GET', one)).body.status.state).toBe('expired');
    expect(await ask('DELETE', `/api/v2/silence/${replaced.body.silenceID}`)).toMatchObject({
      status: 200,
      body: null,
    });
    const refused = [
      await ask('POST', '/api/v2/silences', { payload: silence({ endsAt: '2020-01-01T00:00:00Z' }) }),
      await ask('POST', '/api/v2/silences', { payload: silence({ matchers: [] }) }),
      await ask('POST', '/api/v2/silences', { payload: silence({ id: 'unknown' }) }),
      await ask('POST', '/api/v2/silences', { payload: silence({ comment: 'x'.repeat(2 ** 21) }) }),
      await ask('GET', '/api/v2/silences?filter=a'),
      await ask('GET', one, { token: '' }),
      await ask('GET', one, { token: 'cmp_wrong' }),
      await ask('POST', '/api/v2/alerts', { payload: [] }),
      await ask('PUT', one, { payload: {} }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 404, 413, 400, 401, 401, 405, 405]);
    for (const { body } of refused) expect(body).toEqual(expect.any(String));
    expect(refused[5]?.headers['www-authenticate']).toContain('Basic');
    const reporter = await service.person('rita');
    expect((await ask('GET', one, { token: reporter.token })).status).toBe(404);
    const member = { username: 'rita', access_level: 20 };
    await service.api(ann, 'POST', `/projects/${project}/members`, member);
    expect((await ask('GET', one, { token: reporter.token })).status).toBe(200);
    expect(
      (await ask('POST', '/api/v2/silences', { payload: silence(), token: reporter.token })).status,
    ).toBe(403);
  });

  test('list policies as receivers, and group alerts by them', async () => {
    const steps = [{ targets: [{ type: 'user', id: ann.user.id }], delay_minutes: 5 }];
    const policy = await service.api(ann, 'POST', `/projects/${project}/escalation_policies`, {
      name: 'Night',
      steps,
    });
    const route = { name: 'lab', matchers: ['alertname="Fan"'], policy_id: policy.body.id };
    const routes = [route, { name: 'default', policy_id: null }];
    expect((await service.api(ann, 'PUT', `/projects/${project}/alert_routes`, routes)).status).toBe(200);
    expect((await ask('GET', '/api/v2/receivers')).body).toEqual([{ name: 'Night' }]);
    const groups = await ask('GET', '/api/v2/alerts/groups');
    const titles = groups.body.map(
      (group: { receiver: { name: string }; alerts: { labels: { alertname: string } }[] }) => [
        group.receiver.name,
        group.alerts.map(({ labels }) => labels.alertname),
      ],
    );
    expect(titles).toEqual([
      ['', ['Noise']],
      ['Night', ['Fan']],
    ]);
    const only = await ask('GET', '/api/v2/alerts?receiver=Ni.*&silenced=false');
    expect(only.body.map(({ labels }: { labels: { alertname: string } }) => labels.alertname)).toEqual([
      'Fan',
    ]);
  });
});
