import { describe, expect, test } from 'vitest';
import { decodeAddress, encodeAddress, keyOf } from '../../../ingest/chains/address.ts';

const ALICE = '0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d';
const ETHEREUM = '0xf24ff3a9cf04c71dbc94d0b566f7a27b94566cac';

describe('an SS58 address', () => {
  test.each([
    ['5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY', 42],
    ['15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5', 0],
    ['HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F', 2],
  ])('%s is the same account under prefix %i', (text, prefix) => {
    expect(decodeAddress(text)).toEqual({ key: ALICE, prefix });
    expect(encodeAddress(ALICE, prefix)).toBe(text);
  });

  test.each([0, 63, 64, 128, 252, 255, 256, 1284, 7391, 10041, 16383])(
    'comes back from prefix %i as it went in',
    (prefix) => {
      expect(decodeAddress(encodeAddress(ALICE, prefix))).toEqual({ key: ALICE, prefix });
    },
  );

  test.each([
    ['with one letter changed', '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQZ'],
    ['cut short', '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKut'],
    ['of letters outside the alphabet', '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKut0O'],
    ['that is empty', ''],
    ['that never ends', '5'.repeat(10_000)],
  ])('%s is none', (_, text) => {
    expect(decodeAddress(text)).toBeNull();
    expect(keyOf(text)).toBeNull();
  });
});

describe('an Ethereum address', () => {
  test('is compared in lowercase and printed alike on every chain', () => {
    const checksummed = '0xf24FF3a9CF04c71Dbc94D0b566f7A27B94566cac';
    expect(decodeAddress(checksummed)).toEqual({ key: ETHEREUM, prefix: null });
    expect(encodeAddress(checksummed, 1284)).toBe(ETHEREUM);
  });

  test.each(['0x', '0xf24f', `${ETHEREUM}00`, '0xg24ff3a9cf04c71dbc94d0b566f7a27b94566cac'])(
    '%s is none',
    (text) => {
      expect(decodeAddress(text)).toBeNull();
      expect(keyOf(text)).toBeNull();
    },
  );
});

describe('an account as blocks give it', () => {
  const text = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';
  test.each([
    ['an address', text, ALICE],
    ['an id', { id: text }, ALICE],
    ['an id of newer runtimes', { Id: text }, ALICE],
    ['a 32-byte address', { address32: ALICE }, ALICE],
    ['a 20-byte address', { address20: ETHEREUM.toUpperCase().replace('0X', '0x') }, ETHEREUM],
    ['a 20-byte account', { accountId20: ETHEREUM }, ETHEREUM],
    ['a hex key', ALICE.toUpperCase().replace('0X', '0x'), ALICE],
    ['an Ethereum key', ETHEREUM, ETHEREUM],
  ])('%s has its key', (_, account, key) => {
    expect(keyOf(account)).toBe(key);
  });

  test.each([
    [{ index: '7' }],
    [{ raw: ALICE }],
    [{}],
    [{ id: text, index: '7' }],
    [null],
    [undefined],
    [7],
    [[text]],
  ])('%j has none', (account) => {
    expect(keyOf(account)).toBeNull();
  });
});

test('a key that is none, and a prefix that is none, are not printed', () => {
  expect(() => encodeAddress('0x1234', 0)).toThrow('0x1234');
  expect(() => encodeAddress(ALICE, -1)).toThrow('-1');
});

test.each([16_384, 29_972, 65_535])(
  'a key is printed as hex where the prefix is %i, too large for SS58',
  (prefix) => {
    expect(encodeAddress(ALICE, prefix)).toBe(ALICE);
  },
);
