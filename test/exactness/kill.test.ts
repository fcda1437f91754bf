import { expect, it } from 'vitest';
import { killOften } from './kills.ts';

const KILLS = 4;

it(`loses nothing that was acknowledged and ends in the same rows after ${KILLS} kills`, {
  timeout: 600_000,
}, async () => {
  const { kills, stores, faults } = await killOften({ kills: KILLS, seed: 1 });
  expect(faults).toEqual([]);
  expect(kills).toBe(KILLS);
  expect(stores).toBeGreaterThan(0);
});
