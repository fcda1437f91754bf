import { describe, expect, test } from 'vitest';
import { decodeBlock, type RawBlock } from '../../../../ingest/node/decode/block.ts';
import { checkBlock } from '../../../../ingest/node/decode/check.ts';
import { readRuntime } from '../../../../ingest/node/decode/runtime.ts';
import { compact, orderedTrieRoot } from '../../../../ingest/node/decode/trie-root.ts';
import { changedMetadata } from './made-metadata.ts';
import { oldMetadata } from './mainnets.ts';
import { Recording, trueBlocks } from './recorded.ts';

const recording = new Recording('paseo');
const runtime = readRuntime(recording.metadata());
const HEIGHT = 1_036_787;
const block = recording.block(HEIGHT);
const hex = (...parts: Buffer[]) => `0x${Buffer.concat(parts).toString('hex')}`;
const withLength = (bytes: Buffer) => Buffer.concat([compact(bytes.length), bytes]);

// Indices in the recorded runtime.
const REMARK = '0000';
const BATCH = '1a00';
const SUCCESS_FIELDS = '000000' + '00' + '00';

const success = (index: number) =>
  `00${hex(Buffer.from(Uint32Array.of(index).buffer)).slice(2)}0000${SUCCESS_FIELDS.slice(2)}00`;
const eventsOf = (...records: string[]) => `0x${compact(records.length).toString('hex')}${records.join('')}`;
const bare = (call: string) => hex(withLength(Buffer.from(`04${call}`, 'hex')));

function decoded(change: Partial<RawBlock>) {
  const { texts, undecodedCalls } = decodeBlock(runtime, { ...block, ...change });
  return { undecodedCalls, ...JSON.parse(texts.join('')) };
}
/** A block of calls without senders that all succeeded. */
const ofCalls = (...calls: string[]) =>
  decoded({ extrinsics: calls.map(bare), events: eventsOf(...calls.map((_, index) => success(index))) });

describe('calls', () => {
  const remark = `${REMARK}08abcd`;
  const unknown = { pallet: 'unknown', method: 'unknown' };

  test.each([
    ['of a pallet that is not there', 'fe0001'],
    ['of a call that is not there', '00fe01'],
    ['cut short', `${REMARK}0cabcd`],
    ['with bytes left over', `${remark}00`],
    ['nested 500 deep', `${`${BATCH}04`.repeat(500)}${remark}`],
  ])('%s are kept as bytes, and the rest of the block is exact', (_name, call) => {
    const { extrinsics, undecodedCalls } = ofCalls(remark, call, remark);
    expect(undecodedCalls).toBe(1);
    expect(extrinsics[1]).toMatchObject({ method: unknown, args: { bytes: `0x${call}` }, success: true });
    for (const index of [0, 2]) expect(extrinsics[index].args).toEqual({ remark: '0xabcd' });
  });

  test('nested as deep as a runtime allows are read', () => {
    const { extrinsics, undecodedCalls } = ofCalls(`${`${BATCH}04`.repeat(250)}${remark}`);
    expect(undecodedCalls).toBe(0);
    expect(JSON.stringify(extrinsics[0].args).match(/"batch"/g)).toHaveLength(249);
  });
});

