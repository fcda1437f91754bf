import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Random } from '../../../ingest/demo/random.ts';
import { disturbed } from '../../generator/disturbed.ts';
import { History } from '../../generator/history.ts';
import { type InputLine, readLines } from '../../reference/input.ts';
import { differences } from '../../support/compared.ts';
import { Mirror } from '../../support/mirror.ts';
import { openServed, type Served } from './coretime/served.ts';

/** Seeds of generated histories: `SEEDS=20` or `SEEDS=1001..1020` names others than `seeds`. */
export function compareGeneratedHistories(seeds: string): void {
  let served: Served;
  beforeAll(async () => {
    served = await openServed();
  });
  afterEach(() => served.forget());
  afterAll(() => served.close());

  it.each(seedsOf(process.env.SEEDS ?? seeds))(
    'the metrics of a generated history equal those of the reference, and so does a copy that pulls what changed, seed %d',
    (seed) => compareHistory(served, seed),
    PATIENCE_MS,
  );
}

/** On a loaded machine one history takes minutes. */
const PATIENCE_MS = 600_000;

async function compareHistory(served: Served, seed: number): Promise<void> {
  const lines: readonly InputLine[] = disturbed(new History(seed).lines, seed);
  // In batches, so that later batches change windows that are computed already.
  const batches = 1 + (seed % 3);
  const size = Math.ceil(lines.length / batches);
  let mirror: Mirror | undefined;
  for (let from = 0; from < lines.length; from += size) {
    await served.ingest(...lines.slice(from, from + size));
    mirror ??= await Mirror.pull(served.rows);
    await mirror.follow(served.rows);
  }
  expect(await mirror?.differences(served.rows)).toEqual([]);
  expect(await differences(served, readLines(lines), new Random(seed))).toEqual([]);
}

function seedsOf(text: string): readonly number[] {
  const [first = '1', last] = text.includes('..') ? text.split('..') : ['1', text];
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i);
}
