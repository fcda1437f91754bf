import { expect, test } from 'vitest';
import { Random } from '../support/random.ts';
import { live } from './chaos.ts';
import { contentOfCleanRun, everythingRecorded } from './clean-run.ts';

const { SEED = '1', KILLS = '20' } = process.env;

test(`processes killed ${KILLS} times and services gone lose nothing and count nothing twice, seed ${SEED}`, async () => {
  const random = new Random(Number(SEED));
  const lines = everythingRecorded().filter(() => random.chance(0.4));
  const expected = await contentOfCleanRun(lines);
  const report = await live({ lines, expected, random, kills: Number(KILLS) });
  expect(report.faults).toEqual([]);
}, 600_000);
