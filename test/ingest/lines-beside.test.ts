import { expect, test } from 'vitest';
import { sql } from '../../infra/sql.ts';
import { Random } from '../../ingest/demo/random.ts';
import { blocks, calls, events, extrinsics, refusedFacts } from '../../ingest/raw/tables.ts';
import { canonicalRows, type Ingesting, openIngesting, rowsOf } from './ingesting.ts';
import { ALICE, madeBlock, madeEvent, madeExtrinsic } from './made.ts';

// `BESIDE_VALUES=20 npm test -- test/ingest/lines-beside` takes every value in every place.
const { BESIDE_VALUES = '2', BESIDE_SEED = '1' } = process.env;

/** Texts of JSON; the last stands for a key that is missing. */
const MISSING = '';
const VALUES = [
  ...['null', 'true', 'false', '0', '5', '5.0', '1e3', '-0', '1.50', '123456789012345678901234567890'],
  ...['"x"', '""', '"a.b"', '"true"', '"false"', '[]', '["x"]', '{}', '{"a":1}', MISSING],
];
/** Everything that is read of a block, but for what makes it one. */
const PLACES = [
  'authorId',
  'finalized',
  ...['onInitialize', 'onFinalize'].flatMap((phase) => [
    ...[phase, `${phase}.events`, `${phase}.events.0`, `${phase}.events.0.method`],
    ...['method.pallet', 'method.method', 'data', 'data.1'].map((field) => `${phase}.events.0.${field}`),
  ]),
  'extrinsics.0.args.now',
  'extrinsics.1',
  ...['method', 'method.pallet', 'method.method', 'signature', 'signature.signer', 'signature.signer.id'].map(
    (field) => `extrinsics.1.${field}`,
  ),
  ...['args', 'args.value', 'tip', 'hash', 'info', 'info.partialFee', 'info.kind', 'success', 'paysFee'].map(
    (field) => `extrinsics.1.${field}`,
  ),
  ...['events', 'events.0', 'events.0.data', 'events.0.data.2'].map((field) => `extrinsics.1.${field}`),
  ...['method', 'args.calls', 'args.calls.0', 'success', 'events', 'events.0'].map(
    (field) => `extrinsics.2.${field}`,
  ),
];

const HOLE = '"<here>"';

function wholeBlock(number: number): object {
  const fields = {
    signature: { signer: { id: ALICE } },
    tip: '1',
    info: { partialFee: '7', kind: 'postDispatch' },
  };
  const deposit = { events: [madeEvent('balances.Deposit', ALICE, '3')] };
  return madeBlock(
    number,
    [
      madeExtrinsic('balances.transferKeepAlive', {
        ...fields,
        args: { dest: { id: ALICE }, value: '5' },
        events: [madeEvent('balances.Transfer', ALICE, ALICE, '5')],
      }),
      madeExtrinsic('utility.batch', {
        ...fields,
        args: { calls: [madeExtrinsic('system.remark', { args: { remark: '0x00' } })] },
        events: [madeEvent('utility.BatchCompleted')],
      }),
    ],
    { onInitialize: deposit, onFinalize: deposit },
  );
}

/** The line of a block with a value in one place. */
function lineWith(number: number, place: string, value: string): string {
  const block = wholeBlock(number);
  const keys = place.split('.');
  const last = keys.pop() as string;
  const at = keys.reduce((within, key) => (within as Record<string, object>)[key] as object, block);
  const holder = at as Record<string, unknown>;
  if (value === MISSING) delete holder[last];
  else holder[last] = '<here>';
  return JSON.stringify(block).replace(HOLE, () => value);
}

/** By height, the rows of a block and what is refused of it, or that the line is a dead letter. */
async function outcomes(ingesting: Ingesting): Promise<Map<number, unknown[]>> {
  const byHeight = new Map<number, unknown[]>();
  const add = (number: unknown, row: unknown) =>
    byHeight.set(Number(number), [...(byHeight.get(Number(number)) ?? []), row]);
  for (const table of [blocks, extrinsics, events, calls]) {
    for (const row of await canonicalRows(ingesting, table, 'polkadot')) add(row.number, [table.name, row]);
  }
  const refused = await rowsOf(
    ingesting,
    sql`SELECT number, fact, reason FROM ${refusedFacts} FINAL
      WHERE rank IN (SELECT rank FROM ${blocks} FINAL) ORDER BY number, fact, reason`,
  );
  for (const row of refused) add(row.number, row);
  for (const { bytes } of await ingesting.letters())
    add(/"number":"(\d+)"/.exec(bytes)?.[1], 'a dead letter');
  return byHeight;
}

test(
  `an odd block gives the same rows alone as beside one in another layout: ${BESIDE_VALUES} values in each place, seed ${BESIDE_SEED}`,
  async () => {
    const random = new Random(Number(BESIDE_SEED));
    const lines = PLACES.flatMap((place) => {
      const values = [...VALUES];
      return Array.from({ length: Math.min(values.length, Number(BESIDE_VALUES)) }, () => {
        const [value] = values.splice(random.whole(0, values.length - 1), 1) as [string];
        return { place, value };
      });
    }).map(({ place, value }, i) => ({ place, value, number: i + 1, line: lineWith(i + 1, place, value) }));
    const alone = await openIngesting();
    for (const { line } of lines) await alone.take('polkadot.ndjson', [line]);
    const first = await outcomes(alone);
    await alone.close();
    const beside = await openIngesting();
    // The store refuses event data with names, and every line of the batch is laid out anew.
    const named = { method: { pallet: 'a', method: 'B' }, data: { name: 1 } };
    const other = madeBlock(lines.length + 1, [madeExtrinsic('a.b', { events: [named] })]);
    await beside.take('polkadot.ndjson', [other, ...lines.map(({ line }) => line)]);
    const second = await outcomes(beside);
    await beside.close();
    expect(first.size).toBe(lines.length);
    for (const { place, value, number } of lines) {
      expect(second.get(number), `${place} = ${value || 'missing'}`).toEqual(first.get(number));
    }
  },
  Math.max(120_000, Number(BESIDE_VALUES) * 30_000),
);
