import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { blocks, deadLetters, refusedFacts } from '../../../ingest/raw/tables.ts';
import { type Input, type InputLine, readLines } from '../../reference/input.ts';
import {
  clockFrom,
  emptyPipeline,
  ingestAndCompute,
  LONG_AFTER_RECORDING,
  openTestPipeline,
  type TestPipeline,
} from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';
import { type Row, servedRows } from '../../support/served.ts';
import { metricCases } from './cases.ts';
import { families } from './shapes/index.ts';
import { pricesBeside } from './shapes/recorded-prices.ts';

const recorded = recordedLines('blocks');
const runtime = recordedLines('runtime');
const everything = [...recorded, ...runtime];

const inputs: Record<string, readonly InputLine[]> = {
  'recorded blocks': recorded,
  'blocks of real runtimes, then prices': [...runtime, ...pricesBeside(runtime)],
  'everything recorded': [...everything, ...pricesBeside(everything)],
  ...families,
};

/** `INPUTS='everything recorded,fees'` runs these inputs only. */
const { INPUTS } = process.env;
const chosen = Object.keys(inputs).filter((name) => INPUTS === undefined || INPUTS.split(',').includes(name));

// One process for all inputs; its tables are emptied after each.
let opened: TestPipeline;
beforeAll(async () => {
  opened = await openTestPipeline(clockFrom(LONG_AFTER_RECORDING));
});
afterAll(() => opened.close());

describe.each(chosen)('%s', (name) => {
  const lines = inputs[name] as readonly InputLine[];
  const input: Input = readLines(lines);

  beforeAll(async () => {
    await ingestAndCompute(opened.pipeline, lines);
  });
  afterAll(() => emptyPipeline(opened.pipeline));

  it.each(metricCases)('$metric.record equals the reference', async (metricCase) => {
    const rows = await servedRows(opened.pipeline, metricCase);
    const expected = metricCase.reference(input) as readonly Row[];
    const keyOf = (row: Row) => metricCase.metric.key.map((part) => row[part]).join(' ');
    expect(rows.map(keyOf)).toEqual(expected.map(keyOf));
    rows.forEach((row, index) => {
      expect(row).toEqual(expected[index]);
    });
  });

  it('refuses what the reference refuses', async () => {
    const { store } = opened.pipeline.runtime;
    const facts = await store.rows<{ chain: string; number: number; fact: string }>(
      sql`SELECT chain, number, fact FROM ${refusedFacts} FINAL WHERE rank IN (SELECT rank FROM ${blocks} FINAL)`,
    );
    const placesRefused = facts.map(({ chain, number, fact }) => `${chain} ${number} ${placeOf(fact)}`);
    const placesExpected = input.refusedFacts.map(
      ({ chain, block_number, event_index, extrinsic_index }) =>
        `${chain} ${block_number} ${event_index === null ? `extrinsic ${extrinsic_index}` : `event ${event_index}`}`,
    );
    expect(placesRefused.toSorted()).toEqual(placesExpected.toSorted());
    const [letters] = await store.rows<{ n: number }>(sql`SELECT count() AS n FROM ${deadLetters} FINAL`);
    expect(letters?.n).toBe(input.refusedLines.length);
  });
});

/** The extrinsic or event of a refused fact; the refused field follows it. */
const placeOf = (fact: string) => fact.split(' ').slice(0, 2).join(' ');
