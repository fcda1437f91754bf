import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, Service, type Source } from './service.ts';

const PROJECT_ROLES = ['Guest', 'Reporter', 'Developer', 'Maintainer', 'Owner'] as const;
const LEVELS = { Guest: 10, Reporter: 20, Developer: 30, Maintainer: 40, Owner: 50 } as const;
type ProjectRole = (typeof PROJECT_ROLES)[number];
type Who = ProjectRole | 'stranger' | 'nobody';

let service: Service;
let project: number;
let source: Source;
const people = {} as Record<Exclude<Who, 'nobody'>, Person>;
beforeAll(async () => {
  service = await Service.open();
  people.Owner = await service.person('owner');
  people.stranger = await service.person('stranger');
  project = await service.project(people.Owner);
  for (const role of PROJECT_ROLES.slice(0, 4)) {
    people[role] = await service.person(role.toLowerCase());
    const member = { username: people[role].user.username, access_level: LEVELS[role] };
    expect((await service.api(people.Owner, 'POST', `/projects/${project}/members`, member)).status).toBe(
      201,
    );
  }
  source = await service.source(people.Owner, project);
  spare = await service.source(people.Owner, project, { name: 'spare' });
  const target = { url: 'http://127.0.0.1/', active: false };
  hookId = (await service.api(people.Owner, 'POST', `/projects/${project}/hooks`, target)).body.id;
  const made = await service.api(
    people.Owner,
    'POST',
    `/projects/${project}/escalation_policies`,
    policy('Day'),
  );
  policyId = made.body.id;
  await service.send(source, { title: 'alert' });
});
afterAll(() => service?.close());

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
interface Cell {
  readonly does: string;
  readonly method: Method;
  readonly path: () => string;
  readonly payload?: () => object;
  readonly least: ProjectRole;
  readonly status?: number;
}

const integration = () => `/integrations/${source.id}`;
const hook = () => `/hooks/${hookId}`;
let hookId: string;
let policyId: string;
let policies = 0;
const policy = (name: string) => ({
  name,
  steps: [{ targets: [{ type: 'user', id: people.Owner.user.id }], delay_minutes: 5 }],
});
let spare: Source;

