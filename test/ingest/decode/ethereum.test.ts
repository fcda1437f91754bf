import { keccak_256 } from '@noble/hashes/sha3.js';
import { addr, Transaction } from 'micro-eth-signer';
import { describe, expect, test } from 'vitest';
import { decodeBlock } from '../../../ingest/decode/calls.ts';
import { readEthereumTransaction } from '../../../ingest/decode/ethereum.ts';

const KEY = `0x${'46'.repeat(32)}`;
const SENDER = addr.fromPrivateKey(KEY).toLowerCase();
const TO = '0x3535353535353535353535353535353535353535';

const common = {
  to: TO,
  value: 10n ** 18n,
  nonce: 9n,
  gasLimit: 100_000n,
  data: '0xa9059cbb0011',
  chainId: 420_420_419n,
};
const typed = {
  legacy: { ...common, gasPrice: 20n },
  eip2930: { ...common, gasPrice: 20n, accessList: [{ address: TO, storageKeys: [`0x${'01'.repeat(32)}`] }] },
  eip1559: { ...common, maxFeePerGas: 20n, maxPriorityFeePerGas: 1n, accessList: [] },
} as const;
type Kind = keyof typeof typed;

function signed(type: Kind, more: object = {}): string {
  const raw = { type, ...typed[type], ...more } as Parameters<typeof Transaction.prepare>[0];
  return Transaction.prepare(raw, false).signBy(KEY).toHex();
}

/** The worked example of EIP-155, and the same transfer as it was signed before that. */
const EIP155 =
  '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83';

const block = (payload: unknown, success = true) => ({
  extrinsics: [
    {
      method: { pallet: 'revive', method: 'ethTransact' },
      signature: null,
      args: { payload },
      success,
      events: [],
    },
  ],
});

describe('an Ethereum transaction in a block', () => {
  test.each(Object.keys(typed) as Kind[])('of type %s names its sender, receiver and hash', (type) => {
    const payload = signed(type);
    const hash = `0x${Buffer.from(keccak_256(Buffer.from(payload.slice(2), 'hex'))).toString('hex')}`;
    expect(decodeBlock(block(payload)).ethereum).toEqual([
      {
        extrinsic_index: 0,
        from: SENDER,
        to: TO,
        hash,
        value: '1000000000000000000',
        gas_limit: '100000',
        gas_price: '20',
        input_size: 6,
        selector: '0xa9059cbb',
      },
    ]);
  });

  test.each(Object.keys(typed) as Kind[])('of type %s without a receiver creates a contract', (type) => {
    expect(readEthereumTransaction(signed(type, { to: '0x', data: '0x60' }))).toMatchObject({
      from: SENDER,
      to: null,
      input_size: 1,
      selector: null,
    });
  });

  test('is read as the worked example of replay protection says', () => {
    expect(readEthereumTransaction(EIP155)).toMatchObject({
      from: '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f',
      hash: '0x33469b22e9f636356c4160a87eb19df52b7412e8eac32a4a55ffe88ea8350788',
      gas_price: '20000000000',
    });
  });

  test('without replay protection is read from what was signed then', () => {
    expect(readEthereumTransaction(signed('legacy', { chainId: undefined }))).toMatchObject({ from: SENDER });
  });

  test('counts with its sender when it failed, too', () => {
    expect(decodeBlock(block(signed('eip1559'), false)).ethereum).toMatchObject([{ from: SENDER }]);
  });

  const legacy = signed('legacy');
  test.each([
    ['no payload', undefined],
    ['a payload that is no hex', 'hello'],
    ['an empty payload', '0x'],
    ['half a byte', '0x123'],
    ['a transaction of a type not known', `0x05${legacy.slice(2)}`],
    ['a transaction cut short', legacy.slice(0, -2)],
    ['bytes behind the transaction', `${legacy}00`],
    ['too few fields', '0xc3010203'],
    ['a list in place of a field', `0xc9${'c0'.repeat(9)}`],
    ['a signature of zeros', '0xc9808080808080' + '1b8080'],
  ])('with %s is refused with its reason', (_, payload) => {
    const { ethereum, refused } = decodeBlock(block(payload));
    expect(ethereum).toEqual([]);
    expect(refused).toEqual([
      {
        extrinsic_index: 0,
        reason: expect.stringMatching(/\w/),
        raw: expect.stringContaining('ethTransact'),
      },
    ]);
  });
});
