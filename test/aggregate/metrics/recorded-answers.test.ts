import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../../ingest/demo/random.ts';
import { readLines } from '../../reference/input.ts';
import { differences } from '../../support/compared.ts';
import { recordedLines } from '../../support/recordings.ts';
import { openServed, type Served } from './coretime/served.ts';
import { pricesBeside } from './shapes/recorded-prices.ts';

/** On a loaded machine this takes minutes. */
const PATIENCE_MS = 600_000;

let served: Served;
beforeAll(async () => {
  served = await openServed();
});
afterAll(() => served.close());

it(
  'recorded blocks and blocks of real runtimes are served as the slow reference says',
  async () => {
    const blocks = [...recordedLines('blocks'), ...recordedLines('runtime')];
    const lines = [...blocks, ...pricesBeside(blocks)];
    await served.ingest(...lines);
    expect(await differences(served, readLines(lines), new Random(0))).toEqual([]);
  },
  PATIENCE_MS,
);
