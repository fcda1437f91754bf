import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Random } from '../../../ingest/demo/random.ts';
import { disturbed, History } from '../../generator/history.ts';
import { type InputLine, readLines } from '../../reference/input.ts';
import { differences } from '../../support/compared.ts';
import { Mirror } from '../../support/mirror.ts';
import { openServed, type Served } from './coretime/served.ts';

/** `SEEDS=20` or `SEEDS=1001..1020`: the seeds of the generated histories. */
const seeds = seedsOf(process.env.SEEDS ?? '3');

function seedsOf(text: string): readonly number[] {
  const [first = '1', last] = text.includes('..') ? text.split('..') : ['1', text];
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i);
}

/** On a loaded machine one history takes minutes. */
const PATIENCE_MS = 600_000;

let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterEach(() => served.forget());
afterAll(() => served.close());

it.each(seeds)(
  'the metrics of a generated history equal those of the reference, and so does a copy that pulls what changed, seed %d',
  async (seed) => {
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
  },
  PATIENCE_MS,
);
