import type { InputLine } from '../../../reference/input.ts';
import { shapeHash } from '../../../reference/shaped.ts';
import { ALICE, BOB, blocksOf, feePaid, remark } from './shape.ts';

/** Blocks of equal and of nearly equal times, and gaps around the minute that is still on time. */
export const gaps: InputLine[] = blocksOf('polkadot', [
  { number: 10, time: '2026-03-01T23:58:00.000Z' },
  { number: 11, time: '2026-03-01T23:58:00.000Z' },
  { number: 12, time: '2026-03-01T23:58:00.001Z' },
  { number: 13, time: '2026-03-01T23:59:00.001Z' },
  { number: 14, time: '2026-03-02T00:00:00.002Z' },
  { number: 15, time: '2026-03-02T00:00:06.125Z' },
  { number: 16, time: '2026-03-02T00:02:06.124Z' },
  // A missing block, a fork and a parent without a time: these gaps are not evaluated.
  { number: 18, time: '2026-03-02T00:10:00.000Z' },
  { number: 19, time: '2026-03-02T00:20:00.000Z', parentHash: shapeHash(77) },
  { number: 20 },
  { number: 21, time: '2026-03-02T00:30:00.000Z' },
  { number: 22, time: '2026-03-02T00:30:06.000Z' },
  // The greatest height has no time.
  { number: 23 },
  { number: 0, time: '2026-02-20T00:00:00.000Z' },
  { number: 1, time: '2026-02-20T00:00:06.000Z' },
]);

/** Days without blocks: between parent and child, next to missing blocks, next to a fork, over the end of a month. */
export const emptyDays: InputLine[] = [
  ...blocksOf('polkadot', [
    { number: 1, time: '2026-01-28T12:00:00Z' },
    { number: 2, time: '2026-02-03T12:00:00Z' },
    { number: 4, time: '2026-02-06T12:00:00Z' },
    { number: 5, time: '2026-02-09T12:00:00Z', parentHash: shapeHash(99) },
    { number: 6, time: '2026-02-10T00:00:00Z' },
    { number: 7 },
    { number: 8, time: '2026-02-14T00:00:00Z' },
  ]),
  ...blocksOf('statemint', [
    { number: 100, time: '2024-12-30T12:00:00Z' },
    { number: 101, time: '2025-01-02T12:00:00Z' },
  ]),
  // A block that is dated between a parent and its child.
  ...blocksOf('kusama', [
    { number: 15, time: '2026-03-01T12:00:00Z' },
    { number: 16, time: '2026-03-09T12:00:00Z' },
    { number: 30, time: '2026-03-05T12:00:00Z' },
  ]),
  // The last block before an empty day, and the first one after it, are so by their times, not by their heights.
  ...blocksOf('statemine', [
    { number: 10, time: '2026-03-01T23:00:00Z' },
    { number: 11, time: '2026-03-01T22:00:00Z' },
    { number: 12, time: '2026-03-03T12:00:00Z' },
  ]),
  ...blocksOf('moonriver', [
    { number: 10, time: '2026-03-01T23:00:00Z' },
    { number: 11, time: '2026-03-03T12:00:00Z' },
    { number: 12, time: '2026-03-03T11:00:00Z' },
  ]),
  ...blocksOf('moonbeam', [
    { number: 10, time: '2026-03-01T22:00:00Z' },
    { number: 12, time: '2026-03-01T21:00:00Z' },
    { number: 11, time: '2026-03-03T01:00:00Z' },
    // Of equal times the least height is the first.
    { number: 20, time: '2026-03-05T01:00:00Z' },
    { number: 21, time: '2026-03-07T01:00:00Z' },
    { number: 2, time: '2026-03-07T01:00:00Z' },
  ]),
];

/** A block a month, over more months than the engine writes at once by itself, with all days between them empty. */
export const manyMonths: InputLine[] = blocksOf(
  'kusama',
  Array.from({ length: 110 }, (_, i) => ({
    number: i + 1,
    time: new Date(Date.UTC(2016, i, 15, 12)).toISOString(),
    extrinsics: [remark(ALICE, { events: [feePaid(ALICE, '7')] })],
  })),
);

/** Days just inside and just outside of the windows of 7 and 30 days. */
export const rollingWindows: InputLine[] = blocksOf(
  'kusama',
  ['2026-01-01', '2026-01-07', '2026-01-08', '2026-01-30', '2026-01-31', '2026-03-01', '2026-03-31'].flatMap(
    (day, index) => [
      {
        number: 10 * index,
        time: `${day}T10:00:00Z`,
        extrinsics: [remark(ALICE, { events: [feePaid(ALICE, '7')] })],
      },
      { number: 10 * index + 1, time: `${day}T10:00:0${index}.5Z` },
      { number: 10 * index + 2, time: `${day}T10:0${index}:30Z`, extrinsics: [remark(BOB, { tip: '3' })] },
    ],
  ),
);

/** Times whose averages have many decimals. */
export const averages: InputLine[] = blocksOf(
  'polkadot',
  [0, 5_999, 12_001, 18_003, 24_007, 30_011, 36_013, 42_001].map((offset, number) => ({
    number,
    time: new Date(Date.UTC(2026, 4, 5, 6, 59, 55) + offset).toISOString(),
    extrinsics: Array.from({ length: number % 3 }, () => remark(ALICE)),
  })),
);

/** The window of 24 hours excludes its own beginning; a block without a time is in no window. */
export const lastDay: InputLine[] = blocksOf('assethub', [
  { number: 1, time: '2026-06-01T12:00:00.000Z', extrinsics: [remark(ALICE)] },
  { number: 2, time: '2026-06-01T12:00:00.001Z', extrinsics: [remark(BOB, { success: false })] },
  { number: 3, time: '2026-06-02T12:00:00.000Z', extrinsics: [remark(ALICE, { outcome: false })] },
  { number: 4, extrinsics: [remark(BOB)] },
]);
