import { afterAll, beforeAll, expect, test } from 'vitest';
import { countStatements } from '../../support/statements.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service, type Source } from './service.ts';

// Deliveries of the retry window that are more than the cache holds: the store is asked about the rest, once for each
// batch of the log.

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

test('retries of deliveries that the cache dropped are found with one look-up and do not count', async () => {
  const lookups: number[] = [];
  for (let number = 0; number < DELIVERIES; number++) lookups.push(await lookupsOf(number));
  expect(await eventCount()).toBe(DELIVERIES * ITEMS);
  // Before anything is dropped the state has them all; the first delivery loads it.
  expect(lookups.slice(1, 10)).toEqual(Array(9).fill(0));
  expect(Math.max(...lookups.slice(1))).toBe(1);
  expect(await lookupsOf(0)).toBe(1);
  expect(await lookupsOf(1)).toBe(1);
  expect(await eventCount()).toBe(DELIVERIES * ITEMS);
});
