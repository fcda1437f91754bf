import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let source: Source;
let other: Source;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
  source = await service.source(ann, await service.project(ann));
  other = await service.source(ann, await service.project(ann));
});
afterAll(() => service?.close());

const alertsOf = async ({ project }: Source) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts`)).body;
const deadLetters = async () => (await service.app.inject('/api/status')).json().dead_letters;

describe('hostile deliveries', () => {
  test('thousands of refused items are one dead letter and stop nothing', async () => {
    const zeros = Array.from({ length: 7400 }, () => 0);
    const { status, body } = await service.send(
      source,
      prometheusBody([firing({ annotations: { title: 'the good one' } }), ...zeros]),
    );
    expect({ status, body }).toEqual({ status: 200, body: [{ iid: 1, title: 'the good one' }] });
    expect(await alertsOf(source)).toMatchObject([{ title: 'the good one' }]);
    await service.send(other, { title: 'of another project' });
    expect(await alertsOf(other)).toMatchObject([{ title: 'of another project' }]);
    const iid = 1;
    const change = await service.api(ann, 'PUT', `/projects/${source.project}/alerts/${iid}`, {
      status: 'acknowledged',
    });
    expect(change.status).toBe(200);
    await expect.poll(async () => (await deadLetters()).total).toBe(1);
    const [letter] = (await deadLetters()).latest;
    expect(letter.reason).toContain('7400 of 7401 alerts are refused: alerts[1]: expected an object');
    expect(letter.reason.length).toBeLessThan(1000);
    expect((await service.app.inject('/health/ready')).statusCode).toBe(200);
  }, 30_000);
});
