import { expect, test } from 'vitest';
import { deliverUnderKills } from './kills.ts';

const KILLS = 5;
const DELIVERIES = 1000;

test(`${DELIVERIES} deliveries of 16 senders and ${KILLS} kills give the alerts of the slow reference`, {
  timeout: 240_000,
}, async () => {
  const outcome = await deliverUnderKills({ deliveries: DELIVERIES, kills: KILLS, senders: 16, seed: 1 });
  expect(outcome.faults).toEqual([]);
  expect(outcome.kills).toBeGreaterThan(KILLS);
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(DELIVERIES);
  expect(outcome.alerts).toBeGreaterThan(20);
});
