import { describe, expect, test } from 'vitest';
import { loadRegistry } from '../../../ingest/chains/registry.ts';
import { normaliseBlock } from '../../../ingest/decode/normalise.ts';
import {
  type Envelope,
  type ReadResult,
  readEnvelope,
  readLine,
  splitEnvelope,
} from '../../../ingest/log/envelope.ts';
import { hash, madeBlock, madeEvent, madeExtrinsic } from '../made.ts';

const registry = loadRegistry();
const polkadot = registry.find('polkadot');
const ORIGIN = { source: 'import', origin: 'polkadot.ndjson', line: 3 };
const lineOf = (document: unknown) =>
  Buffer.from(typeof document === 'string' ? document : JSON.stringify(document));
const read = (document: unknown, chain = polkadot): ReadResult =>
  readLine(lineOf(document), chain, registry, ORIGIN);
const reason = (result: ReadResult) => ('refused' in result ? result.refused : 'taken in');
const bodyOf = (result: ReadResult) => JSON.parse((result as Envelope).value.toString());

const block = madeBlock(20_000_000);
const envelope = (more: object = {}) => ({ schema: 'block/1', chain: 'polkadot', payload: block, ...more });
const snapshot = (more: object = {}) => ({
  schema: 'snapshot/1',
  chain: 'polkadot',
  kind: 'price',
  as_of: '2026-01-02T00:00:00Z',
  payload: { symbol: 'DOT', usd: 1 },
  ...more,
});
/** The place under which a price that names one is recorded. */
const placeOf = (relay_chain: string, chain: string) => {
  const result = read(snapshot({ relay_chain, chain }));
  if ('refused' in result) return result.refused;
  const body = bodyOf(result);
  return `${body.relay_chain}/${body.chain}`;
};
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('an answer by relay block', () => {
  const answer = (blocks: readonly unknown[], more: object = {}) => ({
    rcBlock: { hash: '0x01', parentHash: '0x02', number: '28500000' },
    parachainDataPerBlock: blocks,
    ...more,
  });
  const apart = (key: string) => new RegExp(`in the list ${key}; .*jq -c '\\.${key}\\[\\]' FILE`);

  test('is refused with how to take its blocks out', () => {
    expect(reason(read(answer([{ ...block, rcBlockNumber: '28500000' }])))).toMatch(
      apart('parachainDataPerBlock'),
    );
    expect(reason(read(answer([block, block])))).toMatch(apart('parachainDataPerBlock'));
  });
  test('also as the payload of an envelope, and with blocks that are none', () => {
    expect(reason(read(envelope({ payload: answer([block]) })))).toMatch(apart('parachainDataPerBlock'));
    expect(reason(read(answer(['0x01'])))).toMatch(apart('parachainDataPerBlock'));
  });
  test('without a block of the chain says so', () => {
    expect(reason(read(answer([])))).toMatch(/the chain has no block in this relay block/);
  });
  test('under another name is told likewise; a list of anything else is not', () => {
    expect(reason(read({ blocks: [block] }))).toMatch(apart('blocks'));
    expect(reason(read({ result: [block, block] }))).toMatch(apart('result'));
    expect(reason(read({ logs: [1, 2] }))).not.toMatch(/jq/);
  });
  test('as a block among other keys is read as a block', () => {
    expect(reason(read({ ...block, parachainDataPerBlock: [] }))).toBe('taken in');
  });
});

