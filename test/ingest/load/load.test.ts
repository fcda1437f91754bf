import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sql, sql } from '../../../infra/sql.ts';
import type { Table, View } from '../../../infra/table.ts';
import { canonicalBlocks } from '../../../ingest/raw/canonical.ts';
import { blocks, calls, events, extrinsics, loadedBlocks, refusedFacts } from '../../../ingest/raw/tables.ts';
import { blockViews } from '../../../ingest/raw/views/blocks.ts';
import { eventsToCheck } from '../../../ingest/raw/views/nested-parts.ts';
import { recordedLines } from '../../support/recordings.ts';
import { canonicalRows, heightsOf, type Ingesting, openIngesting, rowsOf } from '../ingesting.ts';
import { layouts } from '../layouts.ts';
import { ALICE, ALICE_KEY, BOB_GENERIC, hash, madeBlock, madeEvent, madeExtrinsic } from '../made.ts';

let ingesting: Ingesting;
beforeAll(async () => {
  ingesting = await openIngesting({ LINE_BYTES_MAX: '400000' });
});
afterAll(() => ingesting.close());

const rows = <Row = Record<string, unknown>>(statement: Sql) => rowsOf<Row>(ingesting, statement);
const canonical = (table: Table, chain: string, from = 0) => canonicalRows(ingesting, table, chain, from);
const heights = (chain: string) => heightsOf(ingesting, chain);
/** What is stored is then loaded again when it comes again. */
const forgetLoaded = () => ingesting.pipeline.runtime.store.run(sql`TRUNCATE TABLE ${loadedBlocks}`);
const everything = async (chain: string) => ({
  blocks: await canonical(blocks, chain),
  extrinsics: await canonical(extrinsics, chain),
  events: await canonical(events, chain),
  calls: await canonical(calls, chain),
});

const recorded = (folder: 'blocks' | 'runtime', chain: string) =>
  recordedLines(folder)
    .filter((line) => line.chain === chain)
    .map(({ line }) => line);

