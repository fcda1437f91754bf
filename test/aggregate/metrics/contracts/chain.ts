import { addr, Transaction } from 'micro-eth-signer';
import type { InputLine } from '../../../reference/input.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
import { ALICE, BOB, BOB_GENERIC, blocksOf, feePaid } from '../shapes/shape.ts';
import { stated } from '../staking/snapshot-rows.ts';

// Blocks of an asset hub with every way to create and to call contracts.

const SECRET = `0x${'46'.repeat(32)}`;
/** The signer of the Ethereum transactions. */
export const SENDER = addr.fromPrivateKey(SECRET).toLowerCase();
/** The H160 address of Alice: the last 20 bytes of the hash of her key. */
export const ALICE_H160 = '0x9621dde636de098b43efb0fa9b61facfe328f99d';

export const contract = (n: number) => `0x${String(n).repeat(40)}`;
export const [C1, C2, C3, C4, C5, C6, C9] = [1, 2, 3, 4, 5, 6, 9].map(contract) as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
];
export const NOBODY = `0x${'ab'.repeat(20)}`;
export const code = (n: number) => `0x${String(n).repeat(64)}`; // biome-ignore format: short

/** A signed Ethereum transaction, as in the payload of its extrinsic. */
export function payload(to: string, data: string, value = 10n ** 18n): string {
  const fields = { to, data, value, nonce: 9n, gasLimit: 100_000n, chainId: 420_420_419n, maxFeePerGas: 20n };
  const raw = { ...fields, type: 'eip1559', maxPriorityFeePerGas: 1n, accessList: [] };
  return Transaction.prepare(raw as Parameters<typeof Transaction.prepare>[0], false)
    .signBy(SECRET)
    .toHex();
}

export const TRANSFER = payload(C4, '0xa9059cbb0011');

const succeeds: ShapedEvent = [
  'system.ExtrinsicSuccess',
  { weight: { refTime: '1000', proofSize: '20' }, class: 'Normal', paysFee: 'Yes' },
];
const emits = (address: string): ShapedEvent => ['revive.ContractEmitted', address, '0x', []];
const creates = (deployer: string, address: string): ShapedEvent => [
  'revive.Instantiated',
  deployer,
  address,
];
const item: ShapedEvent = ['utility.ItemCompleted'];
const done: ShapedEvent = ['utility.BatchCompleted'];

const callOf = (dest: string, data = '0x') => ({
  dest,
  value: '20000000000',
  gas_limit: { refTime: '5000', proofSize: '9' },
  storage_deposit_limit: '77',
  data,
});
const ethereum = (bytes: string, ...events: ShapedEvent[]): ShapedExtrinsic => ({
  call: 'revive.ethTransact',
  args: { payload: bytes },
  events: [...events, succeeds],
});

const creations: ShapedExtrinsic[] = [
  {
    call: 'revive.instantiate',
    signer: ALICE,
    hash: `0x${'A1'.repeat(32)}`,
    args: { ...callOf(''), code_hash: code(1), data: '0x01020304ff' },
    events: [creates(ALICE_H160, C1), emits(C1), creates(C1, C2), emits(C1), feePaid(ALICE, '123'), succeeds],
  },
  {
    call: 'proxy.proxy',
    signer: BOB,
    args: { real: ALICE, call: shapeCall('revive.instantiateWithCode', { ...callOf(''), code: `0x${'00'.repeat(500)}` }) },
    events: [creates(ALICE_H160, C3), ['proxy.ProxyExecuted', { ok: null }], succeeds],
  },
  ethereum(payload('0x', '0x60806040'), creates(SENDER, C4)),
  {
    call: 'utility.batchAll',
    signer: ALICE,
    args: { calls: [callOf(C1, '0xaabbccdd'), callOf(C1, '0x'), callOf(C5, '0xaabbcc')].map((args) => shapeCall('revive.call', args)) },
    events: [item, item, emits(C1), item, done, succeeds],
  },
]; // biome-ignore format: one call, one block of lines

