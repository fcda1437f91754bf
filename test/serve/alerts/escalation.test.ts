import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { escalationPolicies } from '../../../serve/alerts/model/oncall-tables.ts';
import { policiesUsing } from '../../../serve/alerts/oncall/policies.ts';
import { Records } from '../../../serve/stored-records/records.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let ann: Person;
let bob: Person;
let guest: Person;
beforeAll(async () => {
  service = await Service.open();
  [ann, bob, guest] = [
    await service.person('ann'),
    await service.person('bob'),
    await service.person('guest'),
  ];
});
afterAll(() => service?.close());

/** A project of Ann with Bob as Developer and a Guest. */
async function watch(): Promise<number> {
  const project = await service.project(ann);
  for (const [{ user }, access_level] of [[bob, 30] as const, [guest, 10] as const]) {
    const member = { username: user.username, access_level };
    await service.api(ann, 'POST', `/projects/${project}/members`, member);
  }
  return project;
}

const step = (user: Person, more: object = {}) => ({
  targets: [{ type: 'user', id: user.user.id }],
  delay_minutes: 10,
  important: false,
  ...more,
});
const night = (more: object = {}) => ({ name: 'Night', steps: [step(bob), step(ann)], ...more });
const policies = (project: number) => `/projects/${project}/escalation_policies`;

describe('escalation policies', () => {
  test('are created with defaults, read, changed and deleted', async () => {
    const project = await watch();
    const created = await service.api(ann, 'POST', policies(project), night());
    expect(created).toMatchObject({
      status: 201,
      body: { ...night(), repeats: 2, reminder_hours: 4, ack_timeout_minutes: 0 },
    });
    const one = `${policies(project)}/${created.body.id}`;
    expect((await service.api(bob, 'GET', one)).body).toEqual(created.body);
    expect((await service.api(bob, 'GET', policies(project))).body).toEqual([created.body]);
    const steps = [step(ann, { targets: [{ type: 'user', id: Number(ann.user.id) }], important: true })];
    const changed = await service.api(ann, 'PUT', one, { steps, repeats: 0 });
    expect(changed.body).toEqual({ ...created.body, steps: [step(ann, { important: true })], repeats: 0 });
    expect((await service.api(ann, 'DELETE', one)).status).toBe(204);
    expect((await service.api(ann, 'GET', one)).status).toBe(404);
    expect((await service.api(ann, 'GET', policies(project))).body).toEqual([]);
  });

  const target = (type: string, id: string) => ({ steps: [{ targets: [{ type, id }], delay_minutes: 5 }] });
  test.each([
    ['no name', () => ({ name: ' ' }), 'name'],
    ['a name that is too long', () => ({ name: 'x'.repeat(256) }), 'name'],
    ['no step', () => ({ steps: [] }), 'steps'],
    ['11 steps', () => ({ steps: Array(11).fill(step(bob)) }), 'steps'],
    ['a step for nobody', () => ({ steps: [step(bob, { targets: [] })] }), 'steps.0.targets'],
    [
      'the same target twice',
      () => ({ steps: [step(ann), step(bob, { targets: [...step(bob).targets, ...step(bob).targets] })] }),
      'steps.1.targets',
    ],
    ['no wait', () => ({ steps: [step(bob, { delay_minutes: 0 })] }), 'steps.0.delay_minutes'],
    ['a wait of two days', () => ({ steps: [step(bob, { delay_minutes: 2880 })] }), 'steps.0.delay_minutes'],
    ['11 repeats', () => ({ repeats: 11 }), 'repeats'],
    ['a reminder after 25 hours', () => ({ reminder_hours: 25 }), 'reminder_hours'],
    ['half a minute', () => ({ ack_timeout_minutes: 0.5 }), 'ack_timeout_minutes'],
    ['a Guest', () => target('user', guest.user.id), 'steps.0.targets'],
    ['an unknown user', () => target('user', '999999'), 'steps.0.targets'],
    ['an unknown schedule', () => target('schedule', 'none'), 'steps.0.targets'],
    ['an unknown channel', () => target('channel', 'none'), 'steps.0.targets'],
  ])('with %s are refused, and nothing changes', async (_name, fields, field) => {
    const project = await watch();
    const reply = await service.api(ann, 'POST', policies(project), night(fields()));
    expect(reply).toMatchObject({ status: 400, body: { errors: { [field]: [expect.any(String)] } } });
    const { body } = await service.api(ann, 'POST', policies(project), night());
    const one = `${policies(project)}/${body.id}`;
    expect((await service.api(ann, 'PUT', one, fields())).status).toBe(400);
    expect((await service.api(ann, 'GET', one)).body).toEqual(body);
  });

  test('have names of their own, also when they are created at once', async () => {
    const project = await watch();
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => service.api(ann, 'POST', policies(project), night())),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    const other = await service.api(ann, 'POST', policies(project), night({ name: 'Day' }));
    const renamed = await service.api(ann, 'PUT', `${policies(project)}/${other.body.id}`, { name: 'Night' });
    expect(renamed).toMatchObject({ status: 409, body: { message: expect.stringContaining('Night') } });
  });

  test('keep a target that has left until their steps are changed', async () => {
    const project = await watch();
    const { body } = await service.api(ann, 'POST', policies(project), night());
    await service.api(ann, 'DELETE', `/projects/${project}/members/${bob.user.id}`);
    const one = `${policies(project)}/${body.id}`;
    expect((await service.api(ann, 'PUT', one, { repeats: 1 })).status).toBe(200);
    expect((await service.api(ann, 'PUT', one, { steps: body.steps })).status).toBe(400);
  });

  test('are found by their targets', async () => {
    const project = await watch();
    await service.api(ann, 'POST', policies(project), night());
    await service.api(ann, 'POST', policies(project), night({ name: 'Day', steps: [step(ann)] }));
    const using = (type: 'schedule' | 'user', { user }: Person) =>
      policiesUsing(new Records(service.accounts, escalationPolicies), String(project), {
        type,
        id: user.id,
      });
    expect(await using('user', ann)).toEqual(['Day', 'Night']);
    expect(await using('user', bob)).toEqual(['Night']);
    expect(await using('schedule', bob)).toEqual([]);
  });

  test('are at most 50 in a project, and not found in another one', async () => {
    const project = await watch();
    for (let i = 0; i < 50; i++)
      await service.api(ann, 'POST', policies(project), night({ name: `Night ${i}` }));
    const { body } = await service.api(ann, 'GET', `${policies(project)}?per_page=100`);
    expect(body).toHaveLength(50);
    expect((await service.api(ann, 'POST', policies(project), night())).status).toBe(409);
    const other = await watch();
    expect((await service.api(ann, 'GET', `${policies(other)}/${body[0].id}`)).status).toBe(404);
    expect((await service.api(ann, 'DELETE', `${policies(other)}/${body[0].id}`)).status).toBe(404);
  });
});
