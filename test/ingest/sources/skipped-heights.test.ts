import { expect, test } from 'vitest';
import { noteSkippedHeights, readSkippedHeights } from '../../../ingest/sources/skipped-heights.ts';
import { openTestPipeline } from '../../support/pipeline.ts';

const WESTEND = { relay_chain: 'westend', chain: 'westend' };

test('a try of a skipped height counts where the clock is behind the one that noted it', async () => {
  await using opened = await openTestPipeline();
  const { store } = opened.pipeline.runtime;
  for (const now of [9000, 5000]) {
    const runtime = { store, clock: { now: () => now } };
    await noteSkippedHeights(runtime, WESTEND, [{ number: 1, reason: `answered at ${now}` }], 10);
  }
  expect(await readSkippedHeights(store)).toEqual([
    expect.objectContaining({ number: 1, tries: 2, reason: 'answered at 5000' }),
  ]);
});
