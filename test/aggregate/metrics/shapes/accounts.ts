import type { InputLine } from '../../../reference/input.ts';
import {
  ALICE,
  ALICE_GENERIC,
  ALICE_KEY,
  BOB,
  BOB_GENERIC,
  blocksOf,
  CHARLIE_GENERIC,
  EVE_H160,
  remark,
} from './shape.ts';

/** Accounts that are killed and created again, in a block, in a day, over months and on other chains of the relay. */
export const lives: InputLine[] = [
  ...blocksOf('polkadot', [
    { number: 1, time: '2025-11-30T23:59:59.999Z', opening: [['system.NewAccount', ALICE]] },
    { number: 2, time: '2025-12-01T00:00:00.000Z', opening: [['system.NewAccount', BOB]] },
    {
      number: 3,
      time: '2025-12-31T23:59:59.999Z',
      opening: [
        ['system.KilledAccount', ALICE_GENERIC],
        ['system.NewAccount', ALICE],
        ['system.KilledAccount', ALICE],
      ],
    },
    { number: 4, time: '2026-02-01T00:00:00.000Z', opening: [['system.KilledAccount', BOB]] },
    { number: 5, time: '2026-02-01T00:00:06.000Z', opening: [['system.NewAccount', BOB_GENERIC]] },
    { number: 6, time: '2026-03-15T00:00:00.000Z', opening: [['system.KilledAccount', BOB]] },
    { number: 7, time: '2026-05-15T00:00:00.000Z', opening: [['system.NewAccount', ALICE]] },
    // Killed without a known creation.
    { number: 8, time: '2026-05-16T00:00:00.000Z', opening: [['system.KilledAccount', CHARLIE_GENERIC]] },
  ]),
  ...blocksOf('statemint', [
    // Without later activity: the account still exists in later months.
    { number: 1, time: '2025-12-15T00:00:00.000Z', opening: [['system.NewAccount', ALICE]] },
  ]),
  ...blocksOf('moonbeam', [
    {
      number: 1,
      time: '2026-01-15T00:00:00.000Z',
      opening: [['system.NewAccount', EVE_H160]],
      // Such accounts have no address on a chain of Ethereum accounts.
      extrinsics: [remark(ALICE)],
    },
    { number: 2, time: '2026-01-17T00:00:00.000Z', extrinsics: [remark(EVE_H160)] },
  ]),
  ...blocksOf('polymesh', [
    { number: 1, time: '2026-01-15T00:00:00.000Z', opening: [['system.NewAccount', ALICE_GENERIC]] },
    { number: 2, time: '2026-02-15T00:00:00.000Z', extrinsics: [remark(ALICE_GENERIC)] },
  ]),
];

/** One account on several chains counts once for their relay chain, and separately for other relay chains and solo chains. */
export const unions: InputLine[] = [
  'polkadot',
  'statemint',
  'hydradx',
  'kusama',
  'polymesh',
  'westend',
].flatMap((chain, index) =>
  blocksOf(chain, [
    {
      number: 7,
      time: `2026-04-01T08:0${index}:00Z`,
      extrinsics: [
        remark({ id: ALICE_GENERIC }),
        remark(BOB),
        remark({ address32: ALICE_KEY }),
        { call: 'balances.transferKeepAlive', signer: { Id: BOB_GENERIC } },
      ],
      opening: [
        ['balances.Transfer', ALICE, CHARLIE_GENERIC, '1'],
        ['balances.Transfer', BOB, ALICE_GENERIC, String(index)],
      ],
    },
    { number: 8, time: `2026-04-02T08:00:0${index}Z` },
  ]),
);