describe('a block', () => {
  test.each([
    ['an extrinsic without an outcome', { events: '0x00' }, /extrinsic 0: its events have 0 outcomes/],
    ['no events', { events: null }, /extrinsic 0: its events have 0 outcomes/],
    [
      'two outcomes',
      { extrinsics: [bare(`${REMARK}00`)], events: eventsOf(success(0), success(0)) },
      /its events have 2 outcomes/,
    ],
    ['events cut short', { events: block.events?.slice(0, -2) ?? null }, /its events: truncated/],
    ['events and more bytes', { events: `${block.events}00` }, /its events: 1 bytes left over/],
    [
      'an event of an extrinsic far away',
      { events: eventsOf(success(99)) },
      /extrinsic 99, which is not in the block/,
    ],
    ['an event that is not there', { events: '0x0401fefe00' }, /no events of a pallet 254/],
    [
      'an extrinsic of another length',
      { extrinsics: ['0x10040000'], events: eventsOf(success(0)) },
      /its length is not 4/,
    ],
    [
      'an extrinsic of an unknown format',
      { extrinsics: ['0x08ff00'], events: eventsOf(success(0)) },
      /its format is 255/,
    ],
    ['an extrinsic that is no hex', { extrinsics: ['0x0'], events: eventsOf(success(0)) }, /not hex/],
    [
      'a log of an unknown kind',
      { header: { ...block.header, digest: { logs: ['0xff'] } } },
      /its header: a log of kind 255/,
    ],
    ['a number that is none', { header: { ...block.header, number: 'x' } }, /x is not a block number/],
  ] as [string, Partial<RawBlock>, RegExp][])('with %s is refused', (_name, change, reason) => {
    expect(() => decoded({ ...block, ...change })).toThrow(reason);
  });

  test('keeps events of hooks behind the last extrinsic, before those of its end', () => {
    const { onFinalize } = decoded({
      extrinsics: [bare(`${REMARK}00`)],
      events: eventsOf(success(0), success(1), `01${success(0).slice(10)}`),
    });
    expect(onFinalize.events).toHaveLength(2);
  });

  test('has logs of every kind, and no author if its validators are fewer', () => {
    const logs = [
      '0x0008abcd',
      `0x02${'11'.repeat(32)}`,
      '0x0446524e4b0401',
      '0x05424142450401',
      '0x08',
      `0x0104${'22'.repeat(32)}`,
      `0x030700000000000000${'33'.repeat(64)}`,
      '0x0700010400000002000000',
    ];
    const made = decoded({ header: { ...block.header, digest: { logs } } });
    expect(made.logs).toEqual([
      { type: 'Other', index: '0', value: '0xabcd' },
      { type: 'ChangesTrieRoot', index: '2', value: `0x${'11'.repeat(32)}` },
      { type: 'Consensus', index: '4', value: ['0x46524e4b', '0x01'] },
      { type: 'Seal', index: '5', value: ['0x42414245', '0x01'] },
      { type: 'RuntimeEnvironmentUpdated', index: '8', value: null },
      { type: 'AuthoritiesChange', index: '1', value: [expect.stringMatching(/^5/)] },
      { type: 'SealV0', index: '3', value: ['7', `0x${'33'.repeat(64)}`] },
      {
        type: 'ChangesTrieSignal',
        index: '7',
        value: { newConfiguration: { digestInterval: '4', digestLevels: '2' } },
      },
    ]);
    expect(made).not.toHaveProperty('authorId');
    expect(decoded({ validators: '0x00' })).not.toHaveProperty('authorId');
    expect(decoded({ validators: null })).not.toHaveProperty('authorId');
  });

  test('has the author that its log names', () => {
    const named = (log: string) => decoded({ header: { ...block.header, digest: { logs: [log] } } });
    expect(named(`0x066e6d627380${'44'.repeat(32)}`).authorId).toMatch(/^5/);
    expect(named(`0x06706f775f0c${'44'.repeat(3)}`)).not.toHaveProperty('authorId');
  });

  test('has an author as the list of validators prints, in which an account may be plain bytes', () => {
    const bytes = changedMetadata(recording.metadata(), ({ lookup, pallets }) => {
      const session = pallets.find(({ name }) => name === 'Session');
      const type = session?.storage?.items.find(({ name }) => name === 'Validators')?.type;
      const list = type?.tag === 'plain' ? lookup[type.value] : undefined;
      const hash = lookup.find(({ path }) => path.join('::') === 'primitive_types::H256');
      if (list && hash) list.def = { tag: 'sequence', value: hash.id };
    });
    const validators = `0x04${'ab'.repeat(32)}`;
    const header = { ...block.header, digest: { logs: [`0x066175726120${'00'.repeat(8)}`] } };
    const { texts } = decodeBlock(readRuntime(bytes), { ...block, validators, header });
    expect(JSON.parse(texts.join('')).authorId).toBe(`0x${'ab'.repeat(32)}`);
  });
});

describe('a check', () => {
  const [good] = [...trueBlocks(runtime, [block]).values()] as [RawBlock];

  test('finds a header, a parent or extrinsics that are others', () => {
    expect(checkBlock(runtime, good, good.header.parentHash)).toBe(null);
    const other = `0x${'77'.repeat(32)}`;
    expect(checkBlock(runtime, { ...good, hash: other })).toMatch(/its header hashes to/);
    expect(checkBlock(runtime, good, other)).toMatch(/its parent is/);
    expect(checkBlock(runtime, { ...good, extrinsics: good.extrinsics.slice(1) })).toMatch(
      /its extrinsics hash to/,
    );
    expect(checkBlock(runtime, { ...good, extrinsics: ['0x0'] })).toMatch(/not hex/);
  });

  // The values and roots are those of conformance tests of Polkadot hosts.
  test('computes the root of a trie as nodes do', () => {
    const root = (texts: string[], version: 0 | 1) =>
      Buffer.from(
        orderedTrieRoot(
          texts.map((text) => Buffer.from(text)),
          version,
        ),
      ).toString('hex');
    expect(root([], 0)).toBe('03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314');
    const texts = ['static', 'even-keeled', 'Future-proofed'];
    expect(root(texts, 0)).toBe('d847b86d0219a384d11458e829e9f4f4cce7e3cc2e6dcd0e8a6ad6f12c64a737');
    expect(root(texts, 1)).toBe(root(texts, 0));
    expect(root(['x'.repeat(32)], 1)).toBe(root(['x'.repeat(32)], 0));
    expect(root(['x'.repeat(33)], 1)).not.toBe(root(['x'.repeat(33)], 0));
  });
});

describe('metadata', () => {
  test('of an old version is refused with what to do', () => {
    expect(() => readRuntime(oldMetadata())).toThrow(/version 13 .* from an archive or a Sidecar/);
  });

  test('that is none, or is cut short, is refused', () => {
    const metadata = recording.metadata();
    expect(() => readRuntime(Buffer.from('hello'))).toThrow(/other than metadata/);
    expect(() => readRuntime(metadata.subarray(0, 5000))).toThrow(/cannot be read: it is truncated/);
  });

  test('tells the prefix of addresses', () => {
    const bytes = changedMetadata(recording.metadata(), ({ pallets }) => {
      const prefix = pallets[0]?.constants.find(({ name }) => name === 'SS58Prefix');
      if (prefix) prefix.value = '0x5405';
    });
    expect(readRuntime(bytes).ss58Prefix).toBe(0x554);
  });
});
