import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { raw, sql } from '../../infra/clickhouse/sql.ts';
import type { Table } from '../../infra/clickhouse/table.ts';
import { TOPICS } from '../../ingest/loader.ts';
import {
  blocks,
  calls,
  events,
  extrinsics,
  prices,
  refusedFacts,
  snapshots,
} from '../../ingest/raw/tables.ts';
import { recordedLines } from '../support/recordings.ts';
import { type Ingesting, openIngesting } from './ingesting.ts';
import { ALICE, ALICE_KEY, BOB_GENERIC, hash, madeBlock, madeEvent, madeExtrinsic, NOON } from './made.ts';

let ingesting: Ingesting;
beforeAll(async () => {
  ingesting = await openIngesting({ LINE_BYTES_MAX: '400000', DEAD_LETTER_BYTES_MAX: '200' });
});
afterAll(() => ingesting.close());

const rows = <Row = Record<string, unknown>>(statement: ReturnType<typeof sql>) =>
  ingesting.engine.runtime.store.rows<Row>(statement);

/** The rows of a chain's living blocks in one table, without what names one load of them. */
const living = (table: Table, chain: string, from = 0) =>
  rows(sql`SELECT * EXCEPT (${raw(table === blocks ? 'rank, received_at, source' : 'rank')}) FROM ${table}
    WHERE chain = ${chain} AND number >= ${from} AND rank IN (SELECT rank FROM ${blocks} FINAL WHERE chain = ${chain})
    ORDER BY ${raw(table.orderBy.join(', '))}`);
const everything = async (chain: string) => ({
  blocks: await living(blocks, chain),
  extrinsics: await living(extrinsics, chain),
  events: await living(events, chain),
  calls: await living(calls, chain),
});
const heights = async (chain: string) => (await living(blocks, chain)).map(({ number }) => number as number);

type Document = Record<string, never>;
const recorded = (folder: 'blocks' | 'runtime', chain: string) =>
  recordedLines(folder)
    .filter((line) => line.chain === chain)
    .map(({ line }) => line);

describe('one block in many layouts', () => {
  const mapExtrinsics = (line: string, change: (extrinsic: Document) => object) => {
    const block = JSON.parse(line) as Document & { extrinsics: Document[] };
    return { ...block, extrinsics: block.extrinsics.map(change) };
  };
  const oneWord = ({ pallet, method }: Document) => `${pallet}.${method}`;
  const named = (data: unknown[]) => Object.fromEntries(data.map((value, i) => [`field_${i}`, value]));
  const mapEvents = (list: unknown, change: (event: Document) => object) => (list as Document[]).map(change);

  const layouts: [string, (line: string) => object | string][] = [
    ['its keys in another order', (line) => Object.fromEntries(Object.entries(JSON.parse(line)).reverse())],
    [
      'the keys of its extrinsics in another order',
      (line) => mapExtrinsics(line, (extrinsic) => Object.fromEntries(Object.entries(extrinsic).reverse())),
    ],
    ['blanks between its parts', (line) => JSON.stringify(JSON.parse(line), null, 1).replaceAll('\n', ' ')],
    ['keys that nobody knows', (line) => ({ ...JSON.parse(line), unknown: { deep: [1, { a: null }] } })],
    [
      'its number as an integer',
      (line) => ({ ...JSON.parse(line), number: Number(JSON.parse(line).number) }),
    ],
    [
      'methods in one word',
      (line) =>
        mapExtrinsics(line, (extrinsic) => ({
          ...extrinsic,
          method: oneWord(extrinsic.method as never),
          events: mapEvents(extrinsic.events, (event) => ({
            ...event,
            method: oneWord(event.method as never),
          })),
        })),
    ],
    [
      'event data with names',
      (line) =>
        mapExtrinsics(line, (extrinsic) => ({
          ...extrinsic,
          events: mapEvents(extrinsic.events, (event) => ({ ...event, data: named(event.data as never) })),
        })),
    ],
    [
      'an envelope of its own',
      (line) => ({ payload: JSON.parse(line), chain: 'polkadot', schema: 'block/1' }),
    ],
  ];

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
      const summary = await ingesting.engine.ingest(Readable.from([packed]), { name });
      expect(summary).toEqual({ lines: lines.length, blocks: lines.length, snapshots: 0, refused_lines: 0 });
      expect(await everything('polkadot')).toEqual(expected);
    }
  });
});

