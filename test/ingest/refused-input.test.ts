import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sql, sql } from '../../infra/sql.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import { blocks, events, prices, refusedFacts, snapshots } from '../../ingest/raw/tables.ts';
import { heightsOf, type Ingesting, openIngesting, rowsOf } from './ingesting.ts';
import { hash, madeBlock, madeExtrinsic, NOON } from './made.ts';
import { snapshot, wrongSnapshots } from './snapshots.ts';

let ingesting: Ingesting;
beforeAll(async () => {
  ingesting = await openIngesting({ LINE_BYTES_MAX: '400000' });
});
afterAll(() => ingesting.close());

const rows = <Row = Record<string, unknown>>(statement: Sql) => rowsOf<Row>(ingesting, statement);
const heights = (chain: string) => heightsOf(ingesting, chain);

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
    expect(tooLong?.bytes).toBe(long.slice(0, 65_536));
  });

  test('the first line of a document over several lines tells how to write it; whole ones behind it are loaded', async () => {
    const lines = JSON.stringify([madeBlock(1), madeBlock(2)], null, 2).split('\n');
    const summary = await ingesting.take('polkadot.json', [...lines, madeBlock(3)]);
    expect(summary).toMatchObject({ lines: lines.length + 1, blocks: 1, refused_lines: lines.length });
    const [first, ...others] = await ingesting.letters('polkadot.json');
    expect(first?.reason).toMatch(/^not JSON: a document spans several lines.*jq -c '\.\[\]'/);
    expect(others.map(({ reason }) => reason).filter((reason) => reason.includes('jq'))).toEqual([]);
    await ingesting.take('items.json', ['[{"a":1},', '{}]']);
    const [items] = await ingesting.letters('items.json');
    expect(items?.reason).toMatch(/^not JSON: a document spans several lines.*jq -c '\.\[\]'/);
    await ingesting.take('one.json', JSON.stringify(madeBlock(4), null, 1).split('\n'));
    const [opening] = await ingesting.letters('one.json');
    expect(opening?.reason).toMatch(/`jq -c \. FILE`/);
    await ingesting.take('list.json', [JSON.stringify([madeBlock(5)]), 'garbage', '{']);
    expect((await ingesting.letters('list.json')).map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^not a JSON object: each line must be one document; convert .* `jq -c '\.\[\]'/),
      'not JSON',
      'not JSON',
    ]);
  });

  test('a time that no block has, a text of half a character, or text behind a block costs only itself', async () => {
    const at = (now: unknown) => ({ extrinsics: [madeExtrinsic('timestamp.set', { args: { now } })] });
    const half = madeExtrinsic('system.remark', { args: { remark: 'a\ud83d' } });
    const whole = JSON.stringify(madeBlock(8));
    const invented = '"refused":[{"fact":"made up","reason":"by the line","raw":""}],"x":{}';
    await ingesting.take('vara.ndjson', [
      ...[0, -1, Date.UTC(2100, 0), '9'.repeat(18), 'soon'].map((now, i) => madeBlock(i + 1, [], at(now))),
      madeBlock(6, [half]),
      madeBlock(7, [madeExtrinsic('a.b', { info: [] })]),
    ]);
    await ingesting.take('vara.ndjson', [`${whole.slice(0, -1)}},${invented}`]);
    expect(await ingesting.letters('vara.ndjson')).toEqual([]);
    expect(await heights('vara')).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    const timed = await rows<{ number: number }>(
      sql`SELECT number FROM ${blocks} FINAL WHERE chain = 'vara' AND isNotNull(time) ORDER BY number`,
    );
    expect(timed.map(({ number }) => number)).toEqual([6, 7, 8]);
    const refused = await rows<{ number: number; fact: string; reason: string }>(
      sql`SELECT number, fact, reason FROM ${refusedFacts} FINAL WHERE chain = 'vara' ORDER BY number`,
    );
    const reason = 'not milliseconds from 2015 to 2099';
    expect(refused).toEqual([1, 2, 3, 4, 5].map((number) => ({ number, fact: 'extrinsic 0 now', reason })));
  });

  test('does not keep other small files from being loaded with it, in their order', async () => {
    const packed = gzipSync(JSON.stringify(madeBlock(3)));
    const file = (name: string, bytes: Buffer) => ({ name, chain: 'karura', bytes: Readable.from([bytes]) });
    const line = (digit: string) => Buffer.from(JSON.stringify(madeBlock(2, [], { hash: hash(digit) })));
    const sources = [
      file('1.json', line('a')),
      file('2.json.gz', packed.subarray(0, packed.length - 9)),
      file('3.json', Buffer.from('{"')),
      file('4.json', line('b')),
      file('5.json.gz', packed),
    ];
    const progress: unknown[] = [];
    const summary = await ingesting.pipeline.ingestAll(sources, {
      onProgress: (soFar) => progress.push(soFar),
    });
    await ingesting.pipeline.waitUntilLoaded();
    expect(summary).toEqual({ lines: 4, blocks: 3, snapshots: 0, refused_lines: 2 });
    expect(progress).toEqual([summary]);
    const stored = await rows(
      sql`SELECT number, hash FROM ${blocks} FINAL WHERE chain = 'karura' ORDER BY number`,
    );
    expect(stored).toEqual([
      { number: 2, hash: hash('b') },
      { number: 3, hash: expect.any(String) },
    ]);
    expect((await ingesting.letters('2.json.gz')).map(({ reason }) => reason)).toEqual([
      expect.stringContaining('truncated'),
    ]);
    expect(await ingesting.letters('3.json')).toMatchObject([{ line: 1, reason: 'not JSON' }]);
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
        'chain: unknown atlantis; a bare block needs a chain: name the file after the chain or pass --chain',
      ],
      [
        2,
        'chain: unknown atlantis; a bare block needs a chain: name the file after the chain or pass --chain',
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
        JSON.stringify(madeBlock(i + 2, [], { extra: hash(i * 7919) })),
      ).join('\n');
      const bytes = Buffer.from(text);
      const packed =
        ending === 'gz' ? gzipSync(bytes) : zstdCompressSync(bytes, { pledgedSrcSize: bytes.length });
      const name = `westend.ndjson.${ending}`;
      const summary = await ingesting.takeFile({ name }, packed.subarray(0, packed.length - 20));
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
    const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
    await ingesting.takeFile({ name, chain: 'moonbeam' }, Buffer.from(texts.join('\n')));
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
    expect(letters.map(({ reason }) => reason)).toContainEqual(expect.stringMatching(expected));
    expect(letters.every(({ line }) => line === 2)).toBe(true);
  });

  test('a block that the engine alone cannot read is normalised and loaded, not buried', async () => {
    const odd = broken(
      2,
      '{"method":"system.remark","args":{},"events":[{"method":"system.X","data":{"a":1}},{"method":"system.ExtrinsicSuccess"}]}],"y":1',
    );
    await ingesting.take('bifrost.ndjson', [madeBlock(1), odd, madeBlock(3)]);
    expect(await heights('bifrost')).toEqual([1, 2, 3]);
    expect(await ingesting.letters('bifrost.ndjson')).toEqual([]);
    expect(
      await rows(
        sql`SELECT pallet, event, data FROM ${events} WHERE chain = 'bifrost' AND number = 2 AND event = 'X'`,
      ),
    ).toEqual([{ pallet: 'system', event: 'X', data: ['1'] }]);
  });

  test('nothing of a batch is left waiting', async () => {
    expect(await ingesting.pipeline.runtime.store.unfinished()).toEqual([]);
  });
});

describe('messages of other producers', () => {
  const publish = async (values: readonly (object | string)[]) => {
    await ingesting.pipeline.runtime.log.publish(
      TOPICS.blocks,
      values.map((value) => ({
        key: 'any',
        value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
      })),
    );
    await ingesting.pipeline.waitUntilLoaded();
  };

  test('are read whatever the order of their keys and under any alias of their chain', async () => {
    await publish([
      { payload: madeBlock(4), schema: 'block/1', chain: 'statemine', source: 'rpc' },
      {
        chain: 'asset-hub-kusama',
        relay_chain: 'kusama',
        schema: 'block/1',
        version: '9223372036854775810',
        payload: madeBlock(2),
      },
    ]);
    expect(await heights('asset-hub-kusama')).toEqual([2, 4]);
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
    expect(await heights('asset-hub-kusama')).toEqual([2, 3, 4]);
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
      { schema: 'block/1', chain: 'asset-hub-kusama', payload: madeBlock(5) },
    ]);
    expect(await heights('asset-hub-kusama')).toContain(5);
  });
});

describe('snapshots', () => {
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

  test.each(wrongSnapshots)(
    'with %s is refused whole, with its reason',
    async (title, document, expected) => {
      const count = () => rows(sql`SELECT count() AS n FROM ${snapshots} FINAL`);
      const before = await count();
      const name = `${title.replaceAll(' ', '-')}.ndjson`;
      await ingesting.take(name, [document]);
      const letters = await ingesting.letters(name);
      expect(letters.map(({ line }) => line)).toEqual([1]);
      expect(letters[0]?.reason).toMatch(expected);
      expect(await count()).toEqual(before);
    },
  );

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
