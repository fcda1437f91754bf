import { expect, test } from 'vitest';
import { killPager } from './kill-pager.ts';

const KILLS = 6;

test(`a pager that is killed ${KILLS} times loses no page, skips no step and marks duplicates`, {
  timeout: 240_000,
}, async () => {
  const outcome = await killPager({ kills: KILLS, alerts: 40, seed: 1 });
  expect(outcome.faults, JSON.stringify(outcome)).toEqual([]);
  expect(outcome.pages).toBeGreaterThan(5);
  expect(outcome.messages).toBeGreaterThan(5);
});