/** Each action, and the lowest role that is allowed to do it. */
const MATRIX: readonly Cell[] = [
  { does: 'see the project', method: 'GET', path: () => '', least: 'Guest' },
  { does: 'see its members', method: 'GET', path: () => '/members', least: 'Guest' },
  { does: 'list incidents', method: 'GET', path: () => '/incidents', least: 'Reporter' },
  { does: 'see analytics', method: 'GET', path: () => '/analytics/alerts_by_day', least: 'Reporter' },
  { does: 'list noisy alerts', method: 'GET', path: () => '/analytics/noisiest_alerts', least: 'Reporter' },
  {
    does: 'list flapping alerts',
    method: 'GET',
    path: () => '/analytics/flapping_alerts',
    least: 'Reporter',
  },
  {
    does: 'create an incident',
    method: 'POST',
    path: () => '/alerts/1/incident',
    least: 'Developer',
    status: 201,
  },
  { does: 'list webhooks', method: 'GET', path: () => '/hooks', least: 'Maintainer' },
  {
    does: 'create a webhook',
    method: 'POST',
    path: () => '/hooks',
    payload: () => ({ url: 'https://hook.example', active: false }),
    least: 'Maintainer',
    status: 201,
  },
  {
    does: 'list the deliveries of a webhook',
    method: 'GET',
    path: () => `${hook()}/deliveries`,
    least: 'Maintainer',
  },
  { does: 'test a webhook', method: 'POST', path: () => `${hook()}/test`, least: 'Maintainer' },
  {
    does: 'list escalation policies',
    method: 'GET',
    path: () => '/escalation_policies',
    least: 'Reporter',
  },
  {
    does: 'create an escalation policy',
    method: 'POST',
    path: () => '/escalation_policies',
    payload: () => policy(`Night ${++policies}`),
    least: 'Maintainer',
    status: 201,
  },
  {
    does: 'change an escalation policy',
    method: 'PUT',
    path: () => `/escalation_policies/${policyId}`,
    payload: () => ({ repeats: 1 }),
    least: 'Maintainer',
  },
  { does: 'see the alert routes', method: 'GET', path: () => '/alert_routes', least: 'Reporter' },
  {
    does: 'replace the alert routes',
    method: 'PUT',
    path: () => '/alert_routes',
    payload: () => [{ name: 'default', policy_id: null, delay_seconds: 60 }],
    least: 'Maintainer',
  },
  {
    does: 'preview the alert routes',
    method: 'POST',
    path: () => '/alert_routes/preview',
    payload: () => ({ labels: {} }),
    least: 'Reporter',
  },
  { does: 'list maintenance windows', method: 'GET', path: () => '/maintenance_windows', least: 'Reporter' },
  {
    does: 'create a maintenance window',
    method: 'POST',
    path: () => '/maintenance_windows',
    payload: () => ({ name: `Night ${++policies}`, matchers: ['team="storage"'] }),
    least: 'Maintainer',
    status: 201,
  },
  { does: 'list alerts', method: 'GET', path: () => '/alerts', least: 'Developer' },
  { does: 'count alerts', method: 'GET', path: () => '/alerts/status_counts', least: 'Developer' },
  { does: 'view an alert', method: 'GET', path: () => '/alerts/1', least: 'Developer' },
  { does: 'see its history', method: 'GET', path: () => '/alerts/1/history', least: 'Developer' },
  { does: 'read notes', method: 'GET', path: () => '/alerts/1/notes', least: 'Developer' },
  {
    does: 'add a note',
    method: 'POST',
    path: () => '/alerts/1/notes',
    payload: () => ({ body: 'x' }),
    least: 'Developer',
    status: 201,
  },
  {
    does: 'change a status',
    method: 'PUT',
    path: () => '/alerts/1',
    payload: () => ({ status: 'acknowledged' }),
    least: 'Developer',
  },
  {
    does: 'assign a user',
    method: 'PUT',
    path: () => '/alerts/1',
    payload: () => ({ assignee_ids: [1] }),
    least: 'Developer',
  },
  {
    does: 'send a test alert',
    method: 'POST',
    path: () => `${integration()}/test_alert`,
    payload: () => ({ payload: '{"title":"test"}' }),
    least: 'Developer',
  },
  { does: 'list integrations', method: 'GET', path: () => '/integrations', least: 'Maintainer' },
  { does: 'see an integration', method: 'GET', path: integration, least: 'Maintainer' },
  {
    does: 'see the deliveries of an integration',
    method: 'GET',
    path: () => `${integration()}/deliveries`,
    least: 'Maintainer',
  },
  {
    does: 'create an integration',
    method: 'POST',
    path: () => '/integrations',
    payload: () => ({ type: 'HTTP', name: 'new', active: false }),
    least: 'Maintainer',
    status: 201,
  },
  {
    does: 'create an on-call link',
    method: 'POST',
    path: () => '/integrations',
    payload: () => ({ type: 'ONCALL', active: false, api_url: 'https://oncall.example' }),
    least: 'Maintainer',
    status: 201,
  },
  {
    does: 'change an integration',
    method: 'PUT',
    path: integration,
    payload: () => ({ name: 'renamed' }),
    least: 'Maintainer',
  },
  {
    does: 'reset a key',
    method: 'POST',
    path: () => `/integrations/${spare.id}/reset_key`,
    least: 'Maintainer',
  },
  {
    does: 'rotate a key',
    method: 'POST',
    path: () => `/integrations/${spare.id}/rotate_key`,
    payload: () => ({}),
    least: 'Maintainer',
  },
  {
    does: 'revoke an old key',
    method: 'DELETE',
    path: () => `/integrations/${spare.id}/old_key`,
    least: 'Maintainer',
  },
  {
    does: 'list the fields of a sample',
    method: 'POST',
    path: () => '/integrations/payload_fields',
    payload: () => ({ payload_example: '{"a":"b"}' }),
    least: 'Maintainer',
  },
  {
    does: 'delete an integration',
    method: 'DELETE',
    path: () => `/integrations/${spare.id}`,
    least: 'Maintainer',
    status: 204,
  },
  {
    does: 'change the project',
    method: 'PUT',
    path: () => '',
    payload: () => ({ description: 'x' }),
    least: 'Maintainer',
  },
  {
    does: 'change a member',
    method: 'PUT',
    path: () => `/members/${people.Guest.user.id}`,
    payload: () => ({ access_level: 10 }),
    least: 'Maintainer',
  },
  {
    does: 'change the plan',
    method: 'PUT',
    path: () => '',
    payload: () => ({ plan: 'free' }),
    least: 'Owner',
  },
];

describe('the roles', () => {
  const cells = MATRIX.flatMap((cell) =>
    (['nobody', 'stranger', ...PROJECT_ROLES] as const).map((who) => ({ ...cell, who })),
  );

  const integrations = async () =>
    (await service.api(people.Owner, 'GET', `/projects/${project}/integrations`)).body;

  test.each(cells)('$who: $does', async ({ who, method, path, payload, least, status = 200 }) => {
    const person = who === 'nobody' ? null : people[who];
    const level = who === 'nobody' || who === 'stranger' ? 0 : LEVELS[who];
    const before = await integrations();
    const reply = await service.api(person, method, `/projects/${project}${path()}`, payload?.());
    if (level >= LEVELS[least]) {
      expect(reply.status).toBe(status);
      await restore();
      return;
    }
    if (who === 'nobody') expect(reply).toMatchObject({ status: 401, body: { message: '401 Unauthorized' } });
    else if (level === 0)
      expect(reply).toMatchObject({ status: 404, body: { message: '404 Project Not Found' } });
    else
      expect(reply).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('role in the project') },
      });
    expect(await integrations()).toEqual(before);
  });

  /** Restores what an allowed action changed. */
  async function restore(): Promise<void> {
    await service.api(people.Owner, 'PUT', `/projects/${project}`, { plan: 'premium' });
    for (const { id } of await integrations()) {
      if (id !== source.id && id !== spare.id) {
        await service.api(people.Owner, 'DELETE', `/projects/${project}/integrations/${id}`);
      }
    }
    if ((await integrations()).length < 2)
      spare = await service.source(people.Owner, project, { name: 'spare' });
  }
});