describe('a bare block', () => {
  test('in Sidecar’s layout keeps its bytes, behind what is known of it', () => {
    const line = lineOf(block);
    const result = readLine(line, polkadot, registry, ORIGIN) as Envelope;
    expect(result.topic).toBe('blocks');
    const split = splitEnvelope(result.value);
    expect(split?.payload.equals(line)).toBe(true);
    expect(split?.head).toEqual({
      payload_last: true,
      schema: 'block/1',
      relay_chain: 'polkadot',
      chain: 'polkadot',
      number: '20000000',
      ...ORIGIN,
    });
  });

  test('is an envelope that any reader can parse whole', () => {
    expect(bodyOf(read(block)).payload).toEqual(block);
  });

  test('with its keys in any order is the same block', () => {
    const reversed = Object.fromEntries(Object.entries(block).reverse());
    const [fast, slow] = [read(block), read(reversed)] as Envelope[];
    expect(slow?.key).toBe(fast?.key);
    expect(bodyOf(slow as Envelope)).toEqual(bodyOf(fast as Envelope));
  });

  test('with blanks between its parts is the same block', () => {
    expect(bodyOf(read(JSON.stringify(block, null, 1).replaceAll('\n', ' ')))).toEqual(bodyOf(read(block)));
  });

  test('with its number as an integer is the same block', () => {
    const { number: _, ...rest } = block as { number: string };
    expect((read({ number: 20_000_000, ...rest }) as Envelope).key).toBe((read(block) as Envelope).key);
    expect(bodyOf(read({ ...rest, number: 20_000_000 })).number).toBe('20000000');
  });

  test('neighbouring heights share a key, so that they stay in order', () => {
    const key = (number: number) => (read(madeBlock(number)) as Envelope).key;
    expect(key(64)).toBe(key(127));
    expect(key(63)).not.toBe(key(64));
    expect(key(64)).toBe('polkadot/polkadot/1');
  });

  test('amounts that a double cannot hold keep their digits', () => {
    const text = JSON.stringify({
      x: 1,
      ...madeBlock(1, [madeExtrinsic('a.b', { args: { value: 'AMOUNT' } })]),
    });
    const result = read(text.replace('"AMOUNT"', '340282366920938463463374607431768211455'));
    expect((result as Envelope).value.toString()).toContain('340282366920938463463374607431768211455');
  });

  test.each<[string, unknown, string | RegExp]>([
    ['not JSON', '{"number":', 'not JSON'],
    ['text behind the block', '{"x":1} {"y":2}', 'not JSON'],
    ['a list', '[1]', 'not a JSON object'],
    ['a number', '1', 'not a JSON object'],
    ['null', 'null', 'not a JSON object'],
    ['an empty object', {}, 'no block: number: missing'],
    ['no hash', { ...block, hash: undefined }, 'no block: hash: missing'],
    ['a short hash', { x: 1, ...block, hash: '0x12' }, 'no block: hash: not a 32-byte hash'],
    [
      'a hash of other letters',
      { x: 1, ...block, parentHash: hash('0').replace('0x00', '0xzz') },
      /^no block: parentHash: /,
    ],
    ['a number with a fraction', { x: 1, ...block, number: 1.5 }, /^no block: number: /],
    ['a negative number', { x: 1, ...block, number: '-1' }, /^no block: number: not a height of /],
    ['a number of 19 digits', { x: 1, ...block, number: '1'.repeat(19) }, /^no block: number: /],
    ['no extrinsics', { x: 1, ...block, extrinsics: null }, 'no block: extrinsics: not a list'],
    [
      'an extrinsic that is none',
      { x: 1, ...block, extrinsics: [1] },
      'no block: extrinsics.0: not an object',
    ],
    ['a header', { x: 1, ...block, extrinsics: undefined }, 'no block: extrinsics: missing'],
    [
      'a block within an answer',
      { id: 1, result: block },
      'no block: the block is in the field result; extract it with `jq -c .result FILE`',
    ],
    ['an envelope without its schema', { chain: 'polkadot', payload: block }, /^schema: missing; known are /],
    [
      'a method without its pallet',
      { x: 1, ...block, extrinsics: [{ method: 'transfer' }] },
      /^no block: extrinsics\.0\.method: /,
    ],
    [
      'events that are no list',
      { x: 1, ...block, onFinalize: { events: {} } },
      /^no block: onFinalize\.events: /,
    ],
    ['a nesting without end', `{"x":${deep(50_000)},"number":"1"}`, /^no block: hash: |nested too deeply/],
    [
      'arguments nested beyond writing',
      JSON.stringify({ x: 1, ...madeBlock(1, [madeExtrinsic('a.b', { args: { a: 'DEEP' } })]) }).replace(
        '"DEEP"',
        deep(50_000),
      ),
      'nested too deeply',
    ],
  ])('%s is refused with its reason', (_title, document, expected) => {
    const told = reason(read(document));
    if (typeof expected === 'string') expect(told).toBe(expected);
    else expect(told).toMatch(expected);
  });

  test('of no known chain is refused, and told how to name it', () => {
    expect(reason(readLine(lineOf(block), undefined, registry, ORIGIN))).toBe(
      'a bare block needs a chain: name the file after the chain or pass --chain',
    );
  });
});