describe('input that cannot be taken in', () => {
  test('is kept with its file, line, reason and first bytes; the lines around it are loaded', async () => {
    const long = JSON.stringify(
      madeBlock(3, [madeExtrinsic('system.remark', { args: { remark: 'x'.repeat(500_000) } })]),
    );
    const summary = await ingesting.take('kusama.ndjson', [
      madeBlock(1),
      'not JSON at all',
      madeBlock(2),
      '',
      { schema: 'block/9' },
      long,
      madeBlock(4),
    ]);
    expect(summary).toEqual({ lines: 6, blocks: 3, snapshots: 0, refused_lines: 3 });
    expect(await heights('kusama')).toEqual([1, 2, 4]);
    const [garbage, schema, tooLong] = await ingesting.letters('kusama.ndjson');
    expect(garbage).toEqual({
      topic: TOPICS.blocks,
      origin: 'kusama.ndjson',
      line: 2,
      reason: 'not JSON',
      bytes: 'not JSON at all',
      size: 15,
    });
    expect(schema).toMatchObject({
      line: 5,
      reason: 'schema: unknown "block/9"; known are block/1 and snapshot/1',
    });
    expect(tooLong).toMatchObject({
      line: 6,
      reason: 'longer than 400000 bytes (LINE_BYTES_MAX)',
      size: 400_000,
    });
    expect(tooLong?.bytes).toBe(long.slice(0, 200));
  });

  test('refused twice from the same place is one letter; from another place another', async () => {
    for (let i = 0; i < 2; i++) await ingesting.take('twice.ndjson', ['{']);
    await ingesting.take('twice-more.ndjson', ['{']);
    expect(await ingesting.letters('twice.ndjson')).toHaveLength(1);
    expect(await ingesting.letters('twice-more.ndjson')).toHaveLength(1);
  });

  test('of an unknown chain says which, line by line', async () => {
    await ingesting.take('atlantis.ndjson', [madeBlock(1), madeBlock(2)]);
    expect((await ingesting.letters('atlantis.ndjson')).map(({ line, reason }) => [line, reason])).toEqual([
      [
        1,
        'chain: unknown atlantis; a bare block needs a known chain: name the file after it or pass --chain',
      ],
      [
        2,
        'chain: unknown atlantis; a bare block needs a known chain: name the file after it or pass --chain',
      ],
    ]);
  });

  test('whose text is no Unicode, holds NUL or half a pair is a letter like any other', async () => {
    const summary = await ingesting.take('odd.ndjson', [
      Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x80]),
      '{"schema":"block/1","chain":"\\ud800","payload":{}}',
      '{"schema":"snapshot/1","chain":"polkadot","kind":"\\udfff","payload":{}}',
      'a\0b',
    ]);
    expect(summary.lines).toBe(4);
    const letters = await ingesting.letters('odd.ndjson');
    expect(letters.map(({ line, size }) => [line, size])).toEqual([
      [1, 5],
      [2, 50],
      [3, letters[2]?.size],
      [4, 3],
    ]);
  });

  test.each(['gz', 'zst'])(
    'a cut-off .%s archive gives the lines before the cut and one letter',
    async (ending) => {
      const text = Array.from({ length: 400 }, (_, i) =>
        JSON.stringify(madeBlock(i, [], { extra: hash(i * 7919) })),
      ).join('\n');
      const bytes = Buffer.from(text);
      const packed =
        ending === 'gz' ? gzipSync(bytes) : zstdCompressSync(bytes, { pledgedSrcSize: bytes.length });
      const name = `westend.ndjson.${ending}`;
      const summary = await ingesting.engine.ingest(Readable.from([packed.subarray(0, packed.length - 20)]), {
        name,
      });
      expect(summary.refused_lines).toBe(1);
      const [letter, ...others] = await ingesting.letters(name);
      expect(others).toEqual([]);
      expect(letter?.reason).toMatch(/^the archive is truncated or corrupt: /);
      expect(letter?.line).toBe(summary.lines + 1);
      expect((await heights('westend')).length).toBe(
        Math.max(summary.blocks, (await heights('westend')).length),
      );
    },
  );
});

