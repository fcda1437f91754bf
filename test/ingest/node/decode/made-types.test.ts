import { describe, expect, test } from 'vitest';
import { Cursor } from '../../../../ingest/node/decode/cursor.ts';
import { readRuntime } from '../../../../ingest/node/decode/runtime.ts';
import { addType, changedMetadata, struct, tupleStruct, variants } from './made-metadata.ts';
import { Recording } from './recorded.ts';
import { Referee } from './referee.ts';

/** Types that no recorded runtime has, and bytes of them. */
const CASES: Record<string, { type: number; hex: string }[]> = {};

const bytes = changedMetadata(new Recording('coretime-westend').metadata(), (metadata) => {
  const add = (name: string, type: number, ...values: string[]) => {
    CASES[name] = values.map((hex) => ({ type, hex }));
    return type;
  };
  const primitive = (
    tag: 'bool' | 'u8' | 'u32' | 'u64' | 'u128' | 'u256' | 'i8' | 'i128' | 'i256' | 'str' | 'char',
  ) => addType(metadata, { tag: 'primitive', value: { tag, value: undefined } });
  const [bool, u8, u32, u64, u128, str] = (['bool', 'u8', 'u32', 'u64', 'u128', 'str'] as const).map(
    primitive,
  ) as [number, number, number, number, number, number];
  const list = (type: number) => addType(metadata, { tag: 'sequence', value: type });
  const compactOf = (type: number) => addType(metadata, { tag: 'compact', value: type });
  const option = (type: number) =>
    addType(metadata, variants({ None: [], Some: [type] }), { path: ['Option'], params: [type] });
  const map = (key: number, value: number) => {
    const pair = addType(metadata, { tag: 'tuple', value: [key, value] });
    return addType(metadata, tupleStruct(list(pair)), { path: ['BTreeMap'], params: [key, value] });
  };
  const unit = addType(metadata, { tag: 'tuple', value: [] });

  add('u256', primitive('u256'), 'ff'.repeat(32), '01'.padEnd(64, '0'));
  add('i8', primitive('i8'), 'ff', '7f', '80');
  add('i128', primitive('i128'), 'ff'.repeat(16), `${'00'.repeat(15)}80`, `05${'00'.repeat(15)}`);
  add('i256', primitive('i256'), 'fe'.padEnd(64, 'f'));
  add('char', primitive('char'), '00f60100');
  add(
    'fixed',
    addType(metadata, tupleStruct(primitive('i128')), {
      path: ['sp_arithmetic', 'fixed_point', 'FixedI128'],
    }),
    `${'9c'.padEnd(32, 'f')}`,
  );
  add(
    'u128 around 2^53 and 2^64',
    u128,
    'ffffffffffff1f'.padEnd(32, '0'),
    '00000000000020'.padEnd(32, '0'),
    'ff'.repeat(8).padEnd(32, '0'),
    `${'00'.repeat(8)}01`.padEnd(32, '0'),
  );
  add('text', str, '1422615c0a22', '1ce697a5e69cac20');
  add('option of an option', option(option(bool)), '00', '0100', '010100', '010101');
  add('option of nothing', option(unit), '00', '01');
  add('map by numbers', map(u32, str), '080100000004610200000008c3a9', '00');
  add('map by flags', map(bool, u8), '0800010102');
  add('map by tuples', map(addType(metadata, { tag: 'tuple', value: [u8, bool] }), u8), '04010102');
  add(
    'set',
    addType(metadata, tupleStruct(list(u32)), { path: ['BTreeSet'], params: [u32] }),
    '080100000002000000',
  );
  add(
    'result of nothings',
    addType(metadata, variants({ Ok: [unit], Err: [unit] }), { path: ['Result'], params: [unit, unit] }),
    '00',
    '01',
  );
  add(
    'result',
    addType(metadata, variants({ Ok: [unit], Err: [u8] }), { path: ['Result'], params: [unit, u8] }),
    '00',
    '0107',
  );
  add(
    'range',
    addType(metadata, struct({ start: u32, end: u32 }), { path: ['Range'], params: [u32] }),
    '0100000002000000',
  );
  add(
    'names of a struct',
    addType(metadata, struct({ hash: u8, new: u8, 'r#type': u8, snake_case_1: u8, URLPath: u8, X1: u8 })),
    '010203040506',
  );
  add(
    'names of variants',
    addType(metadata, variants({ X1: [u8], DOT: [u8], NFTOrder: [u8], H256: [u8], __Unused: [] })),
    '0001',
    '0101',
    '0201',
    '0301',
    '04',
  );
  add('variants that hold nothing', addType(metadata, variants({ One: [unit], Two: [] })), '00', '01');
  add(
    'compact of tuple structs',
    compactOf(addType(metadata, tupleStruct(addType(metadata, tupleStruct(u64))))),
    '04',
    '0b00407a10f35a',
    '13ffffffffffffffff',
  );
  add('bytes in tuple structs', list(addType(metadata, tupleStruct(u8))), '0c010203');
  add(
    'array of bytes in tuple structs',
    addType(metadata, { tag: 'array', value: { len: 3, type: addType(metadata, tupleStruct(u8)) } }),
    '010203',
  );
  add('very long list', list(u32), `a10f${'01000000'.repeat(1000)}`);
  add(
    'large unsigned',
    addType(metadata, tupleStruct(addType(metadata, { tag: 'array', value: { len: 8, type: u64 } })), {
      path: ['primitive_types', 'U256'],
    }),
    '01'.padEnd(64, '0'),
  );
  add(
    'weight of one field',
    addType(metadata, struct({ ref_time: u64 }), { path: ['sp_weights', 'weight_v2', 'Weight'] }),
    '0100000000000000',
  );
  add(
    'account of 20 bytes',
    addType(metadata, tupleStruct(addType(metadata, { tag: 'array', value: { len: 20, type: u8 } })), {
      path: ['account', 'AccountId20'],
    }),
    'd8da6bf26964af9d7eed9e03e53415d37aa96045',
  );
  const flags = addType(metadata, variants({ A: [], B: [], C: [] }));
  const flagNames = metadata.lookup[flags]?.def;
  if (flagNames?.tag === 'variant') for (const variant of flagNames.value) variant.index = 1 << variant.index;
  add(
    'flags',
    addType(metadata, tupleStruct(u64), { path: ['pallet_identity', 'types', 'BitFlags'], params: [flags] }),
    '0500000000000000',
    '0000000000000000',
  );
  const tree = addType(metadata, { tag: 'tuple', value: [] }, { path: ['made', 'Tree'] });
  const entry = metadata.lookup[tree];
  if (entry) entry.def = struct({ leaf: u8, inside: list(tree) });
  add('a type inside itself', tree, `0108${'0200'}${'0304'}${'0400'}`);
});
const runtime = readRuntime(bytes);
const referee = new Referee(bytes, runtime.ss58Prefix);

describe('made types', () => {
  test.each(Object.entries(CASES))('%s: as the referee prints it', (_name, values) => {
    for (const { type, hex } of values) {
      const value = Buffer.from(hex, 'hex');
      const text = new Cursor(value).readAll(runtime.types.reader(type));
      expect(JSON.parse(text)).toEqual(referee.value(type, value));
    }
  });
});