describe('one block in many layouts', () => {
  const nesting = recorded('runtime', 'polkadot').filter((line) => /"calls?":[[{]/.test(line));
  const lines = [...recorded('blocks', 'polkadot').slice(0, 3), ...nesting.slice(0, 4)];

  test.each(layouts)('with %s gives the same rows', async (_title, layout) => {
    await ingesting.take('polkadot.ndjson', lines);
    const expected = await everything('polkadot');
    expect(expected.extrinsics.length).toBeGreaterThan(20);
    expect(expected.events.length).toBeGreaterThan(20);
    expect(expected.calls.some(({ path }) => path !== '')).toBe(true);
    await ingesting.take('polkadot.ndjson', lines.map(layout));
    expect(await everything('polkadot')).toEqual(expected);
    expect(await ingesting.letters('polkadot.ndjson')).toEqual([]);
  });

  test('packed or plain gives the same rows', async () => {
    const expected = await everything('polkadot');
    const bytes = Buffer.from(lines.join('\r\n'));
    for (const [name, packed] of [
      ['polkadot.ndjson.gz', gzipSync(bytes)],
      ['polkadot.ndjson.zst', zstdCompressSync(bytes)],
    ] as const) {
      await forgetLoaded();
      const summary = await ingesting.takeFile({ name }, packed);
      expect(summary).toEqual({ lines: lines.length, blocks: lines.length, snapshots: 0, refused_lines: 0 });
      expect(await everything('polkadot')).toEqual(expected);
    }
  });
});

describe('versions of one height', () => {
  const oneHash = async (chain: string) => (await canonical(blocks, chain)).map(({ hash }) => hash);
  const at = (digit: string, more: object = {}) => madeBlock(5, [], { hash: hash(digit), ...more });

  test('the later line wins, within one batch and over several, and nothing of the loser is left', async () => {
    await ingesting.take('astar.ndjson', [
      at('a', { extrinsics: [madeExtrinsic('a.b'), madeExtrinsic('a.b')] }),
      at('b'),
    ]);
    expect(await oneHash('astar')).toEqual([hash('b')]);
    await ingesting.take('astar.ndjson', [at('c')]);
    expect(await oneHash('astar')).toEqual([hash('c')]);
    expect(await canonical(extrinsics, 'astar')).toHaveLength(1);
  });

  test('of two versions in one batch, the loser is in no month', async () => {
    const inMonth = (month: string, digit: string) =>
      at(digit, {
        extrinsics: [
          madeExtrinsic('timestamp.set', { args: { now: String(Date.parse(`2024-${month}-10T00:00:00Z`)) } }),
        ],
      });
    await ingesting.take('moonbeam.ndjson', [inMonth('01', 'a'), inMonth('02', 'b'), inMonth('03', 'c')]);
    const year = { relays: ['polkadot'], from: '2024-01-01', until: '2025-01-01' };
    expect(await rows(sql`SELECT hash FROM ${canonicalBlocks(year)} WHERE chain = 'moonbeam'`)).toEqual([
      { hash: hash('c') },
    ]);
  });

  test('a final block beats an unfinal one that comes later', async () => {
    await ingesting.take('hydration.ndjson', [at('a'), at('b', { finalized: false })]);
    await ingesting.take('hydration.ndjson', [at('c', { finalized: false })]);
    expect(await oneHash('hydration')).toEqual([hash('a')]);
    await ingesting.take('hydration.ndjson', [at('d', { finalized: null })]);
    expect(await oneHash('hydration')).toEqual([hash('d')]);
  });

  test('a higher version wins, beyond what a double tells apart', async () => {
    const versioned = (digit: string, version: bigint) => ({
      schema: 'block/1',
      chain: 'phala',
      version: String(version),
      payload: at(digit),
    });
    const base = 2n ** 63n + 2n ** 60n;
    await ingesting.take('any.ndjson', [versioned('a', base + 1n), versioned('b', base)]);
    expect(await oneHash('phala')).toEqual([hash('a')]);
    await ingesting.take('any.ndjson', [versioned('c', base + 2n)]);
    expect(await oneHash('phala')).toEqual([hash('c')]);
  });

  test('a tombstone empties a height, and a later block fills it again', async () => {
    const envelope = (more: object) => ({ schema: 'block/1', chain: 'centrifuge', ...more });
    await ingesting.take('any.ndjson', [
      envelope({ payload: at('a') }),
      envelope({ payload: { number: '5' }, is_deleted: 1 }),
    ]);
    expect(await oneHash('centrifuge')).toEqual([]);
    expect(await canonical(extrinsics, 'centrifuge')).toEqual([]);
    await ingesting.take('any.ndjson', [envelope({ payload: at('b') })]);
    expect(await oneHash('centrifuge')).toEqual([hash('b')]);
  });
});

describe('a block that comes again', () => {
  const at = (digit: string, more: object = {}) =>
    madeBlock(7, [madeExtrinsic('a.b')], { hash: hash(digit), ...more });
  const ranks = async () =>
    (
      await rows<{ rank: string }>(
        sql`SELECT toString(rank) AS rank FROM ${blocks} WHERE chain = 'bifrost' ORDER BY rank`,
      )
    ).map(({ rank }) => rank);
  const take = (...lines: object[]) => ingesting.take('bifrost.ndjson', lines);
  /** How many versions lines add; the last one that does so holds the height. */
  const added = async (...lines: object[]) => {
    const before = await ranks();
    await take(...lines);
    return (await ranks()).filter((rank) => !before.includes(rank)).length;
  };

  test('is not loaded twice, within one source and over several', async () => {
    expect(await added(at('a'), at('a'))).toBe(1);
    expect(await added(at('a'), at('a'))).toBe(0);
    expect(await added(at('a'), at('b'), at('b'))).toBe(1);
    expect((await canonical(blocks, 'bifrost')).map(({ hash: one }) => one)).toEqual([hash('b')]);
  });

  test('is loaded after another one, in the same source and later', async () => {
    expect(await added(at('b'), at('a'), at('b'))).toBeGreaterThan(0);
    expect((await canonical(blocks, 'bifrost')).map(({ hash: one }) => one)).toEqual([hash('b')]);
    expect(await added(at('a'))).toBe(1);
    expect(await added(at('b'))).toBe(1);
  });

  test('is loaded where its load did not come to its end', async () => {
    await forgetLoaded();
    expect(await added(at('b'))).toBe(1);
    expect(await added(at('b'))).toBe(0);
  });

  test('is loaded under another version, and where it is not final', async () => {
    const envelope = (version: string) => ({
      schema: 'block/1',
      chain: 'bifrost',
      version,
      payload: at('c'),
    });
    const high = 2n ** 63n + 2n ** 60n;
    expect(await added(envelope(String(high)))).toBe(1);
    expect(await added(envelope(String(high)))).toBe(0);
    expect(await added(envelope(String(high + 1n)))).toBe(1);
    const best = madeBlock(8, [], { finalized: false });
    expect(await added(best)).toBe(1);
    expect(await added(best)).toBe(1);
  });
});

describe('facts that ride along', () => {
  const call = (name: string, args: object = {}) => {
    const [pallet, method] = name.split('.');
    return { method: { pallet, method }, args };
  };
  const batch = madeExtrinsic('utility.batchAll', {
    signature: { signer: { id: ALICE } },
    args: {
      calls: [
        call('system.remark', { remark: '0x01' }),
        call('balances.transferKeepAlive'),
        call('system.remark', { remark: '0x02' }),
      ],
    },
    events: [
      madeEvent('utility.ItemCompleted'),
      madeEvent('utility.ItemCompleted'),
      madeEvent('utility.ItemCompleted'),
      madeEvent('utility.BatchCompleted'),
    ],
  });

  test('calls inside calls are rows with their path, order and actor', async () => {
    await ingesting.take('asset-hub-polkadot.ndjson', [
      madeBlock(1, [
        batch,
        madeExtrinsic('system.remark', { signature: { signer: ALICE }, args: { remark: '0x03' } }),
      ]),
    ]);
    const found =
      await rows(sql`SELECT extrinsic_index, position, path, pallet, call, lower(hex(actor)) AS actor, args
      FROM ${calls} WHERE chain = 'asset-hub-polkadot' ORDER BY extrinsic_index, position`);
    expect(found).toEqual([
      {
        extrinsic_index: 1,
        position: 1,
        path: '0',
        pallet: 'system',
        call: 'remark',
        actor: ALICE_KEY,
        args: '{"remark":"0x01"}',
      },
      {
        extrinsic_index: 1,
        position: 3,
        path: '2',
        pallet: 'system',
        call: 'remark',
        actor: ALICE_KEY,
        args: '{"remark":"0x02"}',
      },
      {
        extrinsic_index: 2,
        position: 0,
        path: '',
        pallet: 'system',
        call: 'remark',
        actor: ALICE_KEY,
        args: '{"remark":"0x03"}',
      },
    ]);
    const [row] = await rows(
      sql`SELECT domain FROM ${extrinsics} WHERE chain = 'asset-hub-polkadot' AND extrinsic_index = 1`,
    );
    expect(row).toEqual({ domain: 'System' });
  });

  test('a fact that cannot be taken is told with its reason; its block stays', async () => {
    const bad = madeExtrinsic('balances.transfer', {
      signature: { signer: ALICE },
      tip: '-1',
      events: [
        madeEvent('balances.Transfer', ALICE, ALICE, '1,000'),
        madeEvent('treasury.Deposit'),
        madeEvent('balances.Deposit', 'nobody', '1'),
      ],
    });
    await ingesting.take('collectives-polkadot.ndjson', [madeBlock(1, [bad])]);
    expect(
      await rows(
        sql`SELECT fact, reason, raw FROM ${refusedFacts} FINAL WHERE chain = 'collectives-polkadot' ORDER BY fact`,
      ),
    ).toEqual([
      {
        fact: 'event 1 balances.Transfer',
        reason: 'amount: not an unsigned integer',
        raw: expect.stringContaining('1,000'),
      },
      { fact: 'event 2 treasury.Deposit', reason: 'unknown number of fields: 0', raw: '[]' },
      {
        fact: 'event 3 balances.Deposit',
        reason: 'account: not an address',
        raw: expect.stringContaining('nobody'),
      },
      { fact: 'extrinsic 1 tip', reason: 'not an unsigned integer', raw: '-1' },
    ]);
    expect(
      await rows(sql`SELECT extrinsics, events FROM ${blocks} FINAL WHERE chain = 'collectives-polkadot'`),
    ).toEqual([{ extrinsics: 2, events: 5 }]);
  });

  test('a block of calls nested without end is loaded, and said not to be opened', async () => {
    const depth = 3000;
    const nested = `${'{"method":{"pallet":"utility","method":"batch"},"args":{"calls":['.repeat(depth)}${']}}'.repeat(depth)}`;
    const line = JSON.stringify(
      madeBlock(4, [madeExtrinsic('utility.batch', { args: { calls: 'NESTED' } })]),
    ).replace('"NESTED"', `[${nested}]`);
    await ingesting.take('bridge-hub-polkadot.ndjson', [madeBlock(3), line, madeBlock(5)]);
    expect(await heights('bridge-hub-polkadot')).toEqual([3, 4, 5]);
  });
});

describe('amounts', () => {
  const MAX = (2n ** 128n - 1n).toString();
  const written: [string, string, string | null][] = [
    ['digits', '"123456789012345678901"', '123456789012345678901'],
    ['a number', '12345', '12345'],
    ['a number that a double would round', '123456789012345678901', '123456789012345678901'],
    ['hex', '"0x000000000000000000000000000f4240"', '1000000'],
    ['short hex', '"0xff"', '255'],
    ['zero', '"0"', '0'],
    ['the largest', `"${MAX}"`, MAX],
    ['the largest in hex', `"0x${'f'.repeat(32)}"`, MAX],
    ['one too large', `"${2n ** 128n}"`, null],
    ['hex of 33 digits', `"0x1${'0'.repeat(32)}"`, null],
    ['a sign', '"-5"', null],
    ['a fraction', '"1.5"', null],
    ['separators', '"1,000"', null],
    ['words', '"many"', null],
    ['nothing', '""', null],
    ['null', 'null', null],
  ];
  const line = (height: number, amount: string) => {
    const extrinsic = madeExtrinsic('balances.transfer', {
      signature: { signer: { id: ALICE } },
      events: [madeEvent('balances.Transfer', ALICE, BOB_GENERIC, 'AMOUNT')],
    });
    return JSON.stringify(madeBlock(height, [extrinsic])).replace('"AMOUNT"', amount);
  };
  const kept = new Map<number, string | null>();
  beforeAll(async () => {
    const lines = written.flatMap(([, amount], i) => [
      line(100 + i, amount),
      line(1000 + i, amount).replace('{"number"', '{"x":1,"number"'),
    ]);
    await ingesting.take('people-polkadot.ndjson', lines);
    const found = await rows<{ number: number; amount: string | null }>(
      sql`SELECT number, toString(amount) AS amount FROM ${events} FINAL
        WHERE chain = 'people-polkadot' AND pallet = 'balances'`,
    );
    for (const { number, amount } of found) kept.set(number, amount);
  });

  test.each(written.map((row, i) => [...row, i] as const))(
    'written as %s (%s) are %s, whichever way the block is read',
    (_title, _written, expected, i) => {
      expect([kept.get(100 + i), kept.get(1000 + i)]).toEqual([expected, expected]);
    },
  );

  test('a fee may be hex, a number or digits', async () => {
    const paid = (fee: string) =>
      JSON.stringify(
        madeExtrinsic('a.b', {
          signature: { signer: ALICE },
          events: [madeEvent('transactionPayment.TransactionFeePaid', ALICE, 'FEE', '0')],
        }),
      ).replace('"FEE"', fee);
    const block = JSON.stringify(madeBlock(9));
    const line = block.replace(
      /\](,"onFinalize")/,
      `,${paid('"0x0f4240"')},${paid('1000000')},${paid('"1000000"')}]$1`,
    );
    await ingesting.take('coretime-polkadot.ndjson', [line]);
    expect(
      await rows(
        sql`SELECT toString(fee) AS fee FROM ${extrinsics} FINAL WHERE chain = 'coretime-polkadot' ORDER BY extrinsic_index`,
      ),
    ).toEqual([{ fee: '0' }, { fee: '1000000' }, { fee: '1000000' }, { fee: '1000000' }]);
  });
});

describe('what the engine plans for every batch', () => {
  const planned = async (view: View) => {
    const tree = await rows<{ explain: string }>(sql`EXPLAIN QUERY TREE ${view.select}`);
    const count = (kind: string) => tree.filter(({ explain }) => explain.trim().startsWith(kind)).length;
    return { functions: count('FUNCTION'), statements: count('QUERY') };
  };

  // What a batch seldom holds stands behind a table that gets rows only then, and is not planned otherwise.
  const seldom = new Set([eventsToCheck.name, calls.name]);
  const always = blockViews.filter(({ from }) => !seldom.has(from.name));

  test('is small: no view nests statements, and all of them together have few functions', async () => {
    const counts = await Promise.all(always.map(planned));
    expect(counts.map(({ statements }, i) => [always[i]?.name, statements > 2])).toEqual(
      always.map(({ name }) => [name, false]),
    );
    // Each is planned in some 0.07 ms.
    expect(counts.reduce((sum, { functions }) => sum + functions, 0)).toBeLessThan(1200);
  });

  test('leaves out what looks closer at few events and calls', () => {
    const behind = blockViews.filter(({ from }) => seldom.has(from.name)).map(({ to }) => to.name);
    expect(behind.sort()).toEqual(['address_encodings_due', 'refused_facts', 'refused_facts']);
  });
});