describe('an envelope', () => {
  test('names its own chain, over the file’s, by its name or an alias', () => {
    for (const chain of ['asset-hub-polkadot', 'statemint', 'Statemint']) {
      expect(bodyOf(read(envelope({ chain })))).toMatchObject({
        relay_chain: 'polkadot',
        chain: 'asset-hub-polkadot',
      });
    }
  });

  test('carries a version of 64 bits, exactly', () => {
    const largest = (2n ** 64n - 1n).toString();
    expect(bodyOf(read(envelope({ version: largest }))).version).toBe(largest);
    const asNumber = JSON.stringify(envelope({ version: 'V' })).replace('"V"', largest);
    expect(bodyOf(read(asNumber)).version).toBe(largest);
    expect(bodyOf(read(envelope({ version: 1_767_225_600_000 }))).version).toBe('1767225600000');
    expect(bodyOf(read(envelope())).version).toBeUndefined();
  });

  test.each([true, 1, '1'])('with is_deleted %j empties a height and needs no block', (is_deleted) => {
    const body = bodyOf(read(envelope({ is_deleted, payload: { number: '7' } })));
    expect(body).toMatchObject({ number: '7', is_deleted: 1 });
    expect(body.payload.extrinsics).toEqual([]);
  });

  test.each([false, 0, '0', undefined])('with is_deleted %j is a block', (is_deleted) => {
    expect(bodyOf(read(envelope({ is_deleted }))).is_deleted).toBeUndefined();
  });

  test.each<[string, object, string | RegExp]>([
    [
      'an unknown schema',
      envelope({ schema: 'block/2' }),
      'schema: unknown "block/2"; known are block/1 and snapshot/1',
    ],
    [
      'a schema that is no text',
      envelope({ schema: 1 }),
      'schema: unknown 1; known are block/1 and snapshot/1',
    ],
    ['no schema but null', envelope({ schema: null }), /^schema: unknown null/],
    ['an endless schema', envelope({ schema: 'x'.repeat(5000) }), /^schema: unknown "x{99}…; known are/],
    ['no chain', envelope({ chain: undefined }), /^chain: /],
    ['an unknown chain', envelope({ chain: 'nowhere' }), 'chain: unknown nowhere'],
    ['an endless chain', envelope({ chain: 'x'.repeat(5000) }), /^chain: unknown x{100}…$/],
    ['a chain of another relay', envelope({ relay_chain: 'kusama' }), 'chain: unknown polkadot of kusama'],
    ['a version that is no number', envelope({ version: 'new' }), 'version: not a decimal string'],
    ['a version with a sign', envelope({ version: '-1' }), 'version: not a decimal string'],
    ['a version with a fraction', envelope({ version: 1.5 }), /^version: /],
    [
      'a version beyond 64 bits',
      envelope({ version: (2n ** 64n).toString() }),
      'version: larger than 64 bits',
    ],
    ['is_deleted that is neither', envelope({ is_deleted: 'yes' }), 'is_deleted: not true, false, 0 or 1'],
    ['no chain', envelope({ chain: undefined }), 'chain: missing'],
    ['no payload', envelope({ payload: undefined }), 'payload: missing'],
    ['a payload that is a text', envelope({ payload: '1' }), 'payload: not an object'],
    ['a tombstone without a height', envelope({ is_deleted: 1, payload: {} }), /^no block: number: /],
    ['a tombstone without payload', envelope({ is_deleted: 1, payload: undefined }), 'payload: missing'],
  ])('with %s is refused with its reason', (_title, document, expected) => {
    const told = reason(read(document));
    if (typeof expected === 'string') expect(told).toBe(expected);
    else expect(told).toMatch(expected);
  });

  test('of any depth is read or refused, never thrown', () => {
    for (const text of [
      `{"schema":${deep(50_000)},"chain":"polkadot"}`,
      `{"schema":"snapshot/1","chain":"polkadot","payload":${deep(50_000)}}`,
      `{"schema":"block/1","chain":"polkadot","payload":${deep(50_000)}}`,
    ]) {
      expect(reason(read(text))).toMatch(/nested too deeply|^no block|^payload: not an object/);
    }
    expect(reason(readEnvelope({ schema: JSON.parse(deep(50_000)) }, registry, ORIGIN))).toBe(
      'nested too deeply',
    );
  });
});

describe('a snapshot', () => {
  test.each([
    ['polkadot', 'statemint', 'polkadot/asset-hub-polkadot'],
    ['kusama', 'polkadot', 'polkadot/polkadot'],
    ['solo', 'solo', 'solo/solo'],
    ['nowhere', 'nowhere', 'chain: unknown nowhere of nowhere'],
    ['solo', 'x'.repeat(101), /^chain: unknown x{100}… of solo$/],
  ])('with a price under %s, %s is at its place', (relay, chain, place) => {
    expect(placeOf(relay, chain)).toEqual(typeof place === 'string' ? place : expect.stringMatching(place));
  });

  test('goes to its own topic under the canonical name of its chain, with where it came from', () => {
    const result = read(snapshot({ chain: 'statemint' })) as Envelope;
    expect([result.topic, result.key]).toEqual(['snapshots', 'polkadot/asset-hub-polkadot/price']);
    expect(bodyOf(result)).toMatchObject({
      relay_chain: 'polkadot',
      chain: 'asset-hub-polkadot',
      origin: ORIGIN,
    });
  });

  test('keeps a price digit by digit', () => {
    const text = JSON.stringify(snapshot()).replace('"usd":1', '"usd":6.123456789012345678901');
    expect((read(text) as Envelope).value.toString()).toContain('6.123456789012345678901');
  });
});

describe('cutting an envelope', () => {
  test('of another producer is not tried: its payload may stand anywhere', () => {
    expect(splitEnvelope(lineOf(envelope()))).toBeNull();
    expect(splitEnvelope(Buffer.from(''))).toBeNull();
  });

  test.each([
    '{"payload_last":true,"payload":{}}',
    '{"payload_last":true,nonsense,"payload":{}}',
    '{"payload_last":true,"relay_chain":"polkadot","chain":"polkadot","number":1,"source":"a","origin":"b","line":1,"payload":{}}',
    '{"payload_last":true,"relay_chain":"polkadot","chain":"polkadot","number":"1) OR (1","source":"a","origin":"b","line":1,"payload":{}}',
    '{"payload_last":true,"relay_chain":"polkadot","chain":{},"number":"1","source":"a","origin":"b","line":1,"payload":{}}',
    '{"payload_last":true,"relay_chain":"polkadot","chain":"polkadot","number":"1","version":"x","source":"a","origin":"b","line":1,"payload":{}}',
  ])('of nobody we know is not taken for our own: %s', (text) => {
    expect(splitEnvelope(Buffer.from(text))).toBeNull();
  });

  test('is not misled by names that look like a payload', () => {
    const origin = { source: 'import', origin: 'x,"payload":{"number":"1"}.ndjson', line: 1 };
    const result = readLine(lineOf(block), polkadot, registry, origin) as Envelope;
    expect(splitEnvelope(result.value)?.head.origin).toBe(origin.origin);
    expect(JSON.parse(String(splitEnvelope(result.value)?.payload))).toEqual(block);
  });
});

describe('other layouts of a block', () => {
  const normal = (document: object) =>
    normaliseBlock(document) as unknown as { payload: Record<string, never> };

  test('a method in one word is a pallet and a method', () => {
    const { payload } = normal({
      ...block,
      extrinsics: [
        { method: 'balances.transfer', args: {}, events: [{ method: 'system.ExtrinsicSuccess', data: [] }] },
      ],
    });
    expect((payload.extrinsics as unknown as object[])[0]).toMatchObject({
      method: { pallet: 'balances', method: 'transfer' },
      events: [{ method: { pallet: 'system', method: 'ExtrinsicSuccess' } }],
    });
  });

  test('named event data become positions in the order of their names’ appearance', () => {
    const event = { method: 'balances.Transfer', data: { from: 'a', to: 'b', amount: '1' } };
    const { payload } = normal({ ...block, onFinalize: { events: [event] } });
    expect((payload.onFinalize as { events: { data: unknown }[] } | undefined)?.events[0]?.data).toEqual([
      'a',
      'b',
      '1',
    ]);
  });

  test('what is left out or null is empty, or left out for the store, which reads it as empty', () => {
    const { number, hash, parentHash } = block as Record<string, unknown>;
    const { payload } = normal({
      number,
      hash,
      parentHash,
      extrinsics: [{ method: 'a.b' }],
      onInitialize: null,
    });
    expect(JSON.parse(JSON.stringify(payload))).toEqual({
      ...{ number, hash, parentHash },
      onInitialize: { events: [] },
      onFinalize: { events: [] },
      extrinsics: [{ method: { pallet: 'a', method: 'b' }, info: {}, events: [] }],
    });
    expect(
      normal({ number, hash, parentHash, extrinsics: [], onFinalize: {}, finalized: false }).payload
        .finalized,
    ).toBe(false);
  });

  test('event data that are missing are none', () => {
    const { payload } = normal({
      ...block,
      onInitialize: { events: [madeEvent('a.B'), { method: 'a.C' }, { method: 'a.D', data: null }] },
    });
    expect(
      (payload.onInitialize as { events: { data: unknown }[] } | undefined)?.events.map(({ data }) => data),
    ).toEqual([[], [], []]);
  });
});
