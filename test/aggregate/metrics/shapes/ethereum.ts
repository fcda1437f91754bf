import { Transaction } from 'micro-eth-signer';
import type { InputLine } from '../../../reference/input.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../../../reference/shaped.ts';
import { ALICE, blocksOf, EVE_H160, feePaid, MALLORY_H160, remark } from './shape.ts';

const executed = (from: string, to: string, exit: unknown, ...more: unknown[]): ShapedEvent => [
  'ethereum.Executed',
  from,
  to,
  `0x${'1'.repeat(64)}`,
  exit,
  ...more,
];
const transact = (...events: ShapedEvent[]): ShapedExtrinsic => ({
  call: 'ethereum.transact',
  paysFee: false,
  events,
});

/** Transactions of a Frontier chain: the result and the sender are those of the EVM event. */
export const frontier: InputLine[] = blocksOf('moonbeam', [
  {
    number: 1,
    time: '2026-03-01T00:00:30Z',
    extrinsics: [
      transact(executed(EVE_H160, MALLORY_H160, { succeed: 'Returned' })),
      transact(executed(EVE_H160, MALLORY_H160, { revert: 'Reverted' }, '0x')),
      transact(executed(MALLORY_H160, EVE_H160, { error: { outOfGas: null } }, '0x')),
      transact(executed(MALLORY_H160, EVE_H160, 'Succeed')),
      { ...transact(), success: false },
      transact(executed(EVE_H160, MALLORY_H160, { succeed: 'Stopped' }, '0x', 'too', 'many')),
      {
        ...transact(executed(EVE_H160, MALLORY_H160, { succeed: 'Stopped' })),
        outcome: false,
      },
      remark(EVE_H160, { events: [feePaid(EVE_H160, 21_000_000_000_000)] }),
      // No runtime takes a signed one; it must not keep the others of its block from being loaded.
      {
        ...transact(executed(EVE_H160, MALLORY_H160, { succeed: 'Stopped' })),
        signer: EVE_H160,
        paysFee: true,
      },
    ],
    opening: [
      ['balances.Transfer', EVE_H160, MALLORY_H160, 5],
      ['tokens.Transfer', { token: 'X' }, EVE_H160, MALLORY_H160, '5'],
    ],
  },
]);

const payload = (key: string, to: string) =>
  Transaction.prepare({ type: 'eip1559', to, value: 1n, nonce: 0n, maxFeePerGas: 10n ** 10n } as never)
    .signBy(key.repeat(32))
    .toHex();
const ethTransact = (bytes: string, fields: Partial<ShapedExtrinsic> = {}): ShapedExtrinsic => ({
  call: 'revive.ethTransact',
  args: { payload: bytes },
  ...fields,
});

/** Transactions of an asset hub: the sender is only in the signature. */
export const revive: InputLine[] = blocksOf('assethub', [
  {
    number: 1,
    time: '2026-03-01T00:00:30Z',
    extrinsics: [
      ethTransact(payload('11', EVE_H160)),
      ethTransact(payload('11', MALLORY_H160), { events: [['revive.EthExtrinsicRevert', {}]] }),
      ethTransact(payload('22', EVE_H160), { events: [['revive.EthExtrinsicRevert', {}]] }),
      ethTransact(payload('33', EVE_H160), { success: false }),
      ethTransact('0x02ff'),
      remark(ALICE, { events: [feePaid(ALICE, '5')] }),
    ],
  },
]);