describe('members', () => {
  const members = () => `/projects/${project}/members`;

  test('cannot grant a role above their own, or change a member above them', async () => {
    const { Maintainer, Owner, stranger } = people;
    const add = { username: stranger.user.username, access_level: LEVELS.Owner };
    expect((await service.api(Maintainer, 'POST', members(), add)).status).toBe(403);
    const lower = await service.api(Maintainer, 'PUT', `${members()}/${Owner.user.id}`, { access_level: 10 });
    expect(lower.status).toBe(403);
    expect((await service.api(Maintainer, 'DELETE', `${members()}/${Owner.user.id}`)).status).toBe(403);
  });

  test('the last Owner cannot be removed', async () => {
    const own = `${members()}/${people.Owner.user.id}`;
    expect((await service.api(people.Owner, 'DELETE', own)).status).toBe(409);
    expect((await service.api(people.Owner, 'PUT', own, { access_level: 40 })).status).toBe(409);
  });

  test('can leave, and lose access then', async () => {
    const visitor = await service.person('visitor');
    const add = { username: 'visitor', access_level: LEVELS.Guest };
    expect((await service.api(people.Maintainer, 'POST', members(), add)).body).toMatchObject({
      role: 'Guest',
    });
    expect((await service.api(people.Maintainer, 'POST', members(), add)).status).toBe(409);
    expect((await service.api(visitor, 'DELETE', `${members()}/${people.Developer.user.id}`)).status).toBe(
      403,
    );
    expect((await service.api(visitor, 'DELETE', `${members()}/${visitor.user.id}`)).status).toBe(204);
    expect((await service.api(visitor, 'GET', `/projects/${project}`)).status).toBe(404);
  });

  test.each([0, 15, 60, -10])('a level of %i is refused', async (access_level) => {
    const add = { username: 'stranger', access_level };
    expect([400, 403]).toContain((await service.api(people.Owner, 'POST', members(), add)).status);
  });

  test('an unknown user is 404', async () => {
    const add = { username: 'nobody-there', access_level: 10 };
    expect(await service.api(people.Owner, 'POST', members(), add)).toMatchObject({
      status: 404,
      body: { message: '404 User Not Found' },
    });
  });

  test('are found by id only among users with whom the caller shares a project', async () => {
    const { Maintainer, Developer, stranger } = people;
    const own = await service.project(Maintainer);
    const add = (fields: object) =>
      service.api(Maintainer, 'POST', `/projects/${own}/members`, { ...fields, access_level: LEVELS.Guest });
    const unknown = await add({ user_id: 999_999 });
    expect(unknown).toMatchObject({ status: 404, body: { message: '404 User Not Found' } });
    const unrelated = await add({ user_id: Number(stranger.user.id) });
    expect({ ...unrelated, headers: {} }).toEqual({ ...unknown, headers: {} });
    const path = (id: string) => `/projects/${own}/members/${id}`;
    for (const method of ['PUT', 'DELETE'] as const) {
      const payload = method === 'PUT' ? { access_level: LEVELS.Guest } : undefined;
      const texts = ['999999', stranger.user.id].map(async (id) => {
        const { status, body } = await service.api(Maintainer, method, path(id), payload);
        return `${status} ${JSON.stringify(body)}`;
      });
      expect(new Set(await Promise.all(texts)).size).toBe(1);
    }
    for (const username of [stranger.user.id, stranger.user.email, 'stranger@', 'strange']) {
      expect((await add({ username })).status, username).toBe(404);
    }
    expect((await add({ user_id: Number(Developer.user.id) })).status).toBe(201);
    expect((await add({ username: '@stranger' })).status).toBe(201);
  });

  test('that are looked up too often are not', async () => {
    const curious = await service.person('curious');
    const own = await service.project(curious);
    const add = { username: 'nobody-there', access_level: LEVELS.Guest };
    const replies = await Promise.all(
      Array.from({ length: 101 }, () => service.api(curious, 'POST', `/projects/${own}/members`, add)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([...Array(100).fill(404), 429]);
  });

  test('an unknown token is 401', async () => {
    const reply = await service.app.inject({
      url: '/api/v4/projects',
      headers: { authorization: 'Bearer cmp_unknown' },
    });
    expect(reply.statusCode).toBe(401);
    expect(reply.json()).toMatchObject({ error: 'invalid_token' });
  });
});
