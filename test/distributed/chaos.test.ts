import { expect, test } from 'vitest';
import { live } from './chaos.ts';

const { SEED = '1', KILLS = '6' } = process.env;

test(`processes of every role killed ${KILLS} times and services gone lose nothing and count nothing twice, also in a copy that pulls what changed, seed ${SEED}`, async () => {
  const report = await live({ seed: Number(SEED), share: 0.3, kills: Number(KILLS) });
  expect(report.faults).toEqual([]);
}, 600_000);
