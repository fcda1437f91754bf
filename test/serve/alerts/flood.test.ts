import { afterAll, beforeAll, expect, test } from 'vitest';
import { countStatements } from '../../support/statements.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

// Deliveries of the retry window that are more than the cache holds: the store is asked about those that may have been
// dropped from it, and about no others.

const CACHE_BYTES = 400_000;
const DELIVERIES = 60;
const ITEMS = 100;

let service: Service;
let ann: Person;
let source: Source;
beforeAll(async () => {
  service = await Service.open({
    ALERT_CACHE_BYTES: String(CACHE_BYTES),
    ALERT_RETRY_WINDOW_SECONDS: '600',
  });
  ann = await service.person('ann');
  source = await service.source(ann, await service.project(ann));
});
afterAll(() => service?.close());

/** One alert that began again and again: each delivery tells of starts of its own. */
const delivery = (number: number) => {
  const began = Date.UTC(2026, 10, 21) + number * ITEMS;
  return prometheusBody(
    Array.from({ length: ITEMS }, (_, i) =>
      firing({ fingerprint: '08dcd0f670d4fc40', startsAt: new Date(began + i).toISOString() }),
    ),
  );
};

const eventCount = async () =>
  (await service.api(ann, 'GET', `/projects/${source.project}/alerts/1`)).body.event_count;

/** How often the store was asked about earlier deliveries. */
async function lookupsOf(number: number): Promise<number> {
  const statements: string[] = [];
  const counted = countStatements(service.pipeline.runtime.store, (text) => statements.push(text));
  expect((await service.send(source, delivery(number))).status).toBe(200);
  counted.stop();
  return statements.filter((text) => text.includes('retry_keys') && text.includes('SELECT')).length;
}

test('new deliveries are not looked up, a retry of a dropped one is found and does not count', async () => {
  const lookups: number[] = [];
  for (let number = 0; number < DELIVERIES; number++) lookups.push(await lookupsOf(number));
  expect(await eventCount()).toBe(DELIVERIES * ITEMS);
  // The state of the project is loaded with the first delivery. A key in thousands may look like a dropped one.
  expect(lookups.slice(1).reduce((sum, count) => sum + count, 0)).toBeLessThan(DELIVERIES / 4);
  expect(await lookupsOf(0)).toBeGreaterThan(0);
  expect(await lookupsOf(1)).toBeGreaterThan(0);
  expect(await eventCount()).toBe(DELIVERIES * ITEMS);
});
