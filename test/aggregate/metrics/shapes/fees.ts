import type { InputLine } from '../../../reference/input.ts';
import type { ShapedBlock } from '../../../reference/shaped.ts';
import { ALICE, BOB, blocksOf, EVE_H160, feePaid, MALLORY_H160, priceOf, remark } from './shape.ts';

const AUTHOR = BOB;
const estimate = (fields: object) => ({ info: { partialFee: '100', kind: 'preDispatch', ...fields } });

/** A fee from each of its sources, in their order of precedence. */
export const sources: InputLine[] = blocksOf('polkadot', [
  {
    number: 1,
    time: '2026-02-01T10:00:00Z',
    authorId: AUTHOR,
    extrinsics: [
      remark(ALICE, { ...estimate({}), tip: '50', events: [feePaid(ALICE, '1000', '50')] }),
      remark(ALICE, { ...estimate({}), tip: '50', success: false }),
      remark(ALICE, { ...estimate({ kind: 'postDispatch' }), tip: '50' }),
      remark(ALICE, { ...estimate({ kind: 'fromEvent' }), tip: '50' }),
      remark(ALICE, { ...estimate({}), events: [['assetTxPayment.AssetTxFeePaid', ALICE, '9', '0', {}]] }),
      remark(ALICE, { paysFee: false }),
      remark(ALICE, { paysFee: null }),
      remark(ALICE, {
        events: [
          ['treasury.Deposit', '80'],
          ['balances.Deposit', AUTHOR, '20'],
          ['balances.Deposit', ALICE, '999'],
        ],
      }),
      remark(ALICE, { events: [['balances.Deposit', AUTHOR, '0x14']] }),
      { call: 'balances.transfer', ...estimate({}), events: [feePaid(ALICE, '777')] },
    ],
  },
  {
    // Without a known author only the treasury's share of the fee is known.
    number: 2,
    time: '2026-02-02T10:00:00Z',
    extrinsics: [
      remark(ALICE, {
        events: [
          ['treasury.Deposit', 80],
          ['balances.Deposit', AUTHOR, '20'],
        ],
      }),
      remark(ALICE, { events: [['balances.Deposit', AUTHOR, '20']] }),
      remark(ALICE, { events: [feePaid(ALICE, '0')] }),
    ],
  },
]);

const SPELLED_AMOUNTS = [
  '"1"',
  '12345678901234567890123456789',
  '9007199254740993',
  '"0x0"',
  '"0x00000000000000000de0b6b3a7640001"',
  '"0x000000000000000000000000000000000000000000000000000000000000000a"',
  '"340282366920938463463374607431768211455"',
  '"0xffffffffffffffffffffffffffffffff"',
  '"000000000000000000000000000000000000000000007"',
  // The values below are not amounts.
  '"340282366920938463463374607431768211456"',
  '"0x1ffffffffffffffffffffffffffffffff"',
  '1e3',
  '1.0',
  '-1',
  '"1,000"',
  '" 1"',
  'true',
];

/** Amounts as strings, numbers and hex, up to the largest balance, in each field that has one. */
export const amounts: InputLine[] = SPELLED_AMOUNTS.flatMap((text, index) => {
  const places: Omit<ShapedBlock, 'number'>[] = [
    { opening: [['balances.Transfer', EVE_H160, MALLORY_H160, '@']] },
    { opening: [['treasury.Deposit', '@']] },
    { extrinsics: [remark(EVE_H160, { events: [feePaid(EVE_H160, '@')] })] },
    { extrinsics: [remark(EVE_H160, { tip: '@', events: [feePaid(EVE_H160, '1')] })] },
    { extrinsics: [remark(EVE_H160, estimate({ partialFee: '@' }))] },
  ];
  const blocks = places.map((place, at) => {
    const number = places.length * index + at;
    // On days far enough apart that no sum has two of the largest.
    return { ...place, number, time: new Date(Date.UTC(2000, 0, 1 + 31 * number)).toISOString() };
  });
  // Numbers that a double would round are inserted as text.
  return blocksOf('moonbeam', blocks).map((line) => ({ ...line, line: line.line.replaceAll('"@"', text) }));
});

const paying = (number: number, time: string, fee: string, who = ALICE): ShapedBlock => ({
  number,
  time,
  opening: [['balances.Transfer', who, BOB, `${fee}000000000001`]],
  extrinsics: [remark(who, { events: [feePaid(who, fee), ['treasury.Deposit', fee]] }), remark(who)],
});

/** Several prices a day, prices of many digits, days without one, and tokens of other chains. */
export const prices: InputLine[] = [
  priceOf('DOT', '2026-01-01T00:00:00Z', 5),
  priceOf('DOT', '2026-01-01T23:59:59.999Z', '6.123456789012345678901'),
  priceOf('DOT', '2026-01-01T12:00:00Z', 7),
  priceOf('DOT', '2026-01-02T00:00:00Z', '6.1E-7'),
  priceOf('DOT', '2026-01-04T00:00:00Z', 0),
  priceOf('GLMR', '2026-01-02T05:00:00Z', '0.0034567890123456789', 'moonbeam'),
  priceOf('KSM', '2026-01-31T05:00:00Z', '23.45', 'kusama'),
  // A price belongs to its token, not to the chain that recorded it; the later line replaces the earlier one.
  priceOf('KSM', '2026-02-01T05:00:00Z', '99', 'statemint'),
  priceOf('KSM', '2026-02-01T05:00:00Z', '24.1', 'statemint'),
  priceOf('WND', '2026-02-01T05:00:00Z', '1', 'polkadot'),
  priceOf('DOT', '2026-09-01T05:00:00Z', '1', 'polkadot'),
  ...blocksOf('polkadot', [
    paying(1, '2026-01-01T10:00:00Z', '123456789'),
    paying(2, '2026-01-02T10:00:00Z', '33333333333'),
    paying(3, '2026-01-03T10:00:00Z', '5'),
    paying(4, '2026-01-04T10:00:00Z', '7'),
    { number: 5, time: '2026-01-30T10:00:00Z' },
    { number: 6, time: '2026-01-31T10:00:00Z' },
  ]),
  ...blocksOf('statemint', [
    paying(1, '2026-01-01T10:00:00Z', '999999999'),
    paying(2, '2026-01-30T10:00:00Z', '1'),
  ]),
  ...blocksOf('moonbeam', [paying(1, '2026-01-02T10:00:00Z', '123456789012345678', EVE_H160)]),
  ...blocksOf('kusama', [
    paying(1, '2026-01-31T10:00:00Z', '31'),
    paying(2, '2026-02-01T10:00:00Z', '77777'),
  ]),
  ...blocksOf('westend', [paying(1, '2026-02-01T10:00:00Z', '31')]),
];
