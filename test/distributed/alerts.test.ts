import { expect, test } from 'vitest';
import { deliverInChaos } from './alert-chaos.ts';

test('servers killed, paused and cut off from Kafka and Redis lose no alert and count none twice', {
  timeout: 600_000,
}, async () => {
  const report = await deliverInChaos({
    deliveries: 200,
    senders: 12,
    seed: 1,
    happenings: [
      'all servers are killed',
      'Redis is emptied',
      'a server is killed',
      'a server is paused, another one killed meanwhile',
      'Kafka is away',
      'all servers are killed',
      'a server is killed',
    ],
  });
  expect(report.faults).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(7);
  expect(report.acknowledged).toBeGreaterThanOrEqual(200);
  // While Kafka was away nothing was acknowledged.
  expect(report.statuses[503]).toBeGreaterThan(0);
});
