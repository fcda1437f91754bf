import type { InputLine } from '../../../reference/input.ts';
import { shapeBlock, shapeCall, shapeHash } from '../../../reference/shaped.ts';
import { ALICE, ALICE_GENERIC, BOB, blocksOf, feePaid, priceOf, remark } from './shape.ts';

/** Facts in unknown shapes: the fact is refused, its block and the number of events stay. */
export const refusedFacts: InputLine[] = blocksOf('polkadot', [
  {
    number: 1,
    time: '2026-01-01T10:00:00Z',
    opening: [
      ['balances.Transfer', ALICE, BOB, '1,000'],
      ['balances.Transfer', ALICE, BOB],
      ['balances.Transfer', ALICE, BOB, '5', '1'],
      ['balances.Transfer', ALICE, 'nobody', '5'],
      ['treasury.Deposit', '-1'],
      ['treasury.Deposit', '1', '2'],
      ['system.NewAccount'],
      ['system.NewAccount', ''],
      ['system.KilledAccount', ALICE, BOB],
      ['messageQueue.Processed', '0x', {}, {}],
      ['messageQueue.Processed', '0x', {}, {}, false],
      ['messageQueue.ProcessingFailed', '0x', {}, {}],
      ['xcmpQueue.Success', '0x'],
      ['xcmpQueue.Success', '0x', {}, {}],
      ['xcmpQueue.Fail', '0x', {}],
      ['dmpQueue.ExecutedDownward', '0x', {}],
      ['parachainSystem.UpwardMessageSent', '0x'],
    ],
    extrinsics: [
      remark(ALICE, { tip: '1.5' }),
      remark(ALICE, { info: { partialFee: 'a lot' } }),
      remark(ALICE, { events: [['transactionPayment.TransactionFeePaid', ALICE, '5']] }),
      remark(ALICE, { events: [feePaid(ALICE, '0xzz'), feePaid(ALICE, '6')] }),
      remark({ index: '5' }),
      remark({ index: null }),
    ],
  },
]);

/** Values of `success` that say nothing, and the formats of other archives than Sidecar: names in one word, event data with names. */
export const otherArchives: InputLine[] = [
  ...blocksOf('polkadot', [
    {
      number: 1,
      time: '2026-01-01T10:00:00Z',
      extrinsics: [
        remark(ALICE, { success: 1 }),
        remark(BOB, { success: 0 }),
        remark(ALICE, { success: null }),
        remark(BOB, { success: true }),
        remark(BOB, { success: false }),
      ],
    },
  ]),
  // A text means that the events were lost: the block is refused.
  ...['Unable to fetch Events, cannot confirm extrinsic status.', 'true', 'false'].flatMap((success, index) =>
    blocksOf('polkadot', [
      { number: 5 + index, time: '2026-01-02T11:00:06Z', extrinsics: [remark(ALICE, { success })] },
    ]),
  ),
  named(2, '2026-01-01T10:00:06Z'),
  named(3, '2026-01-02T10:00:06Z'),
  {
    chain: 'polkadot',
    line: JSON.stringify({
      ...shapeBlock({ number: 4 }),
      number: 4,
      onInitialize: {
        events: [{ method: { pallet: 'Balances', method: 'Transfer' }, data: [ALICE, BOB, '8'] }],
      },
      extrinsics: [
        {
          method: { pallet: 'Timestamp', method: 'set' },
          signature: null,
          args: { now: Date.UTC(2026, 0, 2, 11) },
          events: [{ method: 'System.ExtrinsicSuccess', data: [{}] }],
          success: true,
          info: {},
        },
        {
          method: { pallet: 'System', method: 'remark' },
          signature: { signer: { id: ALICE_GENERIC } },
          args: {},
          tip: 3,
          hash: '0xab',
          info: {},
          success: true,
          events: [
            {
              method: { pallet: 'TransactionPayment', method: 'TransactionFeePaid' },
              data: [ALICE, '55', '3'],
            },
            { method: { pallet: 'System', method: 'ExtrinsicSuccess' }, data: [] },
          ],
        },
      ],
    }),
  },
];

function named(number: number, time: string): InputLine {
  const event = (method: string, data: unknown) => ({ method, data });
  const succeeded = event('system.ExtrinsicSuccess', { dispatchInfo: {} });
  const block = {
    hash: shapeHash(number),
    finalized: true,
    number,
    onFinalize: { events: [event('system.NewAccount', { account: ALICE })] },
    extrinsics: [
      {
        method: 'timestamp.set',
        signature: null,
        args: { now: Date.parse(time) },
        events: [succeeded],
        success: true,
      },
      {
        method: 'balances.transferKeepAlive',
        signature: { signer: { id: ALICE } },
        args: { dest: { id: BOB }, value: '5' },
        tip: '1',
        hash: shapeHash(900 + number),
        info: {},
        success: true,
        events: [
          event('balances.Transfer', { from: ALICE, to: BOB, amount: '5' }),
          event('transactionPayment.TransactionFeePaid', { who: ALICE, actualFee: '44', tip: '1' }),
          succeeded,
        ],
      },
      {
        method: 'utility.batch',
        signature: { signer: ALICE },
        args: { calls: [shapeCall('system.remark')] },
        tip: null,
        hash: shapeHash(800 + number),
        info: {},
        success: true,
        events: [event('utility.BatchCompleted', []), succeeded],
      },
    ],
    onInitialize: { events: [event('balances.Transfer', { from: ALICE, to: BOB, amount: '7' })] },
    parentHash: shapeHash(number - 1),
  };
  return { line: JSON.stringify(block), chain: 'polkadot' };
}

/** Lines that are neither blocks nor snapshots of a known kind: each is refused. */
export const refusedLines: InputLine[] = [
  ...blocksOf('polkadot', [{ number: 1, time: '2026-01-01T10:00:00Z', extrinsics: [remark(ALICE)] }]),
  { line: '{"number":"2","hash":', chain: 'polkadot' },
  { line: '[]', chain: 'polkadot' },
  { line: '', chain: 'polkadot' },
  { line: JSON.stringify({ number: '3', hash: shapeHash(3), parentHash: shapeHash(2) }), chain: 'polkadot' },
  { line: JSON.stringify({ schema: 'block/2', chain: 'polkadot', payload: shapeBlock({ number: 4 }) }) },
  { line: JSON.stringify({ schema: 'block/1', chain: 'nowhere', payload: shapeBlock({ number: 4 }) }) },
  { ...(blocksOf('nowhere', [{ number: 5 }])[0] as InputLine) },
  priceOf('DOT', '2026-01-01T10:00:00Z', 5),
  priceOf('DOT', '2026-01-01T11:00:00Z', -5),
  priceOf('DOT', '2026-01-01T12:00:00Z', '"five"'),
  priceOf('DOT', '2026-02-30T12:00:00Z', 5),
  { line: priceOf('DOT', '2026-01-01T13:00:00Z', 6).line.replace('"price"', '"cost"') },
  ...blocksOf('polkadot', [{ number: 2, time: '2026-01-01T10:00:06Z', extrinsics: [remark(ALICE)] }]),
];
