import { pricesBeside } from '../aggregate/metrics/shapes/recorded-prices.ts';
import type { InputLine } from '../reference/input.ts';
import { type Content, contentOf } from '../support/content.ts';
import { ingestAndCompute, openTestPipeline } from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';

/** Everything recorded, with prices: what the distributed processes are given. */
export function everythingRecorded(): InputLine[] {
  const recorded = [...recordedLines('blocks'), ...recordedLines('runtime')];
  return [...recorded, ...pricesBeside(recorded)];
}

/** What one process of the embedded profile makes of the same lines, in one go. */
export async function contentOfCleanRun(lines: readonly InputLine[]): Promise<Content> {
  const { pipeline, close } = await openTestPipeline();
  await ingestAndCompute(pipeline, lines);
  const content = await contentOf(pipeline);
  await close();
  return content;
}
