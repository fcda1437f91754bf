import type { InputLine } from '../../../reference/input.ts';
import { type ShapedBlock, shapeHash } from '../../../reference/shaped.ts';
import { ALICE, BOB, blocksOf, envelopeOf, feePaid, remark } from './shape.ts';

const FINAL = 2n ** 63n;
const version = (milliseconds: number, isFinal = true) =>
  ((isFinal ? FINAL : 0n) + BigInt(Date.UTC(2025, 0, 1) + milliseconds)).toString();

const block = (number: number, day: string, signer: string, fields: object = {}): ShapedBlock => ({
  number,
  time: `2026-01-${day}T10:00:00Z`,
  extrinsics: [remark(signer, { events: [feePaid(signer, String(number))] })],
  opening: [['system.NewAccount', signer]],
  ...fields,
});

/** Which version replaces which: several versions of each height, with different days, signers and numbers of events. */
export const versions: InputLine[] = [
  // The later of two.
  ...blocksOf('polkadot', [block(1, '01', ALICE), block(1, '02', BOB)]),
  // A finalized version replaces an earlier best version, and a later best version does not replace it.
  ...blocksOf('polkadot', [block(2, '03', ALICE), block(2, '04', BOB, { finalized: false })]),
  ...blocksOf('polkadot', [block(3, '05', BOB, { finalized: false }), block(3, '06', ALICE)]),
  // Of best versions, the later.
  ...blocksOf('polkadot', [
    block(4, '07', BOB, { finalized: false }),
    block(4, '08', ALICE, { finalized: false }),
  ]),
  // The version number decides, with more digits than a double has; of equal numbers, the later line.
  envelopeOf('polkadot', block(5, '09', ALICE), { version: version(2) }),
  envelopeOf('polkadot', block(5, '10', BOB), { version: version(1) }),
  envelopeOf('polkadot', block(6, '11', ALICE), { version: version(2) }),
  envelopeOf('polkadot', block(6, '12', BOB), { version: version(2) }),
  // A block without a version number is newer than all blocks with one.
  ...blocksOf('polkadot', [block(7, '13', ALICE)]),
  envelopeOf('polkadot', block(7, '14', BOB), { version: version(3) }),
  // A best block does not replace a finalized block, whatever the version numbers.
  envelopeOf('polkadot', block(8, '15', ALICE), { version: '5' }),
  ...blocksOf('polkadot', [block(8, '16', BOB, { finalized: false })]),
  envelopeOf('polkadot', block(9, '15', ALICE, { finalized: false }), { version: '7' }),
  envelopeOf('polkadot', block(9, '16', BOB), { version: '6' }),
  // A height that a reorganization has emptied, and one that has a block again.
  ...blocksOf('polkadot', [block(10, '17', ALICE)]),
  {
    line: JSON.stringify({ schema: 'block/1', chain: 'polkadot', is_deleted: 1, payload: { number: '10' } }),
  },
  envelopeOf('polkadot', block(11, '18', ALICE, { finalized: false }), { is_deleted: true }),
  ...blocksOf('polkadot', [block(11, '19', BOB)]),
  // Fewer extrinsics and events than the version before; a version without a time; the same height elsewhere.
  ...blocksOf('polkadot', [
    block(12, '20', ALICE),
    { number: 12, time: '2026-01-20T10:00:00Z' },
    block(13, '21', ALICE),
    { number: 13, extrinsics: [remark(ALICE)] },
    { number: 14, extrinsics: [remark(ALICE)] },
    block(14, '22', ALICE),
  ]),
  ...blocksOf('statemint', [block(1, '03', ALICE)]),
  // A refused fact is removed with its block.
  ...blocksOf('polkadot', [
    block(15, '23', ALICE, { opening: [['treasury.Deposit', 'x']] }),
    block(15, '23', ALICE),
    block(16, '24', ALICE, { hash: shapeHash(61) }),
    block(17, '25', ALICE),
    block(16, '24', ALICE),
  ]),
];
