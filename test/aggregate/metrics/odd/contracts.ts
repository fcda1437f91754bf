import { parseAccount } from '../../../reference/accounts.ts';
import { h160Of } from '../../../reference/derived.ts';
import type { InputLine } from '../../../reference/input.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
import { payload } from '../contracts/chain.ts';
import { ALICE, BOB, Writer } from '../governance/story.ts';

// Contract calls of the revive pallet, beside calls of the pallet that call no contract.

const contract = (n: number) => `0x${n.toString(16).padStart(2, '0').repeat(20)}`;
const [C1, C2, C3] = [1, 2, 3].map(contract) as [string, string, string];
const OF_ALICE = h160Of(parseAccount(ALICE) as string);
const OF_BOB = h160Of(parseAccount(BOB) as string);
const created = (deployer: string, address: string): ShapedEvent => [
  'revive.Instantiated',
  deployer,
  address,
];
const emitted = (address: string): ShapedEvent => ['revive.ContractEmitted', address, '0x', []];
const reverted: ShapedEvent = ['revive.EthExtrinsicRevert', { module: { index: '60', error: '0x05' } }];
const succeeded: ShapedEvent = ['system.ExtrinsicSuccess', { weight: { refTime: '1', proofSize: '2' } }];
const weight = (refTime: unknown) => ({ refTime, proofSize: '9' });

/** The extrinsic of an Ethereum transaction, with all gas fields. */
const ethCall = (dest: string, more: object = {}) => ({
  dest,
  value: '1500000000000000000',
  weight_limit: weight('18446744073709551615'),
  eth_gas_limit: '21000',
  data: '0xa9059cbb0011',
  transaction_encoded: payload(dest, '0x00'),
  effective_gas_price: '12',
  encoded_len: '7',
  ...more,
});
const of = (
  call: string,
  args: object,
  events: readonly ShapedEvent[],
  more: object = {},
): ShapedExtrinsic => ({
  call: `revive.${call}`,
  args,
  signer: { id: ALICE },
  events: [...events, succeeded],
  ...more,
});
const batch = (calls: object[], events: readonly ShapedEvent[]): ShapedExtrinsic => ({
  call: 'utility.batchAll',
  args: { calls },
  signer: BOB,
  events: [...events, ['utility.BatchCompleted'], succeeded],
});

const hub = new Writer('statemint', 100);
hub.extrinsics(
  '2025-04-30T23:59:59.999Z',
  of('instantiate', { value: '0x10', gas_limit: '77', code_hash: `0x${'AA'.repeat(32)}`, data: '0x' }, [
    created(OF_ALICE, C1),
  ]),
  // Mapping an account and uploading code call no contract.
  batch(
    [
      shapeCall('revive.mapAccount'),
      shapeCall('revive.uploadCode', { code: '0x00', storage_deposit_limit: '5' }),
      shapeCall('revive.instantiateWithCode', {
        value: '7',
        weight_limit: weight(3),
        code: '0x00',
        data: '0x01020304',
      }),
    ],
    [created(C2, C3), created(OF_BOB, C2), emitted(C1)],
  ),
);
hub.extrinsics(
  '2025-05-01T00:00:00.000Z',
  of('ethCall', ethCall(C1), [emitted(C1), emitted(C1)]),
  of(
    'ethCall',
    ethCall(C1, { weight_limit: undefined, gas_limit: weight('5'), effective_gas_price: '0x0c' }),
    [reverted],
  ),
  of('ethCall', ethCall(contract(0xdd)), []),
  of('ethCall', ethCall(C2, { value: '1.5', data: '0x0102', transaction_encoded: '0xzz' }), [emitted(C3)]),
  batch(
    [
      shapeCall('revive.ethCall', ethCall(C2)),
      shapeCall('revive.call', { dest: C1, value: '-3', data: null }),
    ],
    [],
  ),
  of(
    'ethInstantiateWithCode',
    { value: '2000000000000000000', weight_limit: weight('6'), code: '0x', data: '0x' },
    [created(OF_ALICE, contract(4))],
  ),
  of('call', { dest: C1, value: '3', weight_limit: weight('8'), data: '0x' }, [
    reverted,
    ['revive.Instantiated', 'nobody', C1],
  ]),
);
hub.extrinsics(
  '2025-05-02T00:00:00.000Z',
  of('mapAccount', {}, [], { success: false }),
  of('setCode', { dest: C1, code_hash: `0x${'bb'.repeat(32)}` }, [emitted(C1)]),
  of('call', { dest: C2, value: '3', data: '0x' }, [succeeded]),
  of('instantiateWithCode', { value: '3', data: '0x' }, [], { success: false }),
  // A later type of Ethereum transaction.
  { call: 'revive.ethTransact', args: { payload: '0x03c0' }, events: [emitted(C1), succeeded] },
  {
    call: 'revive.ethTransact',
    args: { payload: 'nothing' },
    events: [emitted(C2), ['revive.ContractEmitted', C2, '0x'], succeeded],
  },
);
hub.opening('2025-05-03T00:00:00.000Z', created(C1, contract(5)), emitted(C1));

/** Another relay chain, with other decimals and another address prefix. */
const kusama = new Writer('statemine', 7);
kusama.extrinsics(
  '2025-05-01T12:00:00.000Z',
  of(
    'instantiate',
    { value: '1', weight_limit: weight('1'), code_hash: `0x${'cc'.repeat(32)}`, data: '0x' },
    [created(OF_ALICE, C1)],
  ),
  { call: 'revive.ethTransact', args: { payload: payload(C1, '0x') }, events: [succeeded] },
);

export const contracts: readonly InputLine[] = [...hub.lines, ...kusama.lines];
