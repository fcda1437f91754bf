import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, Service } from '../service.ts';

let service: Service;
let owner: Person;
let project: number;

beforeAll(async () => {
  service = await Service.open();
  owner = await service.person('owner');
  project = await service.project(owner);
});
afterAll(() => service?.close());

const post = (path: string, body: object) => service.api(owner, 'POST', `/projects/${project}/${path}`, body);

test.each([
  ['schedule', 'oncall_schedules', { time_zone: 'UTC' }],
  ['channel', 'notification_channels', { type: 'webhook', settings: { url: 'https://example.org/pages' } }],
])('a policy cannot choose a %s that is being deleted', async (type, path, fields) => {
  for (let i = 0; i < 10; i++) {
    const { status, body } = await post(path, { name: `Race ${i}`, ...fields });
    expect(status).toBe(201);
    const steps = [{ targets: [{ type, id: body.id }], delay_minutes: 5, important: false }];
    const [created, deleted] = await Promise.all([
      post('escalation_policies', { name: `${type} ${i}`, steps }),
      service.api(owner, 'DELETE', `/projects/${project}/${path}/${body.id}`),
    ]);
    expect([
      [201, 409],
      [400, 204],
    ]).toContainEqual([created.status, deleted.status]);
  }
});
