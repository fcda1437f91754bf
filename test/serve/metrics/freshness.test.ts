import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { blocksOf } from '../../aggregate/metrics/shapes/shape.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';

/** Whole on the 1st and 4th of March; a hole within the 2nd, one from there to the 4th, and one after it. */
const BLOCKS = [
  [1, '01T00:00'],
  [2, '01T12:00'],
  [3, '02T00:00'],
  [5, '02T12:00'],
  [9, '04T00:00'],
  [10, '04T12:00'],
  [20, '09T00:00'],
] as const;

let opened: TestPipeline;
beforeAll(async () => {
  opened = await openTestPipeline();
  const blocks = BLOCKS.map(([number, time]) => ({ number, time: `2026-03-${time}:00.000Z` }));
  await ingestAndCompute(opened.pipeline, blocksOf('polkadot', blocks));
});
afterAll(() => opened.close());

it('an answer is partial where heights are missing within its days or up to one of them', async () => {
  const app = await buildServer(opened.pipeline);
  const told = async (from: string, until: string) => {
    const days = `start_date=2026-03-${from}&end_date=2026-03-${until}`;
    return (await app.inject(`/api/daily-tps?chain=polkadot&${days}`)).headers['x-coverage'];
  };
  expect(await told('01', '01')).toBe('complete');
  for (const [from, until] of [
    ['02', '02'],
    ['03', '03'],
    ['04', '04'],
    ['05', '08'],
    ['01', '09'],
  ] as const)
    expect(await told(from, until), `${from} to ${until}`).toBe('partial');
  expect((await app.inject('/chains/polkadot')).body.match(/<li>(on|between) [^<]+/g)).toEqual([
    '<li>on 2026-03-02',
    '<li>between 2026-03-02 and 2026-03-04',
    '<li>between 2026-03-04 and 2026-03-09',
  ]);
  await app.close();
});