const calls: ShapedExtrinsic[] = [
  ethereum(TRANSFER, emits(C1)),
  ethereum(payload(NOBODY, '0x')),
  ethereum(payload(C9, '0x010203')),
  ethereum(TRANSFER, ['revive.EthExtrinsicRevert', { module: { index: '60', error: '0x05000000' } }]),
  {
    call: 'revive.call',
    signer: ALICE,
    args: { ...callOf(C1.toUpperCase().replace('X', 'x')), weight_limit: { ref_time: 7, proof_size: 1 }, gas_limit: undefined },
    success: false,
    events: [['system.ExtrinsicFailed', { badOrigin: null }, { weight: '333', class: 'Normal', paysFee: 'Yes' }]],
  },
  { call: 'utility.batchAll', signer: ALICE, args: { calls: [shapeCall('revive.call', callOf(C1))] }, success: false },
  { call: 'revive.mapAccount', signer: ALICE, events: [succeeds] },
]; // biome-ignore format: one call, one block of lines

const ethCall: ShapedExtrinsic = {
  call: 'revive.ethCall',
  signer: ALICE,
  args: {
    dest: C4,
    value: '2000000000000000000',
    weight_limit: { refTime: '18446744073709551615', proofSize: '1' },
    eth_gas_limit: '100',
    data: '0x',
    transaction_encoded: TRANSFER,
    effective_gas_price: '9',
    encoded_len: '1',
  },
  events: [succeeds],
};

/** Height 103 is missing, and so is 108, which lies between a block without a time and one with. */
export const BLOCKS: InputLine[] = blocksOf('statemint', [
  { number: 100, time: '2026-05-01T10:00:00Z', extrinsics: creations },
  { number: 101, time: '2026-05-01T10:00:06Z', extrinsics: calls },
  {
    number: 102,
    time: '2026-05-02T10:00:00Z',
    opening: [creates(contract(7), C6), ['revive.Instantiated', C6]],
  },
  { number: 104, time: '2026-05-04T10:00:00Z' },
  { number: 105, time: '2026-05-05T10:00:00Z', extrinsics: [ethCall] },
  { number: 106, time: '2026-05-06T10:00:00Z' },
  { number: 107 },
  { number: 109, time: '2026-05-09T10:00:00Z' },
]);

export const FILLED: InputLine[] = blocksOf('statemint', [{ number: 103, time: '2026-05-03T10:00:00Z' }]);

/** The same blocks again, now empty. */
export const REPLACED: InputLine[] = blocksOf('statemint', [
  { number: 102, time: '2026-05-02T10:00:00Z' },
  { number: 105, time: '2026-05-05T10:00:00Z' },
]);

const codes = (
  chain: string,
  as_of: string,
  listed: readonly object[],
  contracts: readonly [string, string][],
) =>
  stated('contract_code', chain, as_of, {
    code: listed,
    contracts: contracts.map(([contract_address, code_hash]) => ({
      contract_address,
      code_hash,
      storage_bytes: 128,
      storage_items: 2,
    })),
  });
const codeOf = (hash: string, owner: string, code_type: string) => ({
  code_hash: hash,
  owner,
  code_type,
  code_len: 4096,
  deposit: '20000000001',
  refcount: 3,
  behaviour_version: 1,
});

/** The newest snapshot has neither C4 nor the code of C1. */
export const SNAPSHOTS: InputLine[] = [
  codes('statemint', '2026-05-02T00:00:00.000Z', [codeOf(code(4), ALICE, 'PVM')], [[C4, code(4)], [C3, code(8)]]),
  codes('statemint', '2026-05-03T01:00:00.000Z', [codeOf(code(9), BOB_GENERIC, 'EVM'), codeOf(code(3), ALICE, 'PVM')], [[C9, code(9)], [C3, code(3)], [C1, code(7)]]),
  codes('westmint', '2026-05-03T00:00:00.000Z', [codeOf(code(1), ALICE, 'pvm')], [[C5, code(1)]]),
]; // biome-ignore format: a table of snapshots
