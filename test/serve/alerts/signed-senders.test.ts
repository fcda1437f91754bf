import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { presetOf } from '../../../serve/alerts/integrations/presets/presets.ts';
import { type Person, Service } from './service.ts';

const SECRET = '8b1c7d0e9f2a4b5c8b1c7d0e9f2a4b5c8b1c7d0e9f2a4b5c8b1c7d0e9f2a4b5c';

let service: Service;
let ann: Person;
let project: number;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
  project = await service.project(ann);
});
afterAll(() => service?.close());

const list = () => `/projects/${project}/integrations`;
const sourceOf = (preset: string) => service.source(ann, project, { preset, name: preset });

/** Sends as Sentry does, which has no other key. */
async function send(path: string, payload: object, secret: string, sent = payload) {
  const signature = createHmac('sha256', secret).update(JSON.stringify(payload)).digest('hex');
  const reply = await service.app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/json', 'sentry-hook-signature': signature },
    payload: JSON.stringify(sent),
  });
  return { status: reply.statusCode, body: reply.json(), header: reply.headers['www-authenticate'] };
}

const sample = (action: string) => ({ ...presetOf({ preset: 'sentry' })?.sample, action });

describe('a sender that signs its bodies', () => {
  test('is known by the secret that it was given', async () => {
    const { id, path, key } = await sourceOf('sentry');
    expect((await send(path, sample('critical'), key)).status, 'the generated key').toBe(200);
    const reset = await service.api(ann, 'POST', `${list()}/${id}/reset_key`, { key: SECRET });
    expect(reset).toMatchObject({ status: 200, body: { authorization_key: SECRET } });
    expect((await send(path, sample('critical'), key)).status).toBe(401);
    expect(await send(path, sample('resolved'), SECRET)).toMatchObject({ status: 200, body: [] });
    expect((await service.api(ann, 'GET', `/projects/${project}/alerts/1`)).body.status).toBe('resolved');
    const stored = JSON.stringify((await service.api(ann, 'GET', `${list()}/${id}`)).body);
    expect(stored).not.toContain(SECRET);
  });

  test('is refused alike for another secret, another body, another integration and an unknown one', async () => {
    const { id, path } = await sourceOf('sentry');
    const other = await sourceOf('uptime_kuma');
    await service.api(ann, 'POST', `${list()}/${id}/reset_key`, { key: SECRET });
    const refusals = [
      await send(path, sample('critical'), `${SECRET}0`),
      await send(path, sample('critical'), SECRET, sample('resolved')),
      await send(other.path, sample('critical'), other.key),
      await send(path.replace(id, '0123456789abcdef'), sample('critical'), SECRET),
    ];
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0]);
    expect(refusals[0]?.status).toBe(401);
    for (const signature of ['', 'x'.repeat(64), SECRET]) {
      const headers = { authorization: 'Bearer wrong', 'sentry-hook-signature': signature };
      expect((await service.send({ path, key: '' }, sample('critical'), headers)).status).toBe(401);
    }
  });

  test('may use the previous key after a rotation, and the key itself', async () => {
    const { id, path } = await sourceOf('sentry');
    await service.api(ann, 'POST', `${list()}/${id}/reset_key`, { key: SECRET });
    const rotated = await service.api(ann, 'POST', `${list()}/${id}/rotate_key`, { hours: 1 });
    const { authorization_key: key } = rotated.body;
    expect((await send(path, sample('critical'), SECRET)).status).toBe(200);
    expect((await send(path, sample('critical'), key)).status).toBe(200);
    expect((await service.send({ path, key }, sample('critical'))).status).toBe(200);
    await service.api(ann, 'DELETE', `${list()}/${id}/old_key`);
    expect((await send(path, sample('critical'), SECRET)).status).toBe(401);
  });

  test('meets the other checks in their order', async () => {
    const { id, path, key } = await sourceOf('sentry');
    await service.api(ann, 'PUT', `${list()}/${id}`, { active: false });
    expect((await send(path, sample('critical'), key)).status).toBe(403);
    expect((await send(path, sample('critical'), SECRET)).status).toBe(401);
    const { body } = await service.api(ann, 'GET', `${list()}/${id}`);
    expect(body.active).toBe(false);
  });
});

test.each([
  ['sentry', 'short'],
  ['sentry', `${SECRET} `],
  ['datadog', SECRET],
])('the preset %s does not take the secret %j', async (preset, key) => {
  const { id, path, key: generated } = await sourceOf(preset);
  const refused = await service.api(ann, 'POST', `${list()}/${id}/reset_key`, { key });
  expect(refused.status).toBe(400);
  expect(JSON.stringify(refused.body)).toContain('key');
  const { sample: payload } = presetOf({ preset }) ?? {};
  expect((await service.send({ path, key: generated }, payload)).status, 'its key is as it was').toBe(200);
});
