import { expect, it } from 'vitest';
import { Random } from '../../ingest/demo/random.ts';
import { History } from '../generator/history.ts';
import type { InputLine } from '../reference/input.ts';
import { type Content, contentOf, differences } from '../support/content.ts';
import { ingestAndCompute, openTestPipeline } from '../support/pipeline.ts';

const SEED = 3;
/** So many parts of a chain's lines are loaded one after another. */
const PARTS = 2;
/** Chains with fewer lines are loaded together. */
const LINES_MIN = 20;

const chainOf = ({ line, chain }: InputLine): string => {
  const { chain: named } = JSON.parse(line) as { readonly chain?: string };
  return named ?? chain ?? '';
};

/** Blocks of some chains compute no metric of others: what these read must not be left as it was. */
it('chains that are loaded and computed one after another, in any order, end in the rows of one load', {
  timeout: 600_000,
}, async () => {
  const { lines } = new History(SEED);
  const ofChains = Map.groupBy(lines, chainOf);
  const isLarge = (line: InputLine) => (ofChains.get(chainOf(line))?.length ?? 0) >= LINES_MIN;
  const byChain = [...Map.groupBy(lines, (line) => (isLarge(line) ? chainOf(line) : '')).values()];
  const turns = new Random(SEED).shuffled(byChain.flatMap((own) => Array.from({ length: PARTS }, () => own)));
  const expected = await contentAfter([lines]);
  const loaded = new Map<readonly InputLine[], number>();
  const parts = turns.map((own) => {
    const from = loaded.get(own) ?? 0;
    const until = from + Math.ceil(own.length / PARTS);
    loaded.set(own, until);
    return own.slice(from, until);
  });
  expect(differences(await contentAfter(parts), expected)).toEqual([]);
});

async function contentAfter(parts: readonly (readonly InputLine[])[]): Promise<Content> {
  await using opened = await openTestPipeline();
  for (const part of parts) await ingestAndCompute(opened.pipeline, part);
  return await contentOf(opened.pipeline);
}