describe('bad blocks among good ones, found only by the engine', () => {
  /** Begins like a block of Sidecar's, so that it is not opened before the engine reads it. */
  const broken = (number: number, body: string) =>
    `{"number":"${number}","hash":"${hash(number)}","parentHash":"${hash(number - 1)}","extrinsics":[${body}}`;
  const good = Array.from({ length: 16 }, (_, i) => madeBlock(100 + i));

  test.each([
    ['first', [0]],
    ['last', [16]],
    ['in the middle', [8]],
    ['two in a row', [4, 5]],
    ['everywhere', [0, 3, 8, 14, 20]],
  ])('%s: only they are buried', async (title, places) => {
    const lines: (string | object)[] = [...good];
    for (const place of places) lines.splice(place, 0, broken(900 + place, '{"method":5}],"x":1'));
    const name = `${title.replaceAll(' ', '-')}.ndjson`;
    await ingesting.engine.ingest(
      Readable.from([
        Buffer.from(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')),
      ]),
      {
        name,
        chain: 'moonbeam',
      },
    );
    expect(await heights('moonbeam')).toEqual(good.map((_, i) => 100 + i));
    const letters = await ingesting.letters(name);
    expect(letters.map(({ line }) => line - 1)).toEqual(places);
    for (const letter of letters) {
      expect(letter.reason).toMatch(/^no block: extrinsics\.0\.method: /);
      expect(letter.bytes).toMatch(/^\{"number":"9/);
    }
  });

  test.each([
    ['JSON that ends too soon', '{"method":{"pallet":"a","method":"b"}', /no block|JSON/],
    ['garbage inside', '@@@]', /no block|JSON/],
    ['a list where an object is due', '[1,2]]', /no block/],
  ])('%s is buried with a reason', async (_title, body, expected) => {
    await ingesting.take('acala.ndjson', [madeBlock(1), broken(2, body), madeBlock(3)]);
    expect(await heights('acala')).toEqual([1, 3]);
    const letters = await ingesting.letters('acala.ndjson');
    expect(letters.at(-1)?.reason).toMatch(expected);
    expect(letters.every(({ line }) => line === 2)).toBe(true);
  });

  test('a block that the engine alone cannot read is normalised and loaded, not buried', async () => {
    const odd = broken(
      2,
      '{"method":"system.remark","args":{},"events":[{"method":"system.X","data":{"a":1}}]}],"y":1',
    );
    await ingesting.take('bifrost.ndjson', [madeBlock(1), odd, madeBlock(3)]);
    expect(await heights('bifrost')).toEqual([1, 2, 3]);
    expect(await ingesting.letters('bifrost.ndjson')).toEqual([]);
    expect(
      await rows(sql`SELECT pallet, event, data FROM ${events} WHERE chain = 'bifrost' AND number = 2`),
    ).toEqual([{ pallet: 'system', event: 'X', data: ['1'] }]);
  });

  test('nothing of a batch is left waiting', async () => {
    expect(await ingesting.engine.runtime.store.unfinished()).toEqual([]);
  });
});

describe('versions of one height', () => {
  const oneHash = async (chain: string) => (await living(blocks, chain)).map(({ hash }) => hash);
  const at = (digit: string, more: object = {}) => madeBlock(5, [], { hash: hash(digit), ...more });

  test('the later line wins, within one batch and over several, and nothing of the loser is left', async () => {
    await ingesting.take('astar.ndjson', [
      at('a', { extrinsics: [madeExtrinsic('a.b'), madeExtrinsic('a.b')] }),
      at('b'),
    ]);
    expect(await oneHash('astar')).toEqual([hash('b')]);
    await ingesting.take('astar.ndjson', [at('c')]);
    expect(await oneHash('astar')).toEqual([hash('c')]);
    expect(await living(extrinsics, 'astar')).toHaveLength(1);
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
    expect(await living(extrinsics, 'centrifuge')).toEqual([]);
    await ingesting.take('any.ndjson', [envelope({ payload: at('b') })]);
    expect(await oneHash('centrifuge')).toEqual([hash('b')]);
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
        fact: 'event 0 balances.Transfer',
        reason: 'amount: not an unsigned integer',
        raw: expect.stringContaining('1,000'),
      },
      { fact: 'event 1 treasury.Deposit', reason: 'unknown number of fields: 0', raw: '[]' },
      {
        fact: 'event 2 balances.Deposit',
        reason: 'account: not an address',
        raw: expect.stringContaining('nobody'),
      },
      { fact: 'extrinsic 1 tip', reason: 'not an unsigned integer', raw: '-1' },
    ]);
    expect(
      await rows(sql`SELECT extrinsics, events FROM ${blocks} FINAL WHERE chain = 'collectives-polkadot'`),
    ).toEqual([{ extrinsics: 2, events: 3 }]);
  });

  test('a block of calls nested without end is loaded, and said not to be opened', async () => {
    const depth = 3000;
    const nested = `${'{"method":{"pallet":"utility","method":"batch"},"args":{"calls":['.repeat(depth)}${']}}'.repeat(depth)}`;
    const line = JSON.stringify(
      madeBlock(1, [madeExtrinsic('utility.batch', { args: { calls: 'NESTED' } })]),
    ).replace('"NESTED"', `[${nested}]`);
    await ingesting.take('bridge-hub-polkadot.ndjson', [madeBlock(0), line, madeBlock(2)]);
    expect(await heights('bridge-hub-polkadot')).toEqual([0, 1, 2]);
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
      line(i, amount),
      line(1000 + i, amount).replace('{"number"', '{"x":1,"number"'),
    ]);
    await ingesting.take('people-polkadot.ndjson', lines);
    const found = await rows<{ number: number; amount: string | null }>(
      sql`SELECT number, toString(amount) AS amount FROM ${events} FINAL WHERE chain = 'people-polkadot'`,
    );
    for (const { number, amount } of found) kept.set(number, amount);
  });

  test.each(written.map((row, i) => [...row, i] as const))(
    'written as %s (%s) are %s, whichever way the block is read',
    (_title, _written, expected, i) => {
      expect([kept.get(i), kept.get(1000 + i)]).toEqual([expected, expected]);
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
    const block = JSON.stringify(madeBlock(1)).replace('"onFinalize"', '"onFinalize"');
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

describe('messages of other producers', () => {
  const publish = (values: readonly (object | string)[]) =>
    ingesting.engine.runtime.log.publish(
      TOPICS.blocks,
      values.map((value) => ({
        key: 'any',
        value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
      })),
    );

  test('are read whatever the order of their keys and under any alias of their chain', async () => {
    await publish([
      { payload: madeBlock(1), schema: 'block/1', chain: 'statemine', source: 'rpc' },
      {
        chain: 'asset-hub-kusama',
        relay_chain: 'kusama',
        schema: 'block/1',
        version: '9223372036854775810',
        payload: madeBlock(2),
      },
    ]);
    expect(await heights('asset-hub-kusama')).toEqual([1, 2]);
  });

  test('that cannot be read are letters of the topic; the others of the batch are loaded', async () => {
    const before = (await ingesting.letters(TOPICS.blocks)).length;
    await publish([
      'garbage',
      { schema: 'block/1', chain: 'atlantis', payload: madeBlock(1) },
      { schema: 'block/1', chain: 'asset-hub-kusama', version: 'new', payload: madeBlock(9) },
      { schema: 'block/1', chain: 'asset-hub-kusama', payload: madeBlock(3) },
      '{"payload_last":true,"schema":"block/1","relay_chain":"kusama","chain":"atlantis","number":"1","payload":{}}',
    ]);
    expect(await heights('asset-hub-kusama')).toEqual([1, 2, 3]);
    const letters = await ingesting.letters();
    const reasons = letters
      .filter(({ topic, line }) => topic === TOPICS.blocks && line === 0)
      .map(({ reason }) => reason);
    expect(reasons.length - before).toBeGreaterThanOrEqual(1);
    expect(reasons.join('\n')).toMatch(/not JSON/);
    expect(reasons.join('\n')).toMatch(/chain: unknown atlantis/);
    expect(reasons.join('\n')).toMatch(/version: not a decimal string/);
  });

  test('one that only looks like our own is a letter, not the end of the batch', async () => {
    await publish([
      '{"payload_last":true,"payload":{}',
      '{"payload_last":true,nonsense,"payload":{}}',
      { schema: 'block/1', chain: 'asset-hub-kusama', payload: madeBlock(4) },
    ]);
    expect(await heights('asset-hub-kusama')).toContain(4);
  });
});

describe('snapshots', () => {
  const snapshot = (more: object = {}) => ({
    schema: 'snapshot/1',
    kind: 'price',
    relay_chain: 'polkadot',
    chain: 'polkadot',
    as_of: '2026-01-02T23:00:00Z',
    payload: { symbol: 'DOT', usd: 6.12 },
    ...more,
  });
  const priced = (usd: string, minute: number) =>
    JSON.stringify(snapshot({ as_of: `2026-01-03T00:${String(minute).padStart(2, '0')}:00Z` })).replace(
      '6.12',
      usd,
    );

  test('a price is kept with all its decimals, however it was written', async () => {
    const written = [
      '6.12',
      '0',
      '1e-9',
      '6.123456789012345678901234567890',
      '12345678901234567890.5',
      '1.50E+2',
    ];
    await ingesting.take(
      'prices.ndjson',
      written.map((usd, minute) => priced(usd, minute)),
    );
    const found = await rows<{ usd: string }>(
      sql`SELECT toString(usd_scaled) AS usd FROM ${prices} FINAL WHERE as_of >= '2026-01-03 00:00:00' ORDER BY as_of`,
    );
    expect(found.map(({ usd }) => usd.padStart(31, '0').replace(/(\d{30})$/, '.$1'))).toEqual([
      '6.120000000000000000000000000000',
      '0.000000000000000000000000000000',
      '0.000000001000000000000000000000',
      '6.123456789012345678901234567890',
      '12345678901234567890.500000000000000000000000000000',
      '150.000000000000000000000000000000',
    ]);
    expect(await ingesting.letters('prices.ndjson')).toEqual([]);
  });

  test('amounts are kept as decimal text, and unknown fields are left out', async () => {
    const line = JSON.stringify(
      snapshot({
        kind: 'issuance',
        chain: 'statemint',
        block_number: 7,
        payload: { total: 'TOTAL', inactive: '0xff', more: 1 },
      }),
    ).replace('"TOTAL"', '340282366920938463463374607431768211455');
    const summary = await ingesting.take('issuance.ndjson', [line]);
    expect(summary).toMatchObject({ snapshots: 1, refused_lines: 0 });
    const [row] = await rows<{ payload: string }>(
      sql`SELECT relay_chain, chain, block_number, payload FROM ${snapshots} FINAL WHERE kind = 'issuance'`,
    );
    expect({ ...row, payload: JSON.parse(String(row?.payload)) }).toEqual({
      relay_chain: 'polkadot',
      chain: 'asset-hub-polkadot',
      block_number: 7,
      payload: { total: '340282366920938463463374607431768211455', inactive: '255' },
    });
  });

  test('of one moment, the later line wins', async () => {
    await ingesting.take('later.ndjson', [snapshot(), snapshot({ payload: { symbol: 'DOT', usd: 7 } })]);
    await ingesting.take('later.ndjson', [snapshot({ payload: { symbol: 'DOT', usd: 8 } })]);
    expect(
      await rows(
        sql`SELECT payload FROM ${snapshots} FINAL WHERE kind = 'price' AND as_of = '2026-01-02 23:00:00'`,
      ),
    ).toEqual([{ payload: '{"symbol":"DOT","usd":"8"}' }]);
  });

  test.each<[string, object | string, RegExp]>([
    ['an unknown kind', snapshot({ kind: 'weather' }), /^kind: unknown kind "weather"$/],
    ['no payload', snapshot({ payload: undefined }), /^payload: /],
    ['a missing field', snapshot({ payload: { symbol: 'DOT' } }), /^payload\.usd: missing$/],
    [
      'a price that is text',
      snapshot({ payload: { symbol: 'DOT', usd: '6.12' } }),
      /^payload\.usd: not a number/,
    ],
    [
      'a negative price',
      snapshot({ payload: { symbol: 'DOT', usd: -1 } }),
      /^payload\.usd: not a number of at least 0$/,
    ],
    ['a moment that is none', snapshot({ as_of: 'yesterday' }), /^as_of: /],
    [
      'an amount with separators',
      snapshot({ kind: 'issuance', payload: { total: '1,000', inactive: '0' } }),
      /^payload\.total: not an integer/,
    ],
    [
      'a bad address',
      snapshot({
        kind: 'delegations',
        payload: {
          delegations: [{ delegator: 'nobody', target: ALICE, track: 0, conviction: 1, balance: '1' }],
        },
      }),
      /^payload\.delegations\.0\.delegator: not an address$/,
    ],
    ['an unknown chain', snapshot({ chain: 'atlantis' }), /^chain: unknown atlantis of polkadot$/],
    ['a version that is none', snapshot({ version: 'x' }), /^version: not a decimal string$/],
  ])('with %s is refused whole, with its reason', async (title, document, expected) => {
    const count = () => rows(sql`SELECT count() AS n FROM ${snapshots} FINAL`);
    const before = await count();
    const name = `${title.replaceAll(' ', '-')}.ndjson`;
    await ingesting.take(name, [document]);
    const letters = await ingesting.letters(name);
    expect(letters.map(({ line }) => line)).toEqual([1]);
    expect(letters[0]?.reason).toMatch(expected);
    expect(await count()).toEqual(before);
  });

  test('and blocks may be mixed in one file', async () => {
    const summary = await ingesting.take('kusama.ndjson', [
      madeBlock(50),
      snapshot({ relay_chain: 'kusama', chain: 'kusama', payload: { symbol: 'KSM', usd: 30 } }),
      madeBlock(51),
    ]);
    expect(summary).toEqual({ lines: 3, blocks: 2, snapshots: 1, refused_lines: 0 });
    expect(
      await rows(sql`SELECT toString(max(time)) AS last FROM ${blocks} FINAL WHERE chain = 'kusama'`),
    ).toEqual([{ last: new Date(NOON + 51 * 6000).toISOString().replace('T', ' ').slice(0, -1) }]);
  });
});
